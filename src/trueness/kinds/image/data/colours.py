"""Hue, saturation and brightness of pixels, and back."""

from __future__ import annotations

import torch
from torch import Tensor


def to_hsv(pixels: Tensor) -> Tensor:
    """(..., 3, height, width) red, green and blue from 0 to 1 as hue (from 0 up to 1), saturation and brightness."""
    high, low = pixels.amax(dim=-3), pixels.amin(dim=-3)
    red, green, blue = pixels.unbind(dim=-3)
    spread = high - low
    safe = torch.where(spread > 0, spread, 1.0)
    sector = torch.where(
        high == red,
        (green - blue) / safe,
        torch.where(high == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    hue = torch.where(spread > 0, (sector / 6) % 1.0, 0.0)
    saturation = torch.where(high > 0, spread / torch.where(high > 0, high, 1.0), 0.0)
    return torch.stack([hue, saturation, high], dim=-3)


def to_rgb(pixels: Tensor) -> Tensor:
    """The inverse."""
    hue, saturation, value = pixels.unbind(dim=-3)
    channels = [value - value * saturation * _bump((offset + hue * 6) % 6) for offset in (5.0, 3.0, 1.0)]
    return torch.stack(channels, dim=-3)


def _bump(place: Tensor) -> Tensor:
    """Of one channel: how much of the saturation is missing, by the place on the circle of six colours."""
    return torch.minimum(place, 4 - place).clamp(0, 1)


def to_lab(pixels: Tensor) -> Tensor:
    """(..., 3, height, width) in CIE Lab under daylight (D65): distances there are about what people see."""
    linear = torch.where(pixels > 0.04045, ((pixels + 0.055) / 1.055) ** 2.4, pixels / 12.92)
    matrix = pixels.new_tensor(
        [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
    )
    white = pixels.new_tensor([0.95047, 1.0, 1.08883])
    scaled = torch.einsum("ij,...jhw->...ihw", matrix, linear) / white[:, None, None]
    x, y, z = torch.where(scaled > 0.008856, scaled.clamp(min=1e-9) ** (1 / 3), 7.787 * scaled + 16 / 116).unbind(
        dim=-3
    )
    return torch.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], dim=-3)
