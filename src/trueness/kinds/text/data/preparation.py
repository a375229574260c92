"""How raw examples become tokens and classes: all of it is parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from trueness.boundary import check_fields

Tokeniser = Literal["space", "words", "letters"]
TOKENISERS: dict[str, Callable[[str], list[str]]] = {
    "space": str.split,
    "words": re.compile(r"\w+(?:['’]\w+)*|[^\w\s]").findall,
    "letters": lambda text: re.sub(r"\W", " ", text).split(),
}
"""space: the text is tokenised already; words: words and single punctuation marks; letters: words only."""

Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class Preparation:
    """How a corpus becomes a dataset. The defaults keep everything."""

    tokeniser: Tokeniser = "space"
    lowercase: bool = False
    digits: str | None = None
    """What replaces every token with a digit in it; None keeps them."""
    above: Count | None = None
    """Keep texts with more tokens than this."""
    below: Count | None = None
    """Keep texts with fewer tokens than this."""
    first: Count | None = None
    """Keep so many tokens of a text, the first ones."""
    drop_longest: bool = False
    """Also drop the longest texts of every split, as a strict comparison with the maximum does."""
    drop_shortest: bool = False
    """Also drop the shortest texts of every split, as a strict comparison with the minimum does."""
    classes: tuple[str, ...] | None = None
    """Labels to keep, in the order of their class numbers; None: all, sorted."""
    merge: Mapping[str, str] | None = None
    """Labels to rename first; a label missing here is dropped."""
    dev_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of the training split to set aside where the source has no development split."""
    dev_seed: int = 0
    min_count: Count = 1
    """Words in fewer training examples than this are unknown."""

    def __post_init__(self) -> None:
        check_fields(self, "The preparation of a dataset")


def tokenise(text: str, how: Preparation) -> list[str]:
    """The tokens of one text."""
    tokens = TOKENISERS[how.tokeniser](text)
    if how.lowercase:
        tokens = [token.lower() for token in tokens]
    if how.digits is not None:
        tokens = [how.digits if any(character.isdigit() for character in token) else token for token in tokens]
    return tokens[: how.first]
