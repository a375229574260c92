"""Some images with what explanations say of them, small enough for a report in one file: PNGs as data URIs."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from trueness.kinds.image.data.batches import ImageSplit
from trueness.stats.undefined import Bools, Floats

_SIDE = 96
"""Pixels of a side in the report."""
_BRIGHT = 99.5
"""The percentile of a map that has the full colour: single pixels are no scale."""


def panels_of(
    shown: ImageSplit, scores: Mapping[str, Floats], region: Bools, table: pd.DataFrame, examples: int
) -> pd.DataFrame:
    """One row for each picture: of an example the image, its region, and each explainer's map with its Attr%."""
    labels = shown.labels.cpu().numpy()
    chosen = [row for label in (1, 0) for row in np.flatnonzero(labels == label)[: (examples + int(label == 1)) // 2]]
    rows: list[dict[str, Any]] = []
    for row in chosen:
        batch = shown.batch([row])
        image = (batch.pixels[0].permute(1, 2, 0) * 255).round().byte().cpu().numpy()
        size = image.shape[:2]
        with_it = "with the artefact" if labels[row] == 1 else "without it"
        about = {"example": f"image {row}, {with_it}"}
        rows.append({**about, "picture": "image", "share": np.nan, "png": _png(image)})
        grey = np.where(region.reshape(*size, 1), 128, 255).astype(np.uint8).repeat(3, axis=2)
        rows.append({**about, "picture": "effective region", "share": float(region.mean()), "png": _png(grey)})
        for name, values in scores.items():
            share = table[(table["method"] == name) & (table["instance"] == row)]["attribution share"]
            map_ = _coloured(np.abs(values[row]).reshape(size))
            rows.append({**about, "picture": name, "share": float(share.iloc[0]), "png": _png(map_)})
    return pd.DataFrame(rows)


def _coloured(values: Floats) -> npt.NDArray[np.uint8]:
    """(height, width, 3) white where nothing is, dark blue where most is."""
    top = float(np.percentile(values, _BRIGHT)) or float(values.max()) or 1.0
    share = np.clip(values / top, 0, 1)[..., None]
    middle, end, white = np.array([86, 180, 233.0]), np.array([0, 40, 90.0]), np.array([255.0, 255, 255])
    low, high = np.clip(2 * share, 0, 1), np.clip(2 * share - 1, 0, 1)
    colours: npt.NDArray[np.uint8] = (
        ((white * (1 - low) + middle * low) * (1 - high) + end * high).round().astype(np.uint8)
    )
    return colours


def _png(pixels: npt.NDArray[np.uint8]) -> str:
    """As a data URI."""
    from PIL import Image

    image = Image.fromarray(pixels)
    if max(image.size) > _SIDE:
        image = image.resize((_SIDE, _SIDE), Image.Resampling.BOX)
    content = io.BytesIO()
    image.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(content, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
