"""Images in files: a folder or tar archive with a folder for each class (and split), or a table of paths and labels.

Every picture becomes red, green and blue in one square size. What had to be converted is counted in the notes; what
cannot be read is refused by name. No picture is decoded before its size is known.
"""

from __future__ import annotations

import io
import tarfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.boundary import exists, first_line, is_file, short
from trueness.data.dataset import SPLITS as SPLIT_NAMES
from trueness.data.dataset import with_splits
from trueness.data.table import open_table
from trueness.errors import UserError, install
from trueness.kinds.image.data.images import ImageDataset, Images

SPLITS = {"train": "train", "dev": "dev", "val": "dev", "valid": "dev", "validation": "dev", "test": "test"}
"""What people call the splits."""
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm")
_FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
"""Those whose decoders run no other program, as that of EPS does."""
MOST_PIXELS = 64 << 20
LEAST_SIDE = 8
_MOST_BYTES = 8 << 30


@dataclass(frozen=True)
class Found:
    """A picture that is to be read."""

    name: str
    """As errors call it."""
    label: str
    split: str | None
    open: Callable[[], io.BytesIO | Path]


def read_image_files(path: Path, size: int) -> ImageDataset:
    """All pictures of a folder, tar archive or table, `size` by `size` pixels: the middle of each, reduced."""
    if exists(path) and path.is_dir():
        return _read(path, list(_in_folder(path)), size)
    if not is_file(path):
        raise UserError(f"There is no folder, archive or table of images {short(path)}.")
    if not _is_archive(path):
        return _read(path, list(_in_table(path)), size)
    try:
        archive = tarfile.open(path)  # noqa: SIM115  # closed below
    except (tarfile.TarError, OSError, EOFError) as error:
        raise UserError(f"{path} cannot be read as a tar archive ({first_line(error)}).") from error
    with archive:
        return _read(path, list(_in_archive(path, archive)), size)


def _is_archive(path: Path) -> bool:
    return path.name.endswith((".tar", ".tar.gz", ".tgz"))


def _placed(where: Path, parts: tuple[str, ...], name: str) -> tuple[str | None, str]:
    """Split and class, from the folders in which a picture lies."""
    if len(parts) == 2 and parts[0].lower() in SPLITS:
        return SPLITS[parts[0].lower()], parts[1]
    if len(parts) == 1 and parts[0].lower() not in SPLITS:
        return None, parts[0]
    raise UserError(
        f"{where}: {short(name)} lies neither in CLASS/ nor in SPLIT/CLASS/ (train, dev, test): a picture's folder "
        "names its class."
    )


def _in_folder(path: Path) -> Iterator[Found]:
    for file in sorted(path.rglob("*")):
        if file.suffix.lower() in SUFFIXES and file.is_file():
            name = file.relative_to(path)
            split, label = _placed(path, name.parts[:-1], str(name))
            yield Found(str(file), label, split, lambda file=file: file)  # type: ignore[misc]


def _in_archive(path: Path, archive: Any) -> Iterator[Found]:
    try:
        members = sorted((one for one in archive.getmembers() if one.isfile()), key=lambda one: str(one.name))
    except (tarfile.TarError, OSError, EOFError) as error:
        raise UserError(f"{path} ends too early or is no tar archive ({first_line(error)}).") from error
    for member in members:
        name = PurePosixPath(member.name)
        if name.suffix.lower() in SUFFIXES:
            split, label = _placed(path, tuple(part for part in name.parts[:-1] if part != "."), member.name)
            yield Found(f"{path}: {member.name}", label, split, lambda one=member: _member(archive, one))  # type: ignore[misc]


def _member(archive: Any, member: Any) -> io.BytesIO:
    if member.size > _MOST_BYTES:
        raise UserError(f"{short(member.name)} is larger than {_MOST_BYTES >> 30} GiB.")
    return io.BytesIO(archive.extractfile(member).read())


def _in_table(path: Path) -> Iterator[Found]:
    table = open_table(path)
    missing = [name for name in ("path", "label") if name not in table.names]
    if missing:
        raise UserError(f"{path} has no column {missing[0]}: a table of images has path, label, and perhaps split.")
    for number, record in table.read():
        where = f"{path}, line {number}"
        if isinstance(record, str):
            raise UserError(f"{where}: {record}.")
        if not record.get("path") or record.get("label") in (None, ""):
            raise UserError(f"{where}: the path or the label is empty.")
        split = record.get("split") or None
        if split is not None and str(split).lower() not in SPLITS:
            raise UserError(f"{where}: the split is {short(split)!r}, and none of {', '.join(SPLIT_NAMES)}.")
        file = path.parent / str(record["path"])
        if not is_file(file):
            raise UserError(f"{where}: there is no file {file}.")
        yield Found(str(file), str(record["label"]), split and SPLITS[str(split).lower()], lambda one=file: one)  # type: ignore[misc]


def listed_pictures(path: Path) -> list[Path]:
    """The pictures that lie outside `path`, if it is a table of them."""
    return [Path(found.name) for found in _in_table(path)] if is_file(path) and not _is_archive(path) else []


def _read(path: Path, pictures: list[Found], size: int) -> ImageDataset:
    if not pictures:
        raise UserError(f"{path} holds no pictures ({', '.join(SUFFIXES)}).")
    classes = tuple(sorted({one.label for one in pictures}))
    if len(classes) < 2:
        raise UserError(
            f"{path} holds one class, {classes[0]!r}: a classifier needs two; make a folder for each class."
        )
    if size < LEAST_SIDE or len(pictures) * size * size * 3 > _MOST_BYTES:
        raise UserError(
            f"{len(pictures)} pictures of {size} by {size} pixels do not fit; sizes are from {LEAST_SIDE} on."
        )
    splits, converted = _splits(pictures), Counter[str]()
    found: dict[str, Images] = {}
    for split in dict.fromkeys(name for name in (*SPLIT_NAMES, "all") if name in splits):
        some = [one for one, where in zip(pictures, splits, strict=True) if where == split]
        pixels = np.empty((len(some), size, size, 3), dtype=np.uint8)
        for row, one in enumerate(some):
            pixels[row] = read_picture(one.name, one.open(), size, converted)
        found[split] = Images(pixels, np.array([classes.index(one.label) for one in some], dtype=np.int64))
        unseen = set(classes) - {classes[label] for label in np.unique(found[split].labels)}
        if split == "train" and unseen:
            raise UserError(f"{path}: the training split has no picture of class {sorted(unseen)[0]!r}.")
    notes = tuple(f"{count} of {len(pictures)} pictures: {what}" for what, count in sorted(converted.items()))
    whole = ImageDataset(path.name, classes, found, notes)
    return with_splits(whole) if "all" in found else whole


def _splits(pictures: list[Found]) -> list[str]:
    """The split of every picture; all in one where none is given."""
    if all(one.split is None for one in pictures):
        return ["all"] * len(pictures)
    bare = next((one for one in pictures if one.split is None), None)
    if bare is not None:
        raise UserError(f"{short(bare.name)} is in no split, and others are: give all of them one, or none.")
    return [str(one.split) for one in pictures]


def read_picture(
    name: str, source: io.BytesIO | Path, size: int, converted: Counter[str] | None = None
) -> npt.NDArray[np.uint8]:
    """(size, size, 3): the middle square of a picture, reduced; what had to be converted is counted."""
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise UserError(f"Pictures need the images extra: {install('images')}.") from error
    count = Counter[str]() if converted is None else converted
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a decompression bomb is a warning to Pillow
            with Image.open(source, formats=_FORMATS) as image:
                width, height = image.size
                _check_size(name, width, height)
                if getattr(image, "n_frames", 1) > 1:
                    count["animated, the first frame taken"] += 1
                ImageOps.exif_transpose(image, in_place=True)  # which copies none that stands upright
                plain = _plain(image, count)
    except UserError:
        raise
    except Image.DecompressionBombError as error:
        raise UserError(f"{name} is larger than {MOST_PIXELS >> 20} million pixels: reduce it first.") from error
    except Exception as error:
        raise UserError(
            f"{name} cannot be read as a picture ({first_line(error)}): remove it, or repair it."
        ) from error
    return np.asarray(ImageOps.fit(plain, (size, size), Image.Resampling.BICUBIC), dtype=np.uint8)


def _check_size(name: str, width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise UserError(
            f"{name} has {width} by {height} pixels, more than {MOST_PIXELS >> 20} million: reduce it first."
        )
    if min(width, height) < LEAST_SIDE:
        raise UserError(f"{name} has {width} by {height} pixels: a side of {LEAST_SIDE} is the least.")


def _plain(image: Any, count: Counter[str]) -> Any:
    """In red, green and blue of eight bits."""
    from PIL import Image

    mode = image.mode
    if mode == "RGB":
        image.load()
        return image
    if mode.startswith("I") or mode == "F":
        count["16 bits or more, reduced to 8"] += 1
        values = np.asarray(image, dtype=np.float64)
        top = 65535.0 if values.max() > 255 else 255.0
        return Image.fromarray(np.clip(values / top * 255, 0, 255).round().astype(np.uint8)).convert("RGB")
    if mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        count["transparent, laid on white"] += 1
        full = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", full.size, "white"), full).convert("RGB")
    count[f"mode {mode}, converted to RGB"] += 1
    return image.convert("RGB")
