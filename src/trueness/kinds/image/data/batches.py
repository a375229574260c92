"""Images on a device: which units there are, and what is seen with some hidden.

A unit is a square cell of pixels, by default one pixel. A hidden unit shows the blank colour.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from trueness.data.rows import EvenBatch, EvenSplit
from trueness.errors import UserError
from trueness.kinds.image.data.images import Images
from trueness.kinds.image.data.manipulations import SIDE, Manipulation
from trueness.kinds.image.data.superpixels import quickshift

BLANK = (0.485, 0.456, 0.406)
"""The mean colour of ImageNet's photographs: what most networks for images take as zero."""
_SQUARES = 16
_BACKGROUND = 64
_AT_ONCE = 1 << 24  # pixels that a GPU makes at once


@dataclass(frozen=True)
class ImageBatch(EvenBatch):
    """Some images as tensors."""

    pixels: Tensor
    """(images, 3, height, width), from 0 to 1."""
    labels: Tensor
    numbers: Tensor
    background: Tensor
    """(some, 3, height, width) other images of the split."""
    blank: Tensor
    """(3,) the colour of what is hidden."""
    cell: int = 1
    """The side of a unit in pixels."""
    cover: Tensor | None = None
    """(images, 3, height, width) what is seen of hidden pixels, where it is not the blank colour."""

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of units."""
        height, width = self.pixels.shape[2:]
        return height // self.cell, width // self.cell

    @property
    def mask(self) -> Tensor:
        """(images, units) true at explainable units: all of them."""
        rows, columns = self.grid
        return torch.ones((len(self), rows * columns), dtype=torch.bool, device=self.pixels.device)

    @property
    def width(self) -> int:
        """Pixels of an image."""
        return self.pixels.shape[2] * self.pixels.shape[3]

    def rows(self, index: Tensor) -> ImageBatch:
        """Some of the images, in the order given, repeats allowed."""
        return self._each(index)

    def between(self, begin: int, end: int) -> ImageBatch:
        """Neighbouring images, without a copy."""
        return self._each(slice(begin, end))

    def _each(self, some: Tensor | slice) -> ImageBatch:
        cover = None if self.cover is None else self.cover[some]
        return replace(
            self, pixels=self.pixels[some], labels=self.labels[some], numbers=self.numbers[some], cover=cover
        )

    def hide(self, where: Tensor) -> ImageBatch:
        """The same with the units (images, units) at `where` hidden."""
        cover = self.blank[:, None, None] if self.cover is None else self.cover
        return replace(self, pixels=torch.where(self.over_pixels(where)[:, None], cover, self.pixels))

    def finest(self) -> ImageBatch:
        """The same explained pixel by pixel."""
        return replace(self, cell=1)

    def alone(self) -> Iterator[ImageBatch]:
        """One image at a time."""
        for row in range(len(self)):
            yield self.between(row, row + 1)

    def groups(self) -> Tensor:
        """(images, pixels) numbers of superpixels; they are as large, compared with the image, as in large images."""
        scale = min(self.pixels.shape[2:]) / SIDE
        return quickshift(self.pixels, kernel_size=max(4 * scale, 1.0), ratio=max(0.2 * scale, 0.05)).flatten(1)

    def windows(self, size: float) -> tuple[Tensor, list[Tensor]]:
        """Squares that move by half of their side, the last ones of a row or column lying at the edge.

        Groups of pixels are the rectangles between the edges of all squares.
        """
        height, width = self.pixels.shape[2:]
        side = max(1, round(size * min(height, width)) if size < 1 else int(size))
        (of_row, rows), (of_column, columns) = (_along(length, min(side, length)) for length in (height, width))
        groups = of_row[:, None] * columns.shape[1] + of_column
        hidden = (rows[:, None, :, None] & columns[None, :, None, :]).flatten(2).flatten(0, 1)
        return groups.flatten().expand(len(self), -1).to(self.pixels.device), [~hidden] * len(self)

    def over_pixels(self, of_units: Tensor) -> Tensor:
        """(images, height, width) from (images, units): every pixel has what its unit has."""
        laid_out = of_units.view(len(of_units), *self.grid)
        if self.cell == 1:
            return laid_out
        return laid_out.repeat_interleave(self.cell, dim=1).repeat_interleave(self.cell, dim=2)

    def of_units(self, of_pixels: Tensor) -> Tensor:
        """(images, units) from (images, height, width): the sum over the pixels of a unit."""
        if self.cell == 1:
            return of_pixels.flatten(1)
        return (functional.avg_pool2d(of_pixels[:, None], self.cell) * self.cell**2).flatten(1)


def _along(length: int, side: int) -> tuple[Tensor, Tensor]:
    """Of pixels in a row the interval that each is in, and (windows, intervals) which ones each window covers."""
    step = max(1, side // 2)
    begins = torch.tensor(sorted({*range(0, length - side, step), length - side}))
    edges = torch.tensor(sorted({*begins.tolist(), *(begins + side).tolist()}))
    pixel = torch.arange(length)
    # Every pixel is covered: the first edge is 0, the last one the length.
    return torch.searchsorted(edges, pixel, right=True) - 1, (begins[:, None] <= edges[:-1]) & (
        edges[:-1] < begins[:, None] + side
    )


def usual_cell(height: int, width: int) -> int:
    """The side of a unit by default: a 16th of the image's, pixels alone tell little; 1 where that does not fit."""
    cell = max(1, min(height, width) // _SQUARES)
    return 1 if height % cell or width % cell else cell


class ImageSplit(EvenSplit):
    """Images on a device, ready to be batched; answers the questions that an `EncodedSplit` of texts answers.

    With a `manipulation`, images of class 1 show it: made when they are asked for, always alike for the same image.
    """

    most, most_units = 512, 1 << 22

    def __init__(
        self,
        images: Images,
        device: str | torch.device = "cpu",
        *,
        cell: int = 1,
        manipulation: Manipulation | None = None,
        seed: int = 0,
        blank: Sequence[float] = BLANK,
    ) -> None:
        self.device = torch.device(device)
        self._pixels = torch.from_numpy(images.pixels).to(self.device).permute(0, 3, 1, 2)
        self.labels = torch.from_numpy(images.labels).to(self.device)
        self._image_numbers = torch.arange(len(images), device=self.device)
        self._planted_rows = images.labels == 1  # on the host: which images to change is known without the device
        self._manipulation, self._seed, self.cell = manipulation, seed, cell
        self._blank = torch.tensor(blank, device=self.device)
        self._hidden_units: Tensor | None = None
        self._outline_alone = False
        height, width = self._pixels.shape[2:]
        if height % cell or width % cell:
            raise UserError(f"Images of {height} by {width} pixels cannot be cut into squares of {cell} by {cell}.")
        self.units = (height // cell) * (width // cell)
        self._background: Tensor | None = None

    @property
    def on_gpu(self) -> bool:
        """Whether the images are in a GPU's memory."""
        return self.device.type == "cuda"

    def hidden(self, where: Tensor) -> ImageSplit:
        """The same images with some units hidden: (tokens,) truth values, numbered as in `addresses`."""
        other = copy.copy(self)
        other._hidden_units = where.to(self.device).view(len(self), self.units)
        return other

    def outline(self, where: Tensor) -> ImageSplit:
        """Only which units are hidden: white there, black elsewhere."""
        other = self.hidden(where)
        other._outline_alone = True
        return other

    def only(self, rows: npt.ArrayLike) -> ImageSplit:
        """Some images alone, with the numbers and the background that they have here."""
        other = copy.copy(self)
        other._background = self.background
        index = self._index(rows)
        other._pixels, other.labels, other._image_numbers = (
            self._pixels[index],
            self.labels[index],
            self._image_numbers[index],
        )
        other._planted_rows = self._planted_rows[np.asarray(rows, dtype=np.int64)]
        other._hidden_units = None if self._hidden_units is None else self._hidden_units[index]
        return other

    def labelled(self, labels: npt.ArrayLike) -> ImageSplit:
        """The same images under other labels; what they show stays."""
        other = copy.copy(self)
        other._background = self.background
        other._pixels, other._manipulation = self._shown(np.arange(len(self))), None
        other.labels = torch.as_tensor(np.asarray(labels, dtype=np.int64), device=self.device)
        return other

    @property
    def background(self) -> Tensor:
        """(some, 3, height, width) images spread over the split, as they are shown."""
        if self._background is None:
            rows = np.unique(np.linspace(0, len(self) - 1, min(_BACKGROUND, len(self))).astype(np.int64))
            self._background = self._shown(rows)
        return self._background

    def _shown(self, rows: npt.NDArray[np.int64]) -> Tensor:
        """(images, 3, height, width) with what is planted, nothing hidden."""
        index = self._index(rows)
        pixels = self._pixels[index]
        found = pixels.float() / 255 if pixels.dtype == torch.uint8 else pixels
        changed = np.flatnonzero(self._planted_rows[rows])
        if self._manipulation is None or not len(changed):
            return found
        where = self._index(changed)
        made = self._manipulation.apply(found[where], self._image_numbers[index[where]], self._seed)
        return found.index_copy(0, where, made)

    def _index(self, rows: npt.ArrayLike) -> Tensor:
        made = torch.from_numpy(np.asarray(rows, dtype=np.int64))
        # Only from pinned memory does a GPU take it without finishing first what it is at.
        return made.pin_memory().to(self.device, non_blocking=True) if self.on_gpu else made.to(self.device)

    def batch(self, rows: npt.ArrayLike) -> ImageBatch:
        """The images of those numbers."""
        chosen = np.asarray(rows, dtype=np.int64)
        index = self._index(chosen)
        if self._outline_alone:
            pixels = torch.zeros_like(self._pixels[index], dtype=torch.float32)
        else:
            pixels = self._shown(chosen)
        made = ImageBatch(
            pixels, self.labels[index], self._image_numbers[index], self.background, self._blank, self.cell
        )
        if self._hidden_units is None:
            return made
        shown = replace(made, blank=torch.ones_like(self._blank)) if self._outline_alone else made
        return replace(shown.hide(self._hidden_units[index]), blank=self._blank)

    def batches(self, pieces: Sequence[npt.NDArray[np.intp]]) -> Iterator[ImageBatch]:
        """The images of the numbers in each piece; a GPU makes several pieces at once, which asks less of it."""
        size = max([1, *(len(piece) for piece in pieces)]) * self.units * self.cell**2
        together = max(1, _AT_ONCE // size) if self.on_gpu else 1
        for begin in range(0, len(pieces), together):
            some = pieces[begin : begin + together]
            whole = self.batch(np.concatenate(some))
            for end, piece in zip(np.cumsum([len(piece) for piece in some]).tolist(), some, strict=True):
                yield whole.between(end - len(piece), end)

    def to_explain(self) -> Iterator[tuple[npt.NDArray[np.intp], ImageBatch]]:
        """The same in smaller batches: an explanation takes more memory than a look."""
        return self.in_order(self.units * (64 if self.on_gpu else 16))

    def by_squares(self) -> ImageSplit:
        """The same images in the squares that they are explained by."""
        other = copy.copy(self)
        other.cell = usual_cell(*self._pixels.shape[2:])
        height, width = self._pixels.shape[2:]
        other.units = (height // other.cell) * (width // other.cell)
        return other

    def hidden_at_random(self, seed: int) -> ImageSplit:
        """Every second image as it is, of the others a random share of squares hidden; drawn anew for every pass."""
        return _HiddenAtRandom(self, seed)


class _HiddenAtRandom(ImageSplit):
    """For training under all amounts of hiding at once."""

    def __init__(self, split: ImageSplit, seed: int) -> None:
        self.__dict__.update(split.__dict__)
        self._hiding_seed, self._passes = seed, 0
        self._draw()

    def shuffled(self, size: int, rng: np.random.Generator) -> list[npt.NDArray[np.intp]]:
        """In random order, and other squares are hidden than before."""
        self._draw()
        return super().shuffled(size, rng)

    def _draw(self) -> None:
        rng = np.random.default_rng([self._hiding_seed, self._passes, *b"hidden"])
        self._passes += 1
        share = np.where(rng.random(len(self)) < 0.5, 0.0, rng.random(len(self)))
        drawn = rng.random((len(self), self.units)) < share[:, None]
        self._hidden_units = torch.from_numpy(drawn).to(self.device)
