"""Superpixels by quickshift (Vedaldi and Soatto 2008): every pixel climbs to the nearest one of higher density.

All images of a batch at once, on their device; with the default settings that of the lime package and, up to its random
tie-breaking, of scikit-image.
"""

from __future__ import annotations

import itertools
import math

import torch
from torch import Tensor
from torch.nn import functional

from trueness.kinds.image.data.colours import to_lab


def quickshift(pixels: Tensor, *, kernel_size: float = 4, max_dist: float = 200, ratio: float = 0.2) -> Tensor:
    """(images, height, width) numbers of superpixels, from 0 on in every image, for (images, 3, height, width)."""
    count, _, height, width = pixels.shape
    colours = (to_lab(pixels) * ratio).double()
    # scikit-image looks as far.
    reach = min(math.ceil(3 * kernel_size), max(height, width) - 1)
    around = functional.pad(colours, (reach,) * 4)
    inside = functional.pad(torch.ones((1, 1, height, width), dtype=torch.bool, device=pixels.device), (reach,) * 4)[
        0, 0
    ]
    around_it = range(-reach, reach + 1)
    shifts = list(itertools.product(around_it, around_it))

    def moved(table: Tensor, shift: tuple[int, int]) -> Tensor:
        down, right = reach + shift[0], reach + shift[1]
        return table[..., down : down + height, right : right + width]

    def distance(shift: tuple[int, int]) -> Tensor:
        return ((moved(around, shift) - colours) ** 2).sum(dim=1) + shift[0] ** 2 + shift[1] ** 2

    density = torch.zeros((count, height, width), dtype=torch.float64, device=pixels.device)
    for shift in shifts:
        density += torch.exp(-distance(shift) / (2 * kernel_size**2)) * moved(inside, shift)
    # Later pixels win ties, so that flat areas climb as well: scikit-image adds small random numbers instead.
    density += 1e-12 * torch.arange(height * width, device=pixels.device, dtype=torch.float64).view(height, width)
    higher = functional.pad(density, (reach,) * 4, value=-1.0)
    closest = torch.full_like(density, torch.inf)
    parent = torch.arange(height * width, device=pixels.device).view(height, width).repeat(count, 1, 1)
    numbers = parent.clone()
    for shift in shifts:
        away = distance(shift)
        better = (moved(higher, shift) > density) & (away < closest)
        closest = torch.where(better, away, closest)
        parent = torch.where(better, numbers + shift[0] * width + shift[1], parent)
    parent = torch.where(closest > max_dist**2, numbers, parent).flatten(1)
    for _ in range(math.ceil(math.log2(height * width)) + 1):  # twice as far every time: all reach their top
        parent = parent.gather(1, parent)
    tops = torch.zeros_like(parent, dtype=torch.long).scatter_(1, parent, 1)
    return ((tops.cumsum(dim=1) - 1).gather(1, parent)).view(count, height, width)
