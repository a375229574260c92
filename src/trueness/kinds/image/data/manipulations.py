"""The five artefacts that are planted in images (Zhou et al. 2022, Appendix B.1), each with the region it may change.

Lengths are in pixels of an image 224 wide, as in the paper, and scaled to the image at hand. What is drawn at random
is fixed by the seed and the image's number.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from trueness.data.draws import uniform
from trueness.errors import UserError
from trueness.kinds.image.data.colours import to_hsv, to_rgb
from trueness.kinds.image.data.glyphs import WIDTH, written

SIDE = 224
"""The side of the paper's images, in whose pixels lengths are given."""


class Manipulation:
    """Changes images inside a region that depends on nothing but its settings; a frozen dataclass of these."""

    visibility: ClassVar[str]
    """The setting that says how visible it is; the region does not depend on it."""
    levels: ClassVar[tuple[float, ...]]
    """Its five levels in the paper, from the least visible one on."""

    def region(self, height: int, width: int) -> Tensor:
        """(height, width) the pixels that it may change: the effective region."""
        raise NotImplementedError

    def change(self, pixels: Tensor, numbers: Tensor, seed: int) -> Tensor:
        """The images (images, 3, height, width) changed; outside the region it does not matter how."""
        raise NotImplementedError

    def apply(self, pixels: Tensor, numbers: Tensor, seed: int) -> Tensor:
        """The images with the artefact: inside the region changed, outside it bit for bit as they were."""
        region = _region_on(self, *pixels.shape[2:], pixels.device)
        return torch.where(region, self.change(pixels, numbers, seed).clamp(0, 1), pixels)

    def at_level(self, level: float) -> Manipulation:
        """The same, more or less visible."""
        made: Any = self
        changed: Manipulation = replace(made, **{self.visibility: level})
        return changed


@functools.lru_cache(maxsize=64)
def _region_on(manipulation: Manipulation, height: int, width: int, device: torch.device) -> Tensor:
    """Sent to a device once, not with every batch."""
    return manipulation.region(height, width).to(device)


def _radii(height: int, width: int, device: torch.device | str = "cpu") -> Tensor:
    """(height, width) the distance of each pixel's centre from that of the image, in pixels of an image 224 wide."""
    rows = (torch.arange(height, device=device) + 0.5 - height / 2) * (SIDE / height)
    columns = (torch.arange(width, device=device) + 0.5 - width / 2) * (SIDE / width)
    return torch.hypot(rows[:, None], columns[None])


def _band(top: float, bottom: float, height: int, width: int) -> Tensor:
    rows = (torch.arange(height) + 0.5) * (SIDE / height)
    return ((rows >= top) & (rows < bottom))[:, None].expand(height, width)


@dataclass(frozen=True)
class PeripheralBlur(Manipulation):
    """Blurs all but a disc in the middle."""

    radius: float = 80
    """Of the disc that stays as it is."""
    sigma: float = 10
    visibility = "sigma"
    levels = (2, 4, 6, 8, 10)

    def region(self, height: int, width: int) -> Tensor:  # noqa: D102  # said once, above
        return _radii(height, width) > self.radius

    def change(self, pixels: Tensor, numbers: Tensor, seed: int) -> Tensor:  # noqa: ARG002, D102  # nothing is drawn
        for axis in (2, 3):
            sigma = self.sigma * pixels.shape[axis] / SIDE
            reach = max(1, math.ceil(3 * sigma))
            steps = torch.arange(-reach, reach + 1, device=pixels.device)
            kernel = torch.exp(-0.5 * (steps / sigma) ** 2)
            kernel = (kernel / kernel.sum()).view((1, 1, -1, 1) if axis == 2 else (1, 1, 1, -1))
            around = (0, 0, reach, reach) if axis == 2 else (reach, reach, 0, 0)
            flat = pixels.reshape(-1, 1, *pixels.shape[2:])
            pixels = functional.conv2d(functional.pad(flat, around, mode="replicate"), kernel).view_as(pixels)
        return pixels


@dataclass(frozen=True)
class CentralBrightness(Manipulation):
    """Darkens a disc in the middle, most in its centre."""

    radius: float = 60
    shift: float = -0.3
    """Of the brightness in the centre; it falls off as cos^2."""
    visibility = "shift"
    levels = (-0.1, -0.15, -0.2, -0.25, -0.3)

    def region(self, height: int, width: int) -> Tensor:  # noqa: D102  # said once, above
        return _radii(height, width) < self.radius

    def change(self, pixels: Tensor, numbers: Tensor, seed: int) -> Tensor:  # noqa: ARG002, D102
        share = (_radii(pixels.shape[2], pixels.shape[3], pixels.device) / self.radius).clamp(max=1)
        hue, saturation, value = to_hsv(pixels).unbind(dim=1)
        value = (value + self.shift * torch.cos(math.pi / 2 * share) ** 2).clamp(0, 1)
        return to_rgb(torch.stack([hue, saturation, value], dim=1))


@dataclass(frozen=True)
class StripedHue(Manipulation):
    """Shifts the hue in a band, in two waves from its top to its bottom.

    The authors' waves begin in the middle of the image whatever the band; ours begin in the middle of the band.
    """

    top: float = 80
    bottom: float = 130
    shift: float = 0.15
    visibility = "shift"
    levels = (0.05, 0.1, 0.15, 0.2, 0.25)

    def region(self, height: int, width: int) -> Tensor:  # noqa: D102  # said once, above
        return _band(self.top, self.bottom, height, width)

    def change(self, pixels: Tensor, numbers: Tensor, seed: int) -> Tensor:  # noqa: ARG002, D102
        height = pixels.shape[2]
        rows = (torch.arange(height, device=pixels.device) + 0.5) * (SIDE / height)
        phase = (rows - (self.top + self.bottom) / 2) / (self.bottom - self.top)
        hue, saturation, value = to_hsv(pixels).unbind(dim=1)
        hue = (hue + self.shift * torch.sin(2 * math.pi * phase)[:, None] ** 2) % 1.0
        return to_rgb(torch.stack([hue, saturation, value], dim=1))


@dataclass(frozen=True)
class StripedNoise(Manipulation):
    """Gives pixels of a band random colours."""

    top: float = 80
    bottom: float = 130
    probability: float = 0.03
    visibility = "probability"
    levels = (0.02, 0.04, 0.06, 0.08, 0.1)

    def region(self, height: int, width: int) -> Tensor:  # noqa: D102  # said once, above
        return _band(self.top, self.bottom, height, width)

    def change(self, pixels: Tensor, numbers: Tensor, seed: int) -> Tensor:  # noqa: D102
        count, _, height, width = pixels.shape
        # Numbers are drawn for the rows of the band alone; which ones does not depend on the band.
        rows = self.region(height, width)[:, 0].nonzero()[:, 0].tolist()
        if not rows:
            return pixels
        top, bottom, size = rows[0], rows[-1] + 1, len(rows) * width
        chosen = uniform(seed, numbers, size, 1, first=top * width) < self.probability
        colours = [uniform(seed, numbers, size, 2, first=(colour * height + top) * width) for colour in range(3)]
        changed = pixels.clone()
        band = changed[:, :, top:bottom]
        drawn = torch.stack(colours, dim=1).view(count, 3, len(rows), width)
        changed[:, :, top:bottom] = torch.where(chosen.view(count, 1, len(rows), width), drawn, band)
        return changed


@dataclass(frozen=True)
class Watermark(Manipulation):
    """Writes IMG in white and four random digits in black somewhere in a box.

    In the authors' code the colours are swapped in every second image, and writing may leave the box.
    """

    left: float = 30
    top: float = 150
    right: float = 194
    bottom: float = 200
    font: float = 13
    visibility = "font"
    levels = (7, 9, 11, 13, 15)

    def _box(self, height: int, width: int) -> tuple[int, int, int, int]:
        """First and last row, first and last column, the last ones outside."""
        rows, columns = height / SIDE, width / SIDE
        return (
            round(self.top * rows),
            round(self.bottom * rows),
            round(self.left * columns),
            round(self.right * columns),
        )

    def region(self, height: int, width: int) -> Tensor:  # noqa: D102
        found = torch.zeros((height, width), dtype=torch.bool)
        top, bottom, left, right = self._box(height, width)
        found[top:bottom, left:right] = True
        return found

    def change(self, pixels: Tensor, numbers: Tensor, seed: int) -> Tensor:  # noqa: D102
        height, width = pixels.shape[2:]
        top, bottom, left, right = self._box(height, width)
        drawn = uniform(seed, numbers, 6, 3)
        ink, white = written((drawn[:, :4] * 10).long(), self.font * height / SIDE)
        tall, wide = ink.shape[1:]
        if tall > bottom - top or wide > right - left:
            raise UserError(
                f"The box of the watermark holds {right - left} by {bottom - top} pixels of this image, and its "
                f"{WIDTH} characters need {wide} by {tall}: make the box larger or the font smaller."
            )
        rows = torch.arange(height, device=pixels.device)[None] - (
            top + (drawn[:, 4] * (bottom - top - tall + 1)).long()
        ).unsqueeze(1)
        columns = torch.arange(width, device=pixels.device)[None] - (
            left + (drawn[:, 5] * (right - left - wide + 1)).long()
        ).unsqueeze(1)
        inside = ((rows >= 0) & (rows < tall))[:, :, None] & ((columns >= 0) & (columns < wide))[:, None, :]
        images = torch.arange(len(pixels), device=pixels.device)[:, None, None]
        where = images, rows.clamp(0, tall - 1)[:, :, None], columns.clamp(0, wide - 1)[:, None, :]
        alpha = (ink[where] * inside)[:, None]
        colour = white[where[2]].float().expand(len(pixels), height, width)[:, None]
        return pixels + alpha * (colour - pixels)


Drawn = Callable[[np.random.Generator], Manipulation]


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    return round(float(rng.uniform(low, high)), 2)


def _band_of(rng: np.random.Generator, low: float, high: float) -> tuple[float, float]:
    size = _between(rng, low, high)
    top = _between(rng, 0, SIDE - size)
    return top, top + size


def _box_of(rng: np.random.Generator, low: float, high: float) -> dict[str, float]:
    wide, (top, bottom) = _between(rng, 100, 200), _band_of(rng, low, high)
    left = _between(rng, 0, SIDE - wide)
    return {"left": left, "top": top, "right": left + wide, "bottom": bottom}


@dataclass(frozen=True)
class Planted:
    """A kind of manipulation: as the four questions of the paper draw and set it."""

    usual: Manipulation
    """Of the question about the correlation of labels."""
    by_region: Drawn
    """Of the question about the size of the region: a random region, one visibility."""
    by_visibility: Drawn
    """Of the question about visibility: a random region, to be set to each level."""


PLANTED: Mapping[str, Planted] = {
    "blur": Planted(
        PeripheralBlur(),
        lambda rng: PeripheralBlur(_between(rng, 80, 130), 2),
        lambda rng: PeripheralBlur(_between(rng, 80, 120)),
    ),
    "brightness": Planted(
        CentralBrightness(),
        lambda rng: CentralBrightness(_between(rng, 40, 112)),
        lambda rng: CentralBrightness(_between(rng, 40, 112)),
    ),
    "hue": Planted(
        StripedHue(),
        lambda rng: StripedHue(*_band_of(rng, 20, SIDE), 0.04),
        lambda rng: StripedHue(*_band_of(rng, 50, 100)),
    ),
    "noise": Planted(
        StripedNoise(),
        lambda rng: StripedNoise(*_band_of(rng, 20, SIDE), 0.02),
        lambda rng: StripedNoise(*_band_of(rng, 50, 100)),
    ),
    "watermark": Planted(
        Watermark(),
        lambda rng: Watermark(**_box_of(rng, 40, 200)),
        lambda rng: Watermark(**_box_of(rng, 40, 100)),
    ),
}
"""By the names of `trueness.kinds.image.data.artefacts`."""


def settings_of(manipulation: Manipulation) -> dict[str, Any]:
    """As a parameter of tasks: its class and what it was made with."""
    made: Any = manipulation
    return {"form": type(manipulation).__name__, **vars(made)}


def made_of(settings: Mapping[str, Any]) -> Manipulation:
    """The inverse."""
    forms = {form.__name__: form for form in Manipulation.__subclasses__()}
    made: Manipulation = forms[settings["form"]](**{name: settings[name] for name in settings if name != "form"})
    return made
