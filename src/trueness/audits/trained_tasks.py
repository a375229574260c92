"""The tasks of an audit that train models like the audited one: with planted evidence, and its relatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trueness.audits.reading import attempted, audited_examples, opened, probabilities, trained, unpacked
from trueness.audits.trials import learned
from trueness.engine import Stored, task
from trueness.engine.worker import current_device
from trueness.errors import UserError
from trueness.kinds import KINDS
from trueness.kinds.contract import Kind, Model, Purpose
from trueness.plugins import Reference

if TYPE_CHECKING:
    import pandas as pd

    from trueness.explainers.contract import Explainer

Labels = Literal["predicted", "random"]
SEEDS: Mapping[Purpose, int] = {"companion": 0, "twin": 1, "stranger": 0}


def _pool(inputs: Mapping[str, Any], kind: str, number: int) -> Any:
    """A dataset of so many examples, those that are explained first; their labels say nothing."""
    import numpy as np

    data = unpacked(kind, inputs["read"])
    parts = list(data.splits.values())
    some = type(parts[0]).joined(parts)
    some = some.pick(range(min(number, len(some))))
    return replace(data, splits={"all": some.labelled(np.zeros(len(some), dtype=int))})


@task("audit/planted", version=4)
def planted(
    inputs: Mapping[str, Stored], *, kind: str, model: Path | str, family: str | None, examples: int, seed: int
) -> dict[str, Any]:
    """Examples with evidence planted in them that a model of the same architecture must use."""
    from trueness.data.dataset import with_splits

    planter = KINDS[kind].planter
    assert planter is not None
    data = with_splits(_pool(inputs, kind, examples), seed)  # other models learn from other examples
    made = planter.plant(opened(kind, model, family), data, seed)
    about = {"bound": made.bound, "evidence": made.evidence, "where": dict(made.about)}
    return {**KINDS[kind].data.pack(made.dataset), "planted": about}


@task("audit/planted-model", version=1)
def planted_model(
    inputs: Mapping[str, Stored], *, kind: str, like: Mapping[str, Any], seed: int, epochs: int
) -> dict[str, Any]:
    """A model of the same architecture that learned from planted evidence."""
    relatives, data = KINDS[kind].relatives, unpacked(kind, inputs["dataset"])
    assert relatives is not None
    how: dict[str, Any] = {"purpose": "planted", "epochs": epochs, "device": current_device()}
    return KINDS[kind].models.pack({"0": relatives.train(like, data, seed, **how)})


@task("audit/planted-found", version=4)
def planted_found(
    inputs: Mapping[str, Stored], *, kind: str, explainers: Sequence[str], examples: int
) -> dict[str, Any]:
    """Whether a model had to use the evidence, and how well each method finds it in examples that it did not learn.

    Where evidence speaks for a class, methods with signs have to say so; only right predictions count for them.
    """
    import pandas as pd

    from trueness.data.dataset import drawn
    from trueness.protocols.ground_truth.trial import needed

    model = trained(kind, inputs["model"])
    test, about = unpacked(kind, inputs["dataset"])["test"], inputs["dataset"].read("planted")
    facts: dict[str, Any] = {**needed(model.network, model.coded(test), about["bound"]), "broken": {}}
    facts["evidence"] = about["evidence"]
    if not facts["proven"]:
        return {"facts": facts}
    some, registry, tables = test.pick(drawn(test.labels.tolist(), examples)), KINDS[kind].explainers, []
    ours = [name for name in explainers if not isinstance(name, Reference)]
    # What is somebody else's may fail by itself; ours share the copies that they hide units of.
    theirs: list[str] = [name for name in explainers if isinstance(name, Reference)]
    for group in [ours, *([name] for name in theirs)]:
        try:
            found = sought(KINDS[kind], model, some, about["where"], {name: registry[name] for name in group})
        except UserError as error:
            if group is ours:
                raise
            facts["broken"][str(group[0])] = str(error)
            continue
        tables += [found] if len(found) else []
    records = pd.concat(tables, ignore_index=True)[["instance", "method", "AUROC"]] if tables else pd.DataFrame()
    return {"facts": facts, "records": records} if len(records) else {"facts": facts}


def sought(
    kind: Kind, model: Model, examples: Any, about: Mapping[str, Any], methods: Mapping[str, Explainer]
) -> pd.DataFrame:
    """How well each method finds planted evidence: one row per method and example, with its AUROC."""
    import numpy as np
    import pandas as pd

    from trueness.protocols.ground_truth.trial import detect
    from trueness.stats import detection_auc

    assert kind.planter is not None
    where = kind.planter.where(model, examples, about)
    records, found = detect(model.network, model.coded(examples), methods, *where)
    if not found.scores:
        return pd.DataFrame()
    for name, scores in found.scores.items():
        if kind.planter.speaks and methods[name].facts.signed:  # evidence of a class speaks for it, and has to say so
            rows, found_by = records["method"] == name, detection_auc(scores, where[0], found.mask, signed=True)
            right = records.loc[rows, "right"].to_numpy(dtype=bool)
            records.loc[rows, "AUROC"] = np.where(right, found_by.values.filled(np.nan), np.nan)
    return records


@task("audit/labelled", version=2)
def labelled(
    inputs: Mapping[str, Stored],
    *,
    kind: str,
    model: Path | str,
    family: str | None,
    examples: int,
    labels: Labels,
) -> dict[str, Any]:
    """Examples with splits, each with the class that the audited model gives it, or with one drawn at random."""
    import numpy as np

    from trueness.data.dataset import with_splits

    classifier, pool = opened(kind, model, family), _pool(inputs, kind, examples)
    some = pool.splits["all"]
    if labels == "predicted":
        given = probabilities(classifier, some).argmax(axis=1)
    else:
        given = np.random.default_rng([0, *b"labels"]).integers(len(classifier.classes), size=len(some))
    return KINDS[kind].data.pack(with_splits(replace(pool, splits={"all": some.labelled(given)})))


@task("audit/relative", version=3)
def relative(
    inputs: Mapping[str, Stored], *, kind: str, like: Mapping[str, Any], purpose: Purpose, epochs: int
) -> dict[str, Any]:
    """A model of the same architecture: `Purpose` says what it has learned.

    One that has to say what the audited model says, and has not learned it, is trained once more, for longer.
    """
    relatives, data = KINDS[kind].relatives, unpacked(kind, inputs["dataset"])
    assert relatives is not None
    how: dict[str, Any] = {"purpose": purpose, "epochs": epochs, "device": current_device()}
    found = relatives.train(like, data, SEEDS[purpose], **how)
    if purpose != "stranger" and not _learned(found, data["dev"]):
        found = relatives.train(like, data, SEEDS[purpose], longer=True, **how) or found
    return KINDS[kind].models.pack({"0": found})


def _learned(model: Model, examples: Any) -> bool:
    """Whether it names the classes of examples that it was not trained on."""
    return learned(examples.labels, probabilities(model, examples).argmax(axis=1))[0]


@task("audit/companion-reference", version=3)
def companion_reference(
    inputs: Mapping[str, Stored], *, kind: str, examples: int, hidden_shares: Sequence[float]
) -> dict[str, Any]:
    """What orders of the units can cost on the companion, whatever explainers are on trial."""
    from trueness.protocols.best_order import reference as searched

    classifier = trained(kind, inputs["companion"])
    some = audited_examples(inputs, kind, examples)
    split = classifier.coded(some.labelled(probabilities(classifier, some).argmax(axis=1)))
    return {"best": {"cost": searched(classifier.network, split, levels=hidden_shares, shares=()).cost}}


@task("audit/companion-removed", version=9)
def companion_removed(
    inputs: Mapping[str, Stored],
    *,
    kind: str,
    explainer: str,
    examples: int,
    hidden_shares: Sequence[float],
) -> dict[str, Any]:
    """What hiding units by one method's scores costs the companion, each explained by itself."""
    from trueness.protocols.faithfulness import removal
    from trueness.protocols.randomisation import explained as explain

    classifier = trained(kind, inputs["companion"])
    some = audited_examples(inputs, kind, examples)
    predicted = probabilities(classifier, some).argmax(axis=1)
    split = classifier.coded(some.labelled(predicted))

    def work() -> dict[str, Any]:
        scores, mask = explain(classifier.network, split, KINDS[kind].explainers[explainer])
        found = removal(classifier.network, split, scores, mask, levels=hidden_shares, shares=())
        # Of the examples that are explained, most of which it was trained on: there it has to say something.
        enough, right, guessed = learned(some.labels, predicted)
        told = {"enough": enough, "right": right, "guessed": guessed, "examples": len(some)}
        return {"removal": {"cost": found.cost}, "learned": told}

    return attempted(explainer, work)


@task("audit/compared", version=5)
def compared(inputs: Mapping[str, Stored], *, kind: str, explainer: str, examples: int) -> dict[str, Any]:
    """How alike one method's explanations of the audited model and of a relative are, of the audited model's class."""
    import numpy as np

    from trueness.protocols.randomisation import explained as explain
    from trueness.protocols.randomisation import redrawn
    from trueness.protocols.similarity import similarity

    if not inputs["explained"].holds("scores"):
        return {}
    kept, ceiling = inputs["explained"].read("scores"), inputs["explained"].read("repeats")["ceiling"]
    number = min(examples, len(kept["scores"]), len(ceiling))
    some = audited_examples(inputs, kind, number)
    other, method = trained(kind, inputs["relative"]), KINDS[kind].explainers[explainer]
    said, before = probabilities(other, some), inputs["asked"].read("said")["probability"][:number]

    def work() -> dict[str, Any]:
        scores, mask = explain(other.network, other.coded(some), redrawn(method) or method)
        alike = similarity(kept["scores"][:number, : mask.shape[1]].astype(np.float64), scores, mask)
        moved, same = 0.5 * np.abs(said - before).sum(axis=1), said.argmax(axis=1) == before.argmax(axis=1)
        return {"compared": {"similarity": alike, "ceiling": ceiling[:number], "moved": moved, "same": same}}

    return attempted(explainer, work)
