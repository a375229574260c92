"""Explanations of texts and of images, and what is measured of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from trueness.api.devices import check_device
from trueness.api.forms import (
    as_text_classifier,
    images_for,
    labelled_as,
    matched,
    of_images,
    refuse_numbers,
    several,
    texts_for,
)
from trueness.api.models import as_model as as_classifier
from trueness.api.models import check_number, described
from trueness.data.dataset import drawn, drawn_examples
from trueness.errors import UserError
from trueness.kinds.image.data.images import ImageDataset
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.texts import Texts, read_texts
from trueness.papers.attention_is_not_explanation.adversary import AdversarialAttention
from trueness.report import Measurement
from trueness.report.heatmap import Explanation

if TYPE_CHECKING:
    from torch import Tensor

    from trueness.api.forms import AnyModel
    from trueness.data.inputs import Split as AnySplit
    from trueness.explainers.contract import Explainer
    from trueness.kinds.text.models.classifier import Classifier

    AnyExplainer = str | Explainer | Callable[..., Tensor]


def explain(
    model: Classifier,
    texts: Sequence[str] | Sequence[TextExample],
    explainer: AnyExplainer = "attention",
    *,
    others: Sequence[str] | None = None,
    target: str | int = "predicted",
    device: str | None = None,
    precision: str = "default",
) -> list[Explanation]:
    """One explanation per text: `tn.explain(model, ["a fine film"], "leave-one-out")`.

    `model` may also be a function from texts to probabilities, or an object with `predict_proba`. `explainer` is a
    name, also with settings or of your own (`lime[n_samples=200]`, `mine.py:saliency`), an instance
    (`IntegratedGradients(n_steps=100)`), or a function of model, batch and target. `texts` are new texts (`others` the
    second texts of pairs) or examples of a dataset. `target` is predicted, gold (of examples of a dataset that has the
    model's classes), or a class by name or number. With `device` the model is moved there first. `precision` is as
    torch is set, or full, tf32 or bf16 (fewer digits), or auto: the fastest at which a few texts are ranked as at full
    precision.
    """
    from trueness.explainers.precision import attribute
    from trueness.explainers.text import target_class
    from trueness.models.network import check_outputs, inspecting

    refuse_numbers(texts, "tn.explain")
    model = as_text_classifier(model)
    name, method = named_explainer(explainer, model)
    if device is not None:
        check_device(device)
        model.network.to(device)
    examples, new = _examples(model, texts, others)
    if target == "gold" and new:
        raise UserError("New texts have no gold label; the target must be predicted or a class.")
    if not examples:
        return []
    chosen: Any = model.classes.index(target) if isinstance(target, str) and target in model.classes else target
    batch = model.batch(examples)
    with inspecting(model.network):
        logits = check_outputs(model.network, model.network(batch).logits)
        probability = logits.softmax(dim=-1)
    classes = target_class(logits, batch, chosen).tolist()
    computed = attribute(method, model.network, batch, chosen, precision)
    scores = computed.scores.tolist()
    return [
        Explanation(
            explainer=name,
            tokens=example.tokens,
            scores=model.word_scores(example, scores[row]),
            predicted=model.classes[int(probability[row].argmax())],
            probability=float(probability[row].max()),
            target=model.classes[classes[row]],
            known=model.known(example),
            note=model.unusual(example),
            signed=method.facts.signed,
            precision=computed.precision,
        )
        for row, example in enumerate(examples)
    ]


def agreement(
    model: AnyModel,
    data: Any,
    explainers: Sequence[AnyExplainer] | None = None,
    *,
    split: str | None = None,
    instances: int = 200,
    target: str = "predicted",
    k: int = 5,
    repeat: bool = False,
) -> Measurement:
    """Do explanation methods agree about a model? Every pair, by several measures, against chance.

    `data` is a dataset, of whose split (test, or the only one) `instances` are drawn, evenly from its classes; a file,
    folder or table, of whose texts as many are drawn, with labels or without; or a list of texts. With `repeat`
    methods that draw at random are also compared with themselves: no method can be expected to agree more with another.
    Agreement is not validity.
    """
    from trueness.protocols.agreement.explaining import explain_all
    from trueness.protocols.agreement.summary import agreement as compare

    refuse_numbers(data, "tn.agreement")
    model = cast("AnyModel", as_classifier(model))
    methods = dict(named_explainer(one, model) for one in several(explainers) or _usual(model)[:-1])
    if len(methods) < 2:
        raise UserError("Agreement needs two different explainers.")
    check_number("k, how many of the most important places are compared,", k, 1)
    coded, name = _looked_at(model, data, split, instances, gold=target == "gold")
    chosen: Any = model.classes.index(target) if target in model.classes else target
    found = explain_all(model.network, coded, methods, chosen)
    again = explain_all(model.network, coded, methods, chosen, redraw=True).scores if repeat else {}
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
    return Measurement.of(result, "Do explanation methods agree about the model?", "agreement")


def faithfulness(
    model: AnyModel,
    data: Any,
    explainers: Sequence[AnyExplainer] | None = None,
    *,
    split: str | None = None,
    instances: int = 200,
) -> Measurement:
    """What hiding places (words, or squares of an image) costs a model as it is: comprehensiveness and sufficiency.

    `data` as in `agreement`. Nothing is retrained: a model may find texts with hidden words unusual, see `audit` and
    `recursive_roar`. The difference of a random explanation is 0 in expectation.
    """
    from trueness.protocols.agreement.explaining import explain_all
    from trueness.protocols.faithfulness import faithfulness as measure
    from trueness.protocols.ground_truth.trial import predictions
    from trueness.protocols.scoring import Cell

    refuse_numbers(data, "tn.faithfulness")
    model = cast("AnyModel", as_classifier(model))
    coded, name = _looked_at(model, data, split, instances)
    coded = coded.labelled(predictions(model.network, coded))
    methods = dict(named_explainer(one, model) for one in several(explainers) or _usual(model)[2:])
    found = explain_all(model.network, coded, methods, "gold")
    explained = {method: (scores, found.mask) for method, scores in found.scores.items()}
    result = measure(model.network, coded, explained, Cell(name, "the model"))
    return Measurement.of(result, "What does hiding words cost the model?")


def _usual(model: AnyModel) -> list[str]:
    """Explainers to compare, the last one at random."""
    if of_images(model):
        return ["gradient", "grad-cam", "integrated-gradients", "occlusion", "random"]
    if not model.network.differentiable:  # a function: what hides words
        return ["occlusion", "kernel-shap[n_samples=200]", "lime[n_samples=200]", "leave-one-out", "random"]
    return ["attention", "input-x-gradient", "integrated-gradients", "leave-one-out", "random"]


def _looked_at(
    model: AnyModel, data: Any, split: str | None, instances: int, *, gold: bool = False
) -> tuple[AnySplit, str]:
    """The examples that a protocol looks at, and what they are called; labels mean anything where `gold` is asked."""
    reader: Any = model
    check_number("instances, how many are looked at,", instances, 1)
    if of_images(model):
        pictures = images_for(reader, data)
        images = pictures.default_split(split)
        coded = reader.coded(images.pick(drawn(images.labels.tolist(), instances)))
        return labelled_as(reader, coded, pictures.classes) if gold else coded, pictures.name
    if isinstance(data, ImageDataset):
        raise UserError("A model of texts needs texts, not a dataset of images.")
    if isinstance(data, TextDataset):
        coded = reader.coded(drawn_examples(data.default_split(split), instances))
        return labelled_as(reader, coded, data.classes) if gold else coded, data.name
    labels: list[str | int | None] = []
    known: Sequence[str | int | None] = ()  # by all of which it is decided what they mean
    if isinstance(data, list | tuple) and all(isinstance(item, str | TextExample) for item in data):
        (examples, new), name = _examples(reader, data, None), f"{len(data)} texts"
        labels = [None] * (len(examples) if new else 0)
    else:
        found = data if isinstance(data, Texts) else read_texts(data, split=split)
        some = np.random.default_rng(0).permutation(len(found.texts))[:instances].tolist()
        chosen = [found.texts[number] for number in sorted(some)]
        others = [one.text_b or "" for one in chosen] if found.pairs else None
        examples, name = reader.read([one.text for one in chosen], others), Path(found.name).name
        labels, known = [one.label for one in chosen], [one.label for one in found.texts]
    if not examples:
        raise UserError("There is no text.")
    coded = reader.coded(examples)
    if gold and labels:
        if None in labels:
            raise UserError(f"{name}: not every text has a gold label; the target must be predicted or a class.")
        meant = matched([label for label in known if label is not None], reader)
        coded = coded.labelled([meant[label] for label in labels if label is not None])
    return coded, name


def adversarial_attention(
    model: Classifier,
    texts: Sequence[str] | Sequence[TextExample],
    *,
    others: Sequence[str] | None = None,
    epsilon: float = 0.01,
) -> AdversarialAttention:
    """The attention that differs most from the model's own while its output changes by at most epsilon.

    Exact for two classes and single texts, with a certificate in the records; otherwise the best one found and an upper
    bound. `texts` as in `explain`. In a notebook the result shows both heat maps of every text.
    """
    from trueness.kinds.text.attention.adversarial_attention import adversarial_attention as solve

    if not isinstance(epsilon, Real) or not 0 <= epsilon <= 1:
        raise UserError(f"epsilon is a change of probability between 0 and 1, not {epsilon!r}.")
    model = as_text_classifier(model)
    examples, _ = _examples(model, texts, others)
    if not examples:
        raise UserError("There is no text.")
    found = solve(model, examples, epsilon)
    return AdversarialAttention(found.records, found.scores, found.warnings, found.abstentions, epsilon=epsilon)


def attefa(base: Classifier, other: Classifier, data: Any, split: str | None = None) -> Measurement:
    """Do two models predict the same while attending elsewhere? Both distances and the AtteFa score that they show.

    `data` is what `tn.evaluate` takes.
    """
    from trueness.kinds.text.attention.twin_comparisons import attefa_of as compare

    base, other = as_text_classifier(base), as_text_classifier(other)
    if base.classes != other.classes:
        raise UserError(f"The models have different classes: {', '.join(base.classes)}; {', '.join(other.classes)}.")
    data = texts_for(data)
    if set(base.classes) != set(data.classes):
        raise UserError(f"The models know the classes {', '.join(base.classes)}, {data.name} has others.")
    found = compare(base, other, data.default_split(split))
    return Measurement.of(found, "Do two models predict the same while attending elsewhere?")


def named_explainer(explainer: AnyExplainer, model: AnyModel) -> tuple[str, Explainer]:
    """An explainer and what it is called; one that only this process knows will do."""
    from trueness.explainers.contract import TEXT_EXPLAINERS, as_explainer
    from trueness.kinds.image.explainers.contract import IMAGE_EXPLAINERS

    known = IMAGE_EXPLAINERS if of_images(model) else TEXT_EXPLAINERS
    if isinstance(explainer, str):
        return explainer, known[explainer]
    try:
        name = known.name_of(explainer)
    except UserError:
        name = str(getattr(explainer, "__name__", type(explainer).__name__))
    return name, as_explainer(explainer, name)


def _examples(model: Classifier, texts: Any, others: Sequence[str] | None) -> tuple[list[TextExample], bool]:
    """New texts are read as the model's training data were, which is told; examples are taken as they are."""
    listed = [texts] if isinstance(texts, str | TextExample) else texts
    if not hasattr(listed, "__iter__") or isinstance(listed, Mapping | bytes) or hasattr(listed, "columns"):
        raise UserError(
            f"Texts are a list of strings, or of examples such as data['test'][:5]; not {described(texts)}."
        )
    given = list(listed)
    new = bool(given) and isinstance(given[0], str)
    for number, one in enumerate(given, 1):
        if not isinstance(one, str if new else TextExample):
            raise UserError(
                f"Text {number} of {len(given)} is {described(one)}: give strings alone, or examples of a dataset "
                "alone."
            )
    return (model.read(given, others) if new else given), new
