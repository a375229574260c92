"""Datasets and text models: load, train, evaluate, explain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.api.devices import check_device
from trueness.data import VECTOR_DATASETS, TextDataset, VectorDataset, load_text
from trueness.data.dataset import drawn_examples
from trueness.errors import UserError
from trueness.report.heatmap import AdversarialAttention, Explanation

if TYPE_CHECKING:
    from torch import Tensor

    from trueness.data import TextExample
    from trueness.explainers import Explainer
    from trueness.models.classifier import Classifier
    from trueness.models.finetuning import FineTuning
    from trueness.models.recipes import Recipe
    from trueness.models.transformer import TransformerModel
    from trueness.protocols.result import Result

    AnyExplainer = str | Explainer | Callable[..., Tensor]


def load_dataset(name: str, **options: Any) -> VectorDataset | TextDataset:
    """A dataset by name, file, folder or hub name; see `docs/data.md`.

    Options of vectors: `seed` and sizes; of text: `root` (where the papers' corpora lie) and parts of the preparation.
    """
    if name in VECTOR_DATASETS:
        return VECTOR_DATASETS[name](options.pop("seed", 0), **options)
    return load_text(name, **options)


def train(
    model: str,
    data: str | TextDataset,
    *,
    recipe: str | Recipe | None = None,
    seed: int = 0,
    root: str | Path | None = None,
    vectors: str | Path | None = None,
    device: str = "cpu",
    state: str | Path | None = None,
    **shape: Any,
) -> Classifier:
    """Train a text classifier: `tn.train("bilstm-additive", "movie-sentences")`.

    `data` is a dataset or the name of one. `recipe` names how to train (see `trueness list recipe`); `shape` sets the
    model's sizes (`hidden=32`). With `state`, a folder, an interrupted training continues where it stopped.
    """
    from trueness.models import families

    check_device(device)
    loaded = load_text(data, root=root) if isinstance(data, str) else data
    return families.train(model, loaded, recipe=recipe, seed=seed, device=device, vectors=vectors, state=state, **shape)


def fine_tune(
    pretrained: str | Path,
    data: str | TextDataset,
    *,
    recipe: str | FineTuning = "fine-tune",
    seed: int = 0,
    root: str | Path | None = None,
    device: str = "cpu",
) -> TransformerModel:
    """A classifier from a pretrained transformer in a folder: `tn.fine_tune("minilm/", "movie-sentences")`.

    `data` is a dataset or the name of one. The epoch with the best development score is kept.
    """
    from trueness.models.finetuning import fine_tune as tune

    check_device(device)
    loaded = load_text(data, root=root) if isinstance(data, str) else data
    return tune(pretrained, loaded, recipe=recipe, seed=seed, device=device)


def load_model(path: str | Path, device: str = "cpu", *, family: Any = None) -> Classifier:
    """Any text classifier from its folder: what `save` wrote, or a transformer as `save_pretrained` leaves it.

    A model of somebody else's `family` is loaded with it given: its name or its class.
    """
    from trueness.models import families

    check_device(device)
    return families.load_model(path, device, family)


def evaluate(model: Classifier, data: TextDataset, split: str | None = None) -> dict[str, float]:
    """How well a model predicts a split: cross-entropy, accuracy, macro-F1, and for two classes AUC and F1."""
    from trueness.data.batches import EncodedSplit
    from trueness.models import evaluation

    coded = EncodedSplit(data.to_look_at(split), model.coder, model.device)
    return evaluation.evaluate(model.network, coded, len(model.classes))


def explain(
    model: Classifier,
    texts: Sequence[str] | Sequence[TextExample],
    explainer: AnyExplainer = "attention",
    *,
    others: Sequence[str] | None = None,
    target: str | int = "predicted",
    device: str | None = None,
) -> list[Explanation]:
    """One explanation per text: `tn.explain(model, ["a fine film"], "leave-one-out")`.

    `explainer` is a name, also with settings or of your own (`lime[n_samples=200]`, `mine.py:saliency`), an instance
    (`IntegratedGradients(n_steps=100)`), or a function of model, batch and target. `texts` are new texts (`others` the
    second texts of pairs) or examples of a dataset. `target` is predicted, gold (of examples only), or a class by name
    or number. With `device` the model is moved there first.
    """
    from trueness.explainers.text import target_class
    from trueness.models.network import check_outputs, inspecting

    name, method = _named(explainer)
    if device is not None:
        check_device(device)
        model.network.to(device)
    if target == "gold" and any(isinstance(text, str) for text in texts):
        raise UserError("New texts have no gold label; the target must be predicted or a class.")
    examples = _examples(model, texts, others)
    if not examples:
        return []
    chosen: Any = model.classes.index(target) if isinstance(target, str) and target in model.classes else target
    batch = model.batch(examples)
    with inspecting(model.network):
        logits = check_outputs(model.network, model.network(batch).logits)
        probability = logits.softmax(dim=-1)
    classes = target_class(logits, batch, chosen).tolist()
    scores = method.attribute(model.network, batch, chosen).tolist()
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
        )
        for row, example in enumerate(examples)
    ]


def agreement(
    model: Classifier,
    data: TextDataset | Sequence[str],
    explainers: Sequence[AnyExplainer] = ("attention", "input-x-gradient", "integrated-gradients", "leave-one-out"),
    *,
    split: str | None = None,
    instances: int = 200,
    target: str = "predicted",
    k: int = 5,
    repeat: bool = False,
) -> Result:
    """Do explanation methods agree about a model? Every pair, by several measures, against chance.

    `data` is a dataset, of whose split (test, or the only one) `instances` are drawn, evenly from its classes, or new
    texts. With `repeat` methods that draw at random are also compared with themselves: no method can be expected to
    agree more with another. Agreement is not validity.
    """
    from trueness.data.batches import EncodedSplit
    from trueness.protocols.agreement.explaining import explain_all
    from trueness.protocols.agreement.summary import agreement as compare

    methods = dict(map(_named, explainers))
    if len(methods) < 2:
        raise UserError("Agreement needs two different explainers.")
    given = drawn_examples(data.to_look_at(split), instances) if isinstance(data, TextDataset) else list(data)
    examples = _examples(model, given, None)
    if not examples:
        raise UserError("There is no text.")
    chosen: Any = model.classes.index(target) if target in model.classes else target
    coded = EncodedSplit(examples, model.coder, model.device)
    found = explain_all(model.network, coded, methods, chosen)
    again = explain_all(model.network, coded, methods, chosen, redraw=True).scores if repeat else {}
    return compare(
        found.scores,
        found.mask,
        again=again,
        k=k,
        dataset=data.name if isinstance(data, TextDataset) else f"{len(examples)} texts",
        target="predicted class" if target == "predicted" else target,
        without_sign=[one for one, method in methods.items() if not method.facts.signed],
        machinery={one: method.facts.machinery for one, method in methods.items()},
    )


def faithfulness(
    model: Classifier,
    data: TextDataset | Sequence[str],
    explainers: Sequence[AnyExplainer] = ("integrated-gradients", "leave-one-out", "random"),
    *,
    split: str | None = None,
    instances: int = 200,
) -> Result:
    """What hiding words costs a model as it is: comprehensiveness, sufficiency, and their difference, hard and soft.

    `data` as in `agreement`. Nothing is retrained: a model may find texts with hidden words unusual, see `audit` and
    `recursive_roar`. The difference of a random explanation is 0 in expectation.
    """
    from trueness.data.batches import EncodedSplit
    from trueness.models.network import inspecting
    from trueness.protocols.agreement.explaining import explain_all
    from trueness.protocols.faithfulness import faithfulness as measure
    from trueness.protocols.scoring import Cell

    given = drawn_examples(data.to_look_at(split), instances) if isinstance(data, TextDataset) else list(data)
    examples = _examples(model, given, None)
    if not examples:
        raise UserError("There is no text.")
    batch = model.batch(examples)
    with inspecting(model.network):
        predicted = model.network(batch).logits.argmax(dim=-1).tolist()
    labelled = [replace(one, label=int(label)) for one, label in zip(examples, predicted, strict=True)]
    coded = EncodedSplit(labelled, model.coder, model.device)
    found = explain_all(model.network, coded, dict(map(_named, explainers)), "gold")
    name = data.name if isinstance(data, TextDataset) else f"{len(examples)} texts"
    explained = {method: (scores, found.mask) for method, scores in found.scores.items()}
    return measure(model.network, coded, explained, Cell(name, "the model"))


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
    from trueness.protocols.attention.adversarial_attention import adversarial_attention as solve

    if not 0 <= epsilon <= 1:
        raise UserError(f"epsilon is a change of probability between 0 and 1, not {epsilon}.")
    examples = _examples(model, texts, others)
    if not examples:
        raise UserError("There is no text.")
    found = solve(model, examples, epsilon)
    return AdversarialAttention(found.records, found.scores, found.warnings, found.abstentions)


def attefa(base: Classifier, other: Classifier, data: TextDataset, split: str | None = None) -> Result:
    """Do two models predict the same while attending elsewhere? Both distances and the AtteFa score that they show."""
    from trueness.protocols.attefa.comparisons import attefa_of as compare

    if base.classes != other.classes:
        raise UserError(f"The models have different classes: {', '.join(base.classes)}; {', '.join(other.classes)}.")
    if set(base.classes) != set(data.classes):
        raise UserError(f"The models know the classes {', '.join(base.classes)}, {data.name} has others.")
    return compare(base, other, data.to_look_at(split))


def _named(explainer: AnyExplainer) -> tuple[str, Explainer]:
    """An explainer and what it is called; one that only this process knows will do."""
    from trueness.explainers import TEXT_EXPLAINERS
    from trueness.explainers.contract import as_explainer

    if isinstance(explainer, str):
        return explainer, TEXT_EXPLAINERS[explainer]
    try:
        name = TEXT_EXPLAINERS.name_of(explainer)
    except UserError:
        name = str(getattr(explainer, "__name__", type(explainer).__name__))
    return name, as_explainer(explainer, name)


def _examples(
    model: Classifier, texts: Sequence[str] | Sequence[TextExample], others: Sequence[str] | None
) -> list[TextExample]:
    """New texts are read as the model's training data were; examples are taken as they are."""
    given = [text for text in texts if isinstance(text, str)]
    return model.read(given, others) if given else [item for item in texts if not isinstance(item, str)]
