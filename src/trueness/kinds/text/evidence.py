"""Marks of words as marks of the tokens that a model reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueness.kinds.text.data.coding import Coder
from trueness.kinds.text.data.examples import TextExample
from trueness.stats.undefined import Bools


def marks_of(coder: Coder, examples: Sequence[TextExample], which: str, width: int) -> Bools:
    """(examples, width) marks of words as marks of a model's tokens; a marked word marks all of its parts."""
    found = np.zeros((len(examples), width), dtype=bool)
    for row, example in enumerate(examples):
        marks = getattr(example, which)
        if marks is None:
            continue
        words = coder.code(example).words
        places = [-1, *range(len(marks))] if words is None else words
        for place, word in enumerate(places):
            found[row, place] = word >= 0 and marks[word]
    return found
