"""Artefacts that can be planted into images, by name. Torch loads with the first one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from trueness.registry import Registry

if TYPE_CHECKING:
    from trueness.kinds.image.data.manipulations import Planted


def _find(name: str) -> Planted:
    from trueness.kinds.image.data.manipulations import PLANTED

    return PLANTED[name]


ARTEFACTS: Registry[Planted] = Registry("artefact")
for _name, _about in {
    "blur": "all but the middle is blurred",
    "brightness": "the middle is darkened",
    "hue": "colours are shifted in a band",
    "noise": "some pixels of a band have random colours",
    "watermark": "IMG and four digits are written somewhere in a box",
}.items():
    ARTEFACTS.add_later(_name, partial(_find, _name), _about)
