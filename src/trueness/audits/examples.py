"""Which examples an audit's report shows, and what each method says of their units."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.protocols.similarity import similarity
from trueness.stats.undefined import Floats

if TYPE_CHECKING:
    from trueness.kinds.contract import Kind, Model

LONGEST = 30
"""Units of an example that is still shown, if there are shorter ones."""


@dataclass(frozen=True)
class Shown:
    """Examples with what the model and every method say of them."""

    kind: Kind
    model: Model
    examples: Any
    kept: Mapping[str, Any]
    """By method `scores` and `mask`, (examples, units) each; of a slow method there are fewer examples."""
    said: Floats
    """(examples, classes)"""
    labels: Sequence[int]
    """-1 where there is none."""

    def about(self, row: int) -> dict[str, Any]:
        """What the model says of an example, and what it should say."""
        classes, predicted, label = self.model.classes, int(self.said[row].argmax()), self.labels[row]
        gold = classes[label] if label >= 0 else None
        return {"predicted": classes[predicted], "probability": float(self.said[row, predicted]), "label": gold}

    def scores(self, row: int) -> dict[str, list[float]]:
        """By method one score for each unit that a person sees."""
        assert self.kind.view is not None
        return {
            name: list(self.kind.view.scores(self.model, self.examples, row, one["scores"][row].astype("float64")))
            for name, one in self.kept.items()
            if row < len(one["scores"])
        }

    def signed(self, name: str) -> bool:
        """Whether a method's scores below 0 speak against the prediction."""
        return bool(self.kind.explainers[name].facts.signed)


def disagreement(kept: Mapping[str, Any], number: int) -> Floats:
    """(examples,) one minus the mean similarity of all pairs of methods."""
    width = min((one["mask"].shape[1] for one in kept.values()), default=0)  # of fewer examples the largest is smaller
    part = (slice(number), slice(width))
    scores = [(np.abs(one["scores"][part].astype("float64")), one["mask"][part]) for one in kept.values()]
    pairs = [similarity(a, b, mask) for (a, mask), (b, _) in itertools.combinations(scores, 2)]
    return np.nan_to_num(1 - np.mean(pairs, axis=0), nan=-1.0) if pairs else np.zeros(number)


def choose(every: Shown, number: int, foils: Sequence[str], shown: int) -> list[dict[str, Any]]:
    """Where methods disagree most and least, a sure and an unsure prediction, a wrong one, then any; none twice."""
    if not number or every.kind.view is None:
        return []
    apart = disagreement({name: one for name, one in every.kept.items() if name not in foils}, number)
    said, labels = every.said[:number], np.asarray(every.labels[:number])
    sure = said.max(axis=1)
    wrong = (labels >= 0) & (labels != said.argmax(axis=1))
    contents = every.kind.view.contents(every.model, every.examples.pick(range(number)))
    lengths = np.array([len(one.units) for one in contents])
    readable = (lengths <= max(LONGEST, int(np.sort(lengths)[min(shown, number) - 1]))) & (lengths >= 4)
    if not readable.any():
        readable[:] = True
    reasons: list[tuple[str, Floats]] = [
        ("the methods disagree most", apart),
        ("the methods agree most", -apart),
        ("the model is wrong, and sure of it", np.where(wrong, sure, -np.inf)),
        ("the model is least sure", -sure),
        *((("drawn at random", -np.arange(number, dtype=np.float64)),) * shown),
    ]
    found: list[dict[str, Any]] = []
    taken: set[int] = set()
    for why, worth in reasons:
        order = [row for row in np.argsort(-worth, kind="stable").tolist() if readable[row] and row not in taken]
        if len(found) < shown and order and np.isfinite(worth[order[0]]):
            row = order[0]
            taken.add(row)
            signed = [name for name in every.kept if every.signed(name)]
            more = {"scores": every.scores(row), "signed": signed}
            found.append({"why": why, **every.about(row), **vars(contents[row]), **more})
    return found


def strips(every: Shown) -> Iterator[dict[str, Any]]:
    """Every example with every method's scores, one row each: what the instance browser shows."""
    if every.kind.view is None:
        return
    contents = every.kind.view.contents(every.model, every.examples)
    for row, one in enumerate(contents):
        about = every.about(row)
        shared = {
            "instance": row,
            "words": list(one.units),
            "other": one.beside,
            "predicted": about["predicted"],
            "probability": about["probability"],
            "gold": about["label"],
            **({"image": one.image, "rows": one.grid[0], "columns": one.grid[1]} if one.image else {}),
        }
        for name, scores in every.scores(row).items():
            yield {**shared, "method": name, "signed": every.signed(name), "scores": scores}
