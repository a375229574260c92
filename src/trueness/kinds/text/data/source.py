"""Where the texts of a dataset come from: ours, and those of other people's code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueness.boundary import calling
from trueness.errors import UserError
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.folder import check_row
from trueness.kinds.text.data.preparation import Preparation

Raw = dict[str, list[RawExample]]
"""Split to examples."""
PLAIN_TEXT = Preparation(tokeniser="words", lowercase=True)
"""For texts of which nothing else is known."""
_SPLITS = '{"train": [...], "dev": [...], "test": [...]}'


@dataclass(frozen=True)
class TextSource:
    """Where examples come from and how they are prepared; `folder` is looked up under the data root."""

    read: Callable[[Path], Raw]
    """From the folder, which is without meaning where there is none."""
    preparation: Preparation = field(default_factory=Preparation)
    folder: str | None = None
    artificial: bool = False
    """Whether its words are made up or few, so that pretrained word vectors do not apply."""
    revision: int = 1
    """To be raised when the same files give other examples: what was computed from them does not fit any more."""


def as_source(thing: Any, name: str) -> TextSource:
    """A dataset of somebody else's code: a `TextSource`, or a function without arguments that returns the splits.

    An example of a split is a `RawExample`, a pair of text and label, or a mapping with `text`, `label` and perhaps
    `text_b` and `evidence`. What is read is checked as the rows of a file are; UserError for what cannot be used.
    """
    if isinstance(thing, TextSource):
        source = thing
    elif _takes_nothing(thing):
        source = TextSource(lambda _: thing(), PLAIN_TEXT)
    else:
        raise UserError(
            f"{name} is no dataset: give a TextSource, or a function without arguments that returns {_SPLITS}."
        )
    code = source.read if source is thing else thing

    def read(place: Path) -> Raw:
        with calling(name, code):
            found = source.read(place)
        return _raw(found, name)

    return replace(source, read=read)


def _takes_nothing(thing: Any) -> bool:
    try:
        inspect.signature(thing).bind()
    except (TypeError, ValueError):
        return False
    return True


def _raw(found: object, name: str) -> Raw:
    if not isinstance(found, Mapping) or not found or not all(isinstance(split, str) for split in found):
        raise UserError(f"{name} returns {_kind(found)} instead of its splits, {_SPLITS}.")
    for split, part in found.items():
        if not isinstance(part, Iterable):
            raise UserError(f"{name}, split {split}: there is {_kind(part)} instead of a list of examples.")
    return {
        split: [_example(item, f"{name}, split {split}, example {number}") for number, item in enumerate(part, start=1)]
        for split, part in found.items()
    }


def _example(item: object, where: str) -> RawExample:
    match item:
        case RawExample():
            record: dict[str, Any] = vars(item)
        case Mapping():
            record = dict(item)
        case [text, label]:
            record = {"text": text, "label": label}
        case _:
            raise UserError(
                f"{where} is {_kind(item)}: give a RawExample, a pair of text and label, or a mapping of "
                "text, label, text_b and evidence."
            )
    label = record.get("label")
    found = check_row({**record, "label": label.item() if isinstance(label, np.generic) else label})
    if isinstance(found, str):
        raise UserError(f"{where}: {found}.")
    return found


def _kind(thing: object) -> str:
    empty = thing is None or (isinstance(thing, dict) and not thing)
    return "nothing" if empty else f"an object of type {type(thing).__name__}"
