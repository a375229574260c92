"""Whether two answers say the same, by their words: nobody judges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_SHORT = 6
"""Words up to which an answer has to come again as a whole."""
_WORDS = re.compile(r"[^\W_]+(?:[.,]\d+)*")


def words_of(text: str) -> tuple[str, ...]:
    """The words of an answer, without capitals and punctuation."""
    return tuple(_WORDS.findall(text.casefold()))


def kept_share(answer: str, said: str) -> float:
    """From 0 to 1: how much of an answer is in what is said now; of a short one all or nothing."""
    wanted, given = words_of(answer), words_of(said)
    if not wanted or not given:
        return float(wanted == given)
    if len(wanted) <= _SHORT:
        spans = (given[begin : begin + len(wanted)] for begin in range(len(given) - len(wanted) + 1))
        return float(wanted in spans)
    shared = sum((Counter(wanted) & Counter(given)).values())
    return 2 * shared / (len(wanted) + len(given))


def told_apart(answer: str, alternatives: Sequence[str], said: str) -> float:
    """From 0 to 1: which of several answers is said, by the words that only one of them has; 0.5 where none is."""
    given = set(words_of(said))
    each = [set(words_of(one)) for one in (answer, *alternatives)]
    own = [words.difference(*(other for other in each if other is not words)) for words in each]
    hits = [bool(words & given) for words in own]
    if hits[0] == any(hits[1:]):
        return 0.5
    return float(hits[0])
