"""Writing on images without a font: characters of five by seven dots, scaled."""

from __future__ import annotations

import functools

import torch
from torch import Tensor
from torch.nn import functional

_DOTS = {
    "I": "01110 00100 00100 00100 00100 00100 01110",
    "M": "10001 11011 10101 10101 10001 10001 10001",
    "G": "01110 10001 10000 10111 10001 10001 01110",
    "0": "01110 10001 10011 10101 11001 10001 01110",
    "1": "00100 01100 00100 00100 00100 00100 01110",
    "2": "01110 10001 00001 00110 01000 10000 11111",
    "3": "01110 10001 00001 00110 00001 10001 01110",
    "4": "00010 00110 01010 10010 11111 00010 00010",
    "5": "11111 10000 11110 00001 00001 10001 01110",
    "6": "01110 10000 11110 10001 10001 10001 01110",
    "7": "11111 00001 00010 00100 01000 01000 01000",
    "8": "01110 10001 10001 01110 10001 10001 01110",
    "9": "01110 10001 10001 01111 00001 00001 01110",
}
_FIRST = "IMG"
WIDTH = len(_FIRST) + 4
"""Characters of a text."""
_CAPITAL = 0.72
"""The height of a capital letter, of the size of its font."""


def _glyph(character: str) -> Tensor:
    """(7, 6): a column is left free."""
    rows = [[float(dot) for dot in row] + [0.0] for row in _DOTS[character].split()]
    return torch.tensor(rows)


@functools.lru_cache(maxsize=4)
def _glyphs(device: torch.device) -> tuple[Tensor, Tensor]:
    """The letters in a row, and every digit: sent to a device once."""
    letters = torch.cat([_glyph(character) for character in _FIRST], dim=1)
    return letters.to(device), torch.stack([_glyph(str(number)) for number in range(10)]).to(device)


def written(digits: Tensor, size: float) -> tuple[Tensor, Tensor]:
    """IMG and these digits (texts, 4) in a font of `size` pixels.

    (texts, height, width) ink from 0 to 1, and (width,) which columns are white; the others are black.
    """
    device = digits.device
    first, table = _glyphs(device)
    last = table[digits].permute(0, 2, 1, 3).flatten(2)
    dots = torch.cat([first.expand(len(digits), -1, -1), last], dim=2)
    tall = max(3, round(size * _CAPITAL))
    wide = max(WIDTH * 3, round(tall / dots.shape[1] * dots.shape[2]))
    ink = functional.interpolate(dots[:, None], (tall, wide), mode="bilinear", antialias=True, align_corners=False)[
        :, 0
    ]
    columns = (torch.arange(wide, device=device) + 0.5) / wide * WIDTH
    return ink, columns < len(_FIRST)
