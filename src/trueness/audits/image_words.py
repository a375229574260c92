"""The words of an audit of texts, said of images: an example is an image, and a place a square of it."""

from __future__ import annotations

import re
from typing import Any

_SAID = (
    ("layer by layer from either end, and all at once", "all of it at once"),
    ("a full stop is added or taken away", "every pixel becomes one level brighter"),
    ("full stop", "level of brightness"),
    ("set seeds", "set planted"),
    ("a text", "an image"),
    ("texts", "images"),
    ("text", "image"),
    ("words", "squares"),
    ("word", "square"),
)
_KEPT = frozenset({"explainer", "model", "data", "classes", "key", "inputs"})
"""What people named."""
_PARTS = re.compile(r"(<script.*?</script>|<style.*?</style>|<[^>]+>)", re.DOTALL)


def of_images(sentence: str) -> str:
    """The same sentence about images: three settings are one there, and how many are looked at alone is none."""
    sentence = re.sub(r" \(--set single=[^)]*\)", "", sentence)
    sentence = re.sub(r"--set (?:again|edits|texts)=", "--set images=", sentence)
    sentence = re.sub(r"(--set images=\d+)(?: --set images=\d+)+", r"\1", sentence)
    for before, after in _SAID:
        sentence = re.sub(rf"\b{before}\b", after, sentence)
        sentence = re.sub(rf"\b{before.capitalize()}\b", after.capitalize(), sentence)
    return sentence


def page_of_images(page: str) -> str:
    """The same of what a reader sees of an HTML page; tags, scripts and styles stay."""
    return "".join(part if part.startswith("<") else of_images(part) for part in _PARTS.split(page))


def fields_of_images(value: Any, name: str = "") -> Any:
    """The same of all sentences in a mapping or list."""
    if isinstance(value, str):
        return value if name in _KEPT else of_images(value)
    if isinstance(value, dict):
        return {key: fields_of_images(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(fields_of_images(item, name) for item in value)
    return value
