"""An audit in memory, of a known model: the trials and the rule are those of audits, but nothing is read or kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.audits.judging import judge
from trueness.audits.measured import Measurements
from trueness.audits.repeats import after_edit, by_itself
from trueness.audits.trained_tasks import sought
from trueness.audits.trials import lines_of
from trueness.protocols.best_order import Reference, reference
from trueness.protocols.faithfulness import Removal, removal
from trueness.protocols.ground_truth.trial import needed, predictions
from trueness.protocols.randomisation import explained, randomisation, redrawn
from trueness.protocols.similarity import flat, similarity
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    from trueness.audits.verdict import Judged
    from trueness.explainers.contract import Explainer
    from trueness.kinds.contract import Kind, Known

SHUFFLED, ALONE, SHUFFLES = 40, 30, 8
PLANTED_MODELS, PLANTED_EXAMPLES = 15, 60
MISLABELLED = 0.15
"""Of the examples: their labels are not what the model says, so that right and wrong predictions are slices."""


@dataclass(frozen=True)
class Said:
    """What one explanation says of the examples, and what hiding by it does."""

    scores: Floats
    mask: Bools
    removal: Removal


@dataclass(frozen=True)
class Audited:
    """A known model under its own labels, and what the best orders cost."""

    known: Known
    split: Any
    examples: Any
    reference: Reference
    said: Mapping[str, Said]
    verdicts: Mapping[str, Judged]


def audit(
    kind: Kind, known: Known, methods: Mapping[str, Explainer], seed: int, *, planted: int = 0, shuffles: int = SHUFFLES
) -> Audited:
    """Verdicts of all methods; with so many models that have planted evidence, where their kind trains some."""
    network = known.model.network
    predicted = predictions(network, known.model.coded(known.examples))
    examples = known.examples.labelled(predicted)
    split = known.model.coded(examples)
    best = reference(network, split)
    rng = np.random.default_rng([seed, *b"labels"])
    off = (predicted + rng.integers(1, len(known.model.classes), len(predicted))) % len(known.model.classes)
    labels = np.where(rng.random(len(predicted)) < MISLABELLED, off, predicted)
    strongest = _strongest(kind, known.model, examples, best)
    detection = _detection(kind, known, methods, planted)
    said, found = {}, {}
    for name, method in methods.items():
        scores, mask = explained(network, split, method)
        hidden = removal(network, split, scores, mask)
        said[name] = Said(scores, mask, hidden)
        other = redrawn(method)
        ceiling = np.ones(len(examples))
        if other is not None:
            ceiling = similarity(scores, explained(network, split, other)[0], mask)
        number = min(SHUFFLED, len(examples))
        few = split.only(range(number))
        how: dict[str, Any] = {"before": scores[:number], "ceiling": ceiling[:number]}
        table = randomisation(network, few, method, orders=["all at once"], seeds=range(shuffles), **how)
        found[name] = Measurements(
            cost=hidden.cost,
            soft_cost=hidden.soft_cost,
            change=(table["ceiling"] - table["similarity"]).to_numpy().reshape(shuffles, -1),
            moved=float(table["output change"].mean()),
            ceiling=ceiling,
            alone=by_itself(network, split, min(ALONE, len(examples)), method, scores, mask),
            edited=after_edit(kind, known.model, examples, np.arange(len(examples)), other or method, scores),
            flat=flat(scores, mask),
            random=method.facts.random,
            detection=detection.get(name),
            reference=best,
            singles=best.singles(scores, mask),
            strongest=strongest,
            predicted=predicted,
            labels=labels,
            classes=known.model.classes,
            words=kind.words,
        )
    lines = lines_of(found, (), missing_planted="no models were trained", planted_required=bool(planted))
    return Audited(known, split, examples, best, said, judge(lines, (), words=kind.words))


def _strongest(kind: Kind, model: Any, examples: Any, best: Reference) -> list[str]:
    """Of each example the unit that does the most alone, as people see it."""
    names: list[str] = []
    for row, content in enumerate([] if kind.view is None else kind.view.contents(model, examples)):
        if content.units and kind.view is not None:
            effect = kind.view.scores(model, examples, row, np.nan_to_num(best.alone[row]))
            names.append(content.units[int(np.argmax(effect))].split(" = ")[0])
    return names


def _detection(kind: Kind, known: Known, methods: Mapping[str, Explainer], models: int) -> dict[str, Floats]:
    """(models, examples) AUROC of planted evidence, of models that used it."""
    from trueness.data.dataset import drawn

    if kind.planter is None or kind.relatives is None or not models:
        return {}
    rows: dict[str, list[Floats]] = {}
    for seed in range(models):
        made = kind.planter.plant(known.model, known.dataset, seed)
        how: dict[str, Any] = {"purpose": "planted", "epochs": 0, "device": "cpu"}
        trained = kind.relatives.train(known.like, made.dataset, seed, **how)
        test = made.dataset["test"]
        if not needed(trained.network, trained.coded(test), made.bound)["proven"]:
            continue
        some = test.pick(drawn(test.labels.tolist(), PLANTED_EXAMPLES))
        records = sought(kind, trained, some, made.about, methods)
        for name, table in records.groupby("method", sort=False):
            rows.setdefault(str(name), []).append(table.sort_values("instance")["AUROC"].to_numpy(dtype=np.float64))
    least = min((len(row) for some in rows.values() for row in some), default=0)
    return {name: np.stack([row[:least] for row in some]) for name, some in rows.items()}
