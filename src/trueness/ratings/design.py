"""What raters are asked: pairs of explanations, texts with and without one, or texts to mark; balanced, with foils.

What a rater gets is which words are marked and in which order of strength: the same number of marks in the same
strengths for every explanation of a text. So neither the look nor the size of a page tells the method.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from trueness.errors import UserError
from trueness.ratings import Mode
from trueness.report.instances import MARKS, Instance, Instances, Scores

RANDOM, OTHER, NONE = "foil: random words", "foil: another text's", "no explanation"
"""What knows nothing of the model; what belongs to another text; what is no explanation at all."""
FOILS = (RANDOM, OTHER)
FEWEST, LONGEST = 4, 80
"""Words of texts that are asked about."""
REPEATED = 0.15
"""Share of items that are asked twice."""
_MARKED = 0.2
"""Share of the words that an explanation marks."""
STRENGTHS = "0123456789A"


class Item(BaseModel):
    """One question: a text, and the explanations whose authors are hidden."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: int
    """Place among the instances."""
    words: list[str]
    shown: list[str]
    """Of pairs two methods; of forward simulation one; of highlighting none."""
    marks: list[str]
    """For each of them one strength per word."""
    predicted: str
    repeated: bool = False


class Design(BaseModel):
    """All questions of a rating, the same for all raters; each gets them in an order and on sides of their own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Mode
    result: str
    """Key of the run."""
    seed: int
    secret: str
    """What opaque names of items are made with; stays on this machine."""
    classes: list[str]
    methods: list[str]
    items: list[Item]


def make_design(
    instances: Instances, *, mode: Mode, result: str, items: int, seed: int, secret: str, methods: Sequence[str] = ()
) -> Design:
    """Balanced questions about texts drawn at random."""
    draw = random.Random(seed)
    known = [name for name in instances.methods if name not in MARKS]
    for name in methods:
        if name not in known:
            raise UserError(f"{name} explains none of the texts; there are {', '.join(known)}.")
    chosen = list(methods) or known
    texts = [
        place
        for place, one in enumerate(instances.all)
        if FEWEST <= len(one.words) <= LONGEST and all(name in one.scores for name in chosen)
    ]
    if len(texts) < 2 or not chosen:
        raise UserError(
            f"A rating needs two texts of {FEWEST} to {LONGEST} words that every method explains; this run keeps "
            f"{len(texts)}."
        )
    draw.shuffle(texts)
    if mode != "pairwise":  # who has seen a text once remembers it
        items = min(items, len(texts))
    made = [
        _item(instances.all, texts[number % len(texts)], shown, draw)
        for number, shown in enumerate(_conditions(mode, chosen, items, draw))
    ]
    if mode != "simulation":
        again = draw.sample(range(len(made)), round(REPEATED * len(made)))
        made += [made[place].model_copy(update={"repeated": True}) for place in again]
    classes = list(dict.fromkeys(one.predicted for one in instances.all))
    return Design(mode=mode, result=result, seed=seed, secret=secret, classes=classes, methods=chosen, items=made)


def _conditions(mode: Mode, methods: Sequence[str], items: int, draw: random.Random) -> list[list[str]]:
    """What is shown in each item: everything equally often, in blocks whose order is drawn."""
    if mode == "highlight":
        return [[] for _ in range(items)]
    if mode == "simulation":
        block: list[list[str]] = [[name] for name in (NONE, *methods, *FOILS)]
    else:
        block = [list(pair) for pair in itertools.combinations([*methods, *FOILS], 2)]
    found: list[list[str]] = []
    for number in itertools.count():
        some = [one[::-1] if (number + place) % 2 else one for place, one in enumerate(block)]
        draw.shuffle(some)
        found += some
        if len(found) >= items:
            return found[:items]
    raise AssertionError("blocks are never exhausted")


def _item(all_texts: Sequence[Instance], text: int, shown: Sequence[str], draw: random.Random) -> Item:
    one = all_texts[text]
    return Item(
        text=text,
        words=list(one.words),
        shown=list(shown),
        marks=[marks(_scores(all_texts, text, name, draw), len(one.words), draw) for name in shown],
        predicted=one.predicted,
    )


def _scores(all_texts: Sequence[Instance], text: int, name: str, draw: random.Random) -> Scores | None:
    one = all_texts[text]
    if name == NONE:
        return None
    if name == RANDOM:
        return [draw.random() + 1 for _ in one.words]
    if name == OTHER:
        others = [place for place in range(len(all_texts)) if place != text and all_texts[place].scores]
        other = all_texts[draw.choice(others)]
        method = draw.choice([method for method in other.scores if method not in MARKS])
        return [other.scores[method][place % len(other.scores[method])] for place in range(len(one.words))]
    return one.scores[name]


def marks(scores: Scores | None, words: int, draw: random.Random) -> str:
    """The strongest words by rank, one letter each; ties are broken at random, so that their place tells nothing.

    Every explanation of a text marks the same number of words in the same strengths; None marks nothing.
    """
    found = [STRENGTHS[0]] * words
    if scores is not None:
        number = max(1, round(_MARKED * words))
        order = sorted(range(words), key=lambda place: (-abs(float(scores[place])), draw.random()))
        for rank, place in enumerate(order[:number]):
            found[place] = STRENGTHS[10 - (7 * rank) // number]
    return "".join(found)


def top(scores: Scores, number: int) -> set[int]:
    """The places of the strongest scores."""
    return set(sorted(range(len(scores)), key=lambda place: -abs(float(scores[place])))[:number])
