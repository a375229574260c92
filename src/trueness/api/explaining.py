"""Explanations of texts, images and rows of numbers, and what is measured of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.api.devices import check_device
from trueness.api.models import as_model, check_number, same_kind
from trueness.data.dataset import Dataset, drawn_examples
from trueness.errors import UserError
from trueness.kinds import kind_of, kind_of_data
from trueness.protocols.result import Result, ResultWarning
from trueness.report import Measurement
from trueness.report.explanation import Explanation, Explanations

if TYPE_CHECKING:
    from torch import Tensor

    from trueness.data.inputs import Split
    from trueness.explainers.contract import Explainer
    from trueness.kinds.contract import Kind, Model

    AnyExplainer = str | Explainer | Callable[..., Tensor]


def explain(
    model: Any,
    examples: Any,
    explainer: AnyExplainer | Sequence[AnyExplainer] | None = None,
    *,
    others: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    target: str | int = "predicted",
    device: str | None = None,
    precision: str = "default",
) -> Explanations:
    """What made a model decide, for each example: `tn.explain(model, ["a fine film"], "leave-one-out")`.

    The result is a list that a notebook shows: coloured words, bars of features, or an image under its scores. Its
    `scores` are arrays. With several explainers all explanations of the first one come first, and `found["lime"]` are
    those of one.

    Args:
        model: what `tn.load_model` takes, or gives.
        examples: texts, pairs of texts, images (arrays, pictures, names of files), rows of numbers (an array, a table),
            or examples of a dataset, `data["test"].pick([0, 1])`; of a whole dataset those of its test split.
        explainer: a name, also with settings or of your own (`"lime[n_samples=200]"`, `"mine.py:saliency"`), an
            instance (`IntegratedGradients(n_steps=100)`), a function of model, batch and target, or a list of these;
            by default the first that suits the model.
        others: the second texts of pairs.
        columns: of a table or a file text_column, text_b_column, label_column, where they cannot be guessed.
        target: the class that is explained: predicted, gold (of examples of a dataset), or a class by name or number.
        device: where the model is moved first.
        precision: as torch is set (default), full, tf32 or bf16 (fewer digits), or auto: the fastest at which a few
            examples are ranked as at full precision.
    """
    from trueness.explainers.outputs import target_class
    from trueness.explainers.precision import attribute
    from trueness.models.network import check_outputs, inspecting

    if device is not None:
        check_device(device)
    opened: Any = as_model(model, device or "cpu", data=examples)
    asked = asked_of(opened)
    methods = named_explainers(several(explainer) or asked.usual(opened)[:1], opened)
    if device is not None:
        opened.network.to(device)
    some, new = given(opened, examples, others, gold=target == "gold", columns=columns)
    if target == "gold" and new:
        raise UserError("What is new has no gold label; the target must be predicted or a class.")
    if not len(some):
        return Explanations()
    chosen: Any = opened.classes.index(target) if isinstance(target, str) and target in opened.classes else target
    found: dict[tuple[int, int], Explanation] = {}
    for rows, batch in _batches(opened.coded(some), asked, whole=precision == "auto"):
        with inspecting(opened.network):
            logits = check_outputs(opened.network, opened.network(batch).logits)
            probability = logits.softmax(dim=-1).double().cpu().numpy()
        classes = target_class(logits, batch, chosen).tolist()
        for place, (name, method) in enumerate(methods.items()):
            computed = attribute(method, opened.network, batch, chosen, precision)
            scores = computed.scores.double().cpu().numpy()
            for number, row in enumerate(rows.tolist()):
                found[place, row] = Explanation(
                    explainer=name,
                    predicted=opened.classes[int(probability[number].argmax())],
                    probability=float(probability[number].max()),
                    target=opened.classes[classes[number]],
                    signed=method.facts.signed,
                    precision=computed.precision,
                    **asked.shown(opened, some, row, scores[number]),
                )
    return Explanations(found[key] for key in sorted(found))


def agreement(
    model: Any,
    data: Any,
    explainers: AnyExplainer | Sequence[AnyExplainer] | None = None,
    *,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    instances: int = 200,
    target: str = "predicted",
    k: int = 5,
    repeat: bool = False,
) -> Measurement:
    """Do explanation methods agree about a model? Every pair, by several measures, against chance.

    Agreement is not validity.

    Args:
        model: what `tn.load_model` takes, or gives.
        data: what `tn.load_dataset` takes, or gives; labels may be missing.
        explainers: as in `tn.explain`, two or more; by default the usual ones.
        split: by default test, or the only one.
        columns: text_column, text_b_column, label_column, where they cannot be guessed; `label_column=""`: none.
        instances: how many examples are drawn from the split, evenly from its classes.
        target: predicted, gold, or the name of a class.
        k: how many of the most important units are compared.
        repeat: whether methods that draw at random are also compared with themselves: no method can be expected to
            agree more with another.
    """
    from trueness.protocols.agreement.explaining import explain_all
    from trueness.protocols.agreement.summary import agreement as compare

    opened: Any = as_model(model, data=data)
    methods = named_explainers(several(explainers) or asked_of(opened).usual(opened), opened)
    if len(methods) < 2:
        raise UserError("Agreement needs two different explainers.")
    check_number("k, how many of the most important units are compared,", k, 1)
    coded, name, notes = looked_at(opened, data, split, instances, columns, gold=target == "gold")
    chosen: Any = opened.classes.index(target) if target in opened.classes else target
    found = explain_all(opened.network, coded, methods, chosen)
    again = explain_all(opened.network, coded, methods, chosen, redraw=True).scores if repeat else {}
    result = compare(
        found.scores,
        found.mask,
        again=again,
        k=k,
        dataset=name,
        target="predicted class" if target == "predicted" else target,
        without_sign=[one for one, method in methods.items() if not method.facts.signed],
        machinery={one: method.facts.machinery for one, method in methods.items()},
    )
    return Measurement.of(warned(result, notes), "Do explanation methods agree about the model?", "agreement")


def faithfulness(
    model: Any,
    data: Any,
    explainers: AnyExplainer | Sequence[AnyExplainer] | None = None,
    *,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    instances: int = 200,
) -> Measurement:
    """What does hiding units cost a model as it is? Comprehensiveness and sufficiency.

    Units are words, squares of an image, or features. Nothing is retrained: a model may find examples with hidden units
    unusual, see `audit` and `recursive_roar`. The difference of a random explanation is 0 in expectation.

    Args:
        model: what `tn.load_model` takes, or gives.
        data: what `tn.load_dataset` takes, or gives; labels may be missing.
        explainers: as in `tn.explain`; by default two of the usual ones and random scores.
        split: by default test, or the only one.
        columns: text_column, text_b_column, label_column, where they cannot be guessed; `label_column=""`: none.
        instances: how many examples are drawn from the split, evenly from its classes.
    """
    from trueness.protocols.agreement.explaining import explain_all
    from trueness.protocols.faithfulness import faithfulness as measure
    from trueness.protocols.ground_truth.trial import predictions
    from trueness.protocols.scoring import Cell

    opened: Any = as_model(model, data=data)
    usual = several(explainers) or [*asked_of(opened).usual(opened)[-2:], "random"]
    methods = named_explainers(usual, opened)
    coded, name, notes = looked_at(opened, data, split, instances, columns)
    coded = coded.labelled(predictions(opened.network, coded))
    found = explain_all(opened.network, coded, methods, "gold")
    explained = {method: (scores, found.mask) for method, scores in found.scores.items()}
    result = measure(opened.network, coded, explained, Cell(name, "the model"))
    return Measurement.of(warned(result, notes), f"What does hiding {kind_of(opened).words.units} cost the model?")


def looked_at(
    model: Model,
    data: Any,
    split: str | None,
    instances: int,
    columns: Mapping[str, str] | None = None,
    *,
    gold: bool = False,
) -> tuple[Split, str, list[ResultWarning]]:
    """The examples that a protocol looks at, what they are called, and how they were read.

    Labels mean anything where `gold` is asked.
    """
    check_number("instances, how many are looked at,", instances, 1)
    kind = _suited(model, data)
    unlabelled = (columns or {}).get("label_column") == ""
    if isinstance(data, Dataset):
        if any((columns or {}).values()):
            raise UserError(f"{data.name} is loaded already: columns are named where it is read.")
        columns = None
    elif isinstance(data, str) and data in kind.data.datasets and not columns:
        data = kind.data.read(data, model=model)  # as it is prepared for training
    try:
        dataset = kind.data.look(data, model, split=split, columns=columns, gold=not unlabelled)
    except UserError:  # labels that are none of the model's classes do not matter where none is asked
        if gold:
            raise
        dataset = kind.data.look(data, model, split=split, columns=columns, gold=False)
    examples = next(iter(dataset.splits.values()))
    if not len(examples):
        raise UserError(f"{dataset.name} holds no {kind.words.examples}.")
    if gold and (examples.labels < 0).any():
        raise UserError(
            f"{dataset.name}: not every {kind.words.example} has a gold label; the target must be predicted or a class."
        )
    told = [ResultWarning(code="data", where=dataset.name, message=f"{note.rstrip('.')}.") for note in dataset.notes]
    return model.coded(drawn_examples(examples, instances)), dataset.name, told


def warned(result: Result, notes: Sequence[ResultWarning]) -> Result:
    """The result with more reasons to read it with care."""
    return replace(result, warnings=(*result.warnings, *notes))


def named_explainers(explainers: Sequence[AnyExplainer], model: Model) -> dict[str, Explainer]:
    """Explainers by what they are called; UserError where two different ones are called the same."""
    found: dict[str, Explainer] = {}
    for one in explainers:
        name, method = named_explainer(one, model)
        if found.setdefault(name, method) is not method and not isinstance(one, str):
            raise UserError(f"Two different explainers are called {name}: give one of them another __name__.")
    return found


def named_explainer(explainer: AnyExplainer, model: Model) -> tuple[str, Explainer]:
    """An explainer and what it is called; one that only this process knows will do."""
    from trueness.explainers.contract import as_explainer

    known = kind_of(model).explainers
    if isinstance(explainer, str):
        return explainer, known[explainer]
    try:
        name = known.name_of(explainer)
    except UserError:
        name = str(getattr(explainer, "__name__", type(explainer).__name__))
    return name, as_explainer(explainer, name)


def first_choice(model: Model) -> list[str]:
    """The explainers that a first look compares: two of the usual ones that look inside, and one that hides units."""
    usual = asked_of(model).usual(model)
    return [*usual[:2], usual[-1]]


def several(explainers: Any) -> list[Any]:
    """Explainers as a list: one alone will do, and none."""
    if explainers is None:
        return []
    return list(explainers) if isinstance(explainers, list | tuple) else [explainers]


def asked_of(model: Model) -> Any:
    """How the kind of a model is asked for explanations."""
    kind = kind_of(model)
    if kind.explaining is None:
        raise UserError(f"Models of {kind.words.examples} cannot be explained one by one.")
    return kind.explaining


def _suited(model: Model, data: Any) -> Kind:
    """The kind of a model; UserError where the data are of another one."""
    kind = same_kind(model, data)
    if not isinstance(data, str | Path | Mapping) and not hasattr(data, "columns"):
        given = kind_of_data(data)
        if given is not kind:
            raise UserError(
                f"A model of {kind.words.examples} needs {kind.words.examples}, not {given.words.examples}."
            )
    return kind


def given(
    model: Model,
    examples: Any,
    others: Sequence[str] | None = None,
    *,
    gold: bool = False,
    columns: Mapping[str, str] | None = None,
) -> tuple[Any, bool]:
    """The examples to be explained, and whether they have no gold labels; of data those that are looked at."""
    kind, asked = kind_of(model), asked_of(model)
    if not columns and not asked.is_data(examples):
        found: tuple[Any, bool] = asked.given(examples, model, others)
        return found
    same_kind(model, examples)
    if others is not None:
        raise UserError("A dataset has its second texts: leave out others.")
    chosen = next(iter(kind.data.look(examples, model, gold=gold, columns=columns).splits.values()))
    return chosen, bool((chosen.labels < 0).any())


def _batches(coded: Split, asked: Any, *, whole: bool) -> Any:
    """Batches with the numbers of their examples, explained at the finest units, unless the kind explains its own."""
    parts = [(np.arange(len(coded)), coded.batch(np.arange(len(coded))))] if whole else coded.to_explain()
    finest = getattr(asked, "finest", True)
    return ((rows, batch.finest() if finest else batch) for rows, batch in parts)
