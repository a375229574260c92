"""The tasks of an audit: examples are read once, explained once by each method, and shared by all trials."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trueness.audits.reading import attempted, audited_examples, opened, probabilities
from trueness.engine import Stored, task
from trueness.kinds import KINDS
from trueness.kinds.contract import Kind, Model
from trueness.plugins import Reference
from trueness.studies.placed import small

HARMLESS = 0.02
"""An edit that moves the probability of the predicted class no more than this is harmless."""


LOOKED: dict[str, Any] = {}
"""Datasets that this process has looked at already, by their name or path, or the digest of what was an object."""


@task("audit/read", version=1)
def read(
    inputs: Mapping[str, Any],  # noqa: ARG001  # every task takes its inputs; this one has none
    *,
    kind: str,
    name: str | None,
    source: Path | None,
    given: str | None,
    files: Sequence[Path],  # noqa: ARG001  # what they hold is part of the task's key
    columns: Mapping[str, str],
    model: Path | str,
    family: str | None,
    most: int,
    seed: int,
) -> dict[str, Any]:
    """The examples of an audit in random order, as the model reads them, and others that models can be trained on."""
    import dataclasses

    import numpy as np

    classifier, place = opened(kind, model, family), given or name or str(source)
    data = LOOKED.get(place) or looked(KINDS[kind], place, classifier, columns)
    first, *others = data.splits.values()
    order = np.random.default_rng([seed, *b"audit"]).permutation(len(first))[:most]
    splits = {"explained": first.pick(order)}
    if others:
        rest = type(first).joined(others)
        rows = np.random.default_rng([seed, *b"others"]).permutation(len(rest))[:most]
        splits["others"] = rest.pick(rows)
    about = {
        "data": data.name,
        "classes": list(classifier.classes),
        "notes": list(data.notes),
        "rows": len(first),
        "pool": sum(map(len, splits.values())),
        "warnings": [note.rstrip(".") for note in getattr(classifier, "notes", ())],
    }
    made: Any = data
    return {**KINDS[kind].data.pack(dataclasses.replace(made, splits=splits)), "told": about}


def looked(kind: Kind, data: Any, model: Model, columns: Mapping[str, str]) -> Any:
    """A dataset as the model reads it: first the split that is explained, then others, if any."""
    how = dict(columns)
    split = how.pop("split", None)
    return kind.data.look(data, model, split=split, columns=how)


@task("audit/asked", version=1)
def asked(
    inputs: Mapping[str, Stored], *, kind: str, model: Path | str, family: str | None, examples: int
) -> dict[str, Any]:
    """What the model says of the examples, and of them edited."""
    import numpy as np

    from trueness.audits.reading import unpacked

    classifier, words = opened(kind, model, family), KINDS[kind].words
    first, *_ = unpacked(kind, inputs["read"]).splits.values()
    some = first.pick(range(min(examples, len(first))))
    before = probabilities(classifier, some)
    predicted, rows = before.argmax(axis=1), np.arange(len(some))
    harmless, change = np.zeros(len(some), dtype=bool), KINDS[kind].edit
    if change is not None:
        after = probabilities(classifier, change(some)[0])
        moved = np.abs(after[rows, predicted] - before[rows, predicted])
        harmless = (moved <= HARMLESS) & (after.argmax(axis=1) == predicted)
    reading = KINDS[kind].oddities
    odd = {} if reading is None else reading(classifier, some)
    notes = [f"{number} of {len(some)} {words.examples} {what}" for what, number in odd.items() if number]
    known = some.labels >= 0
    accuracy = float((predicted == some.labels)[known].mean()) if known.any() else None
    about = {"notes": notes, "accuracy": accuracy, "labels": some.labels.tolist()}
    return {"about": about, "said": {"probability": before.astype(np.float32), "harmless": harmless}}


@task("audit/explained", version=9)
def explained(
    inputs: Mapping[str, Stored],
    *,
    kind: str,
    model: Path | str,
    family: str | None,
    explainer: str,
    examples: int,
    repeat_examples: int,
    edit_examples: int,
    alone_examples: int,
) -> dict[str, Any]:
    """What one method says of the examples, and whether it says it again: drawn anew, edited, alone."""
    return attempted(
        explainer,
        lambda: _explained(
            inputs,
            opened(kind, model, family),
            kind,
            explainer,
            examples,
            repeat_examples,
            edit_examples,
            alone_examples,
        ),
    )


def _explained(
    inputs: Mapping[str, Stored], model: Any, kind: str, explainer: str, number: int, again: int, edits: int, alone: int
) -> dict[str, Any]:
    import numpy as np

    from trueness.audits.repeats import after_edit, by_itself
    from trueness.protocols import randomisation as measure
    from trueness.protocols.similarity import largest_of, similarity

    method, network = KINDS[kind].explainers[explainer], model.network
    some = audited_examples(inputs, kind, number)
    split = model.coded(some)
    scores, mask = measure.explained(network, split, method)
    ceiling = np.ones(len(some))
    other = measure.redrawn(method)
    if other is not None:
        second, inside = measure.explained(network, split.only(range(min(again, len(some)))), other)
        ceiling = similarity(scores[:again, : inside.shape[1]], second, inside, largest_of(scores))
    harmless = np.flatnonzero(inputs["asked"].read("said")["harmless"][: len(ceiling)])[:edits]
    same = np.full(len(ceiling), np.nan)
    if len(harmless):
        same[harmless] = after_edit(KINDS[kind], model, some, harmless, other or method, scores)
    alike = by_itself(network, split, min(alone, len(some)), method, scores, mask)
    return {
        "scores": {"scores": scores.astype(np.float32), "mask": mask},
        "repeats": {"ceiling": ceiling, "edited": same, "alone": alike},
    }


@task("audit/randomised", version=7)
def randomised(
    inputs: Mapping[str, Any],
    *,
    kind: str,
    model: Path | str,
    family: str | None,
    explainers: Sequence[str],
    examples: Sequence[int],
    seed: int,
) -> dict[str, Any]:
    """What every method says, each of so many examples, when all of the model's weights are in one random order."""
    numbers = dict(zip(explainers, examples, strict=True))
    way = {"orders": ["all at once"], "seeds": [seed]}
    return _with_random_weights(inputs, opened(kind, model, family), kind, numbers, [way])


@task("audit/layers", version=1)
def layers(
    inputs: Mapping[str, Any],
    *,
    kind: str,
    model: Path | str,
    family: str | None,
    explainers: Sequence[str],
    examples: int,
    noise_draws: int,
) -> dict[str, Any]:
    """The same while the layers are put into random order one after another, and smoothed."""
    ways: list[dict[str, Any]] = [{"orders": ["top-down", "bottom-up"]}]
    ways += [{"orders": ["all at once"], "smooth": noise_draws}] if noise_draws else []
    return _with_random_weights(inputs, opened(kind, model, family), kind, dict.fromkeys(explainers, examples), ways)


def _with_random_weights(
    inputs: Mapping[str, Any], model: Any, kind: str, numbers: Mapping[str, int], ways: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Ours share every order of the weights; what is somebody else's may fail by itself."""
    import pandas as pd

    from trueness.protocols.randomisation import Before, as_it_is, randomisations

    network = model.network
    known: dict[str, Before] = {}
    broken: dict[str, str] = {}
    for (name, number), stored in zip(numbers.items(), inputs["explained"], strict=True):
        if stored.holds("scores") and network.differentiable:
            scores, ceiling = stored.read("scores")["scores"], stored.read("repeats")["ceiling"]
            least = min(number, len(scores), len(ceiling))
            known[name] = Before(KINDS[kind].explainers[name], scores[:least].astype("float64"), ceiling[:least])
    if not known:
        return {"about": {"broken": broken}}
    split = model.coded(audited_examples(inputs, kind, max(len(one.scores) for one in known.values())))
    tables: list[pd.DataFrame] = []

    def measure(some: Mapping[str, Before]) -> dict[str, Any]:
        for how in ways:
            smooth, before = how.get("smooth", 0), some
            if smooth:
                before = {
                    name: as_it_is(network, split.only(range(len(one.scores))), one.explainer, smooth=smooth)
                    for name, one in some.items()
                }
            tables.append(randomisations(network, split, before, **how).assign(smooth=smooth))
        return {}

    ours = {name: one for name, one in known.items() if not isinstance(name, Reference)}
    theirs: list[dict[str, Before]] = [{name: one} for name, one in known.items() if isinstance(name, Reference)]
    groups: list[dict[str, Before]] = [ours, *theirs] if ours else theirs
    for some in groups:
        name = next(iter(some))
        if failed := attempted(name, functools.partial(measure, some)).get("broken"):
            broken[str(name)] = failed["error"]
    found = {"records": small(pd.concat(tables, ignore_index=True))} if tables else {}
    return {"about": {"broken": broken}, **found}


@task("audit/removed", version=4)
def removed(
    inputs: Mapping[str, Stored], *, kind: str, model: Path | str, family: str | None, hidden_shares: Sequence[float]
) -> dict[str, Any]:
    """What hiding units by one method's scores costs the model."""
    from trueness.protocols.faithfulness import removal

    if not inputs["explained"].holds("scores"):
        return {}
    classifier = opened(kind, model, family)
    kept = inputs["explained"].read("scores")
    split = classifier.coded(audited_examples(inputs, kind, len(kept["scores"])))
    scores = kept["scores"].astype("float64")
    return {"removal": asdict(removal(classifier.network, split, scores, kept["mask"], levels=hidden_shares))}


@task("audit/reference", version=3)
def reference(
    inputs: Mapping[str, Stored],
    *,
    kind: str,
    model: Path | str,
    family: str | None,
    examples: int,
    hidden_shares: Sequence[float],
) -> dict[str, Any]:
    """What orders of the units can cost on each example: the same whatever explainers are on trial."""
    import numpy as np

    from trueness.protocols.best_order import reference as searched

    classifier = opened(kind, model, family)
    some, view = audited_examples(inputs, kind, examples), KINDS[kind].view
    found = searched(classifier.network, classifier.coded(some), levels=hidden_shares)
    names: list[str] = []
    for row, content in enumerate([] if view is None else view.contents(classifier, some)):
        if content.units:
            effect = view.scores(classifier, some, row, np.nan_to_num(found.alone[row])) if view else ()
            names.append(content.units[int(np.argmax(effect))].lower())
    return {"reference": asdict(found), "strongest": {"units": names if len(names) == len(some) else []}}


@task("audit/own-trial", version=1)
def own_trial(
    inputs: Mapping[str, Stored],
    *,
    kind: str,
    model: Path | str,
    family: str | None,
    trial: str,
    explainer: str,
    examples: int,
) -> dict[str, Any]:
    """A trial that only models of one kind have: nothing where it does not apply to a method."""
    (held,) = [one for one in KINDS[kind].trials if one.name == trial]
    classifier, method = opened(kind, model, family), KINDS[kind].explainers[explainer]
    some = audited_examples(inputs, kind, examples)

    def work() -> dict[str, Any]:
        findings, notes = held.measure(classifier, some, method)
        if not findings:
            return {}
        values = {str(number): one.values for number, one in enumerate(findings)}
        checks = [{name: value for name, value in vars(one).items() if name != "values"} for one in findings]
        return {"values": values, "about": {"checks": checks, "notes": list(notes)}}

    return attempted(explainer, work)


@task("audit/bounded", version=3)
def bounded(
    inputs: Mapping[str, Any],
    *,
    kind: str,
    model: Path | str,
    family: str | None,
    explainers: Sequence[str],
    examples: int,
) -> dict[str, Any]:
    """Of some small examples: where comprehensiveness lies between that of the worst and of the best order of units."""
    import numpy as np

    from trueness.protocols.roar.bounds import Drops, attainable, normalised

    classifier, registry = opened(kind, model, family), KINDS[kind].explainers
    split = classifier.coded(audited_examples(inputs, kind, len(inputs["asked"].read("said")["probability"])))
    kept = _scores(inputs, explainers)
    most = min((len(one["scores"]) for one in kept.values()), default=0)
    sizes = split.sizes[:most]
    rows = [row for row in np.argsort(sizes, kind="stable").tolist() if 6 <= sizes[row] <= _LONGEST][:examples]
    found: dict[str, list[float]] = {name: [] for name in kept}
    exact = 0
    for row in rows:
        reader: Any = classifier.network
        drops = Drops(reader, split.batch([row]), "gold")
        ends = attainable(drops)
        exact += ends.exact
        for name, one in kept.items():
            scores = one["scores"][row][one["mask"][row]].astype("float64")
            found[name].append(normalised(drops, scores, ends, signed=registry[name].facts.signed)[0])
    return {
        "about": {"explainers": list(kept), "exact": exact},
        "bounded": {str(i): np.array(v) for i, v in enumerate(found.values())},
    }


_LONGEST = 120
"""Units of an example that the best order is still searched for."""


@task("audit/examples", version=3)
def examples(
    inputs: Mapping[str, Any],
    *,
    kind: str,
    model: Path | str,
    family: str | None,
    explainers: Sequence[str],
    foils: Sequence[str],
    shown: int,
) -> dict[str, Any]:
    """The examples as a person sees them, with every method's scores of their units, and which to show first."""
    import pandas as pd

    from trueness.audits.examples import Shown, choose, strips

    classifier, kept = opened(kind, model, family), _scores(inputs, explainers)
    numbers = [len(one["scores"]) for one in kept.values()]
    about = inputs["asked"].read("about")
    some = audited_examples(inputs, kind, max(numbers, default=0))
    every = Shown(KINDS[kind], classifier, some, kept, inputs["asked"].read("said")["probability"], about["labels"])
    most = min(numbers, default=0)
    return {"examples": choose(every, most, foils, shown), "strips": pd.DataFrame(strips(every))}


def _scores(inputs: Mapping[str, Any], explainers: Sequence[str]) -> dict[str, Any]:
    """What the methods said, by name, of those that could say something."""
    said = zip(explainers, inputs["explained"], strict=True)
    return {name: stored.read("scores") for name, stored in said if stored.holds("scores")}
