"""What an audit has to know of texts: the harmless edit, planted words, models like the audited one, how texts look."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.errors import UserError
from trueness.kinds.contract import Content, Planted, Purpose, Words
from trueness.kinds.text.data.examples import TextExample, TextExamples
from trueness.plugins import is_function
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    from trueness.kinds.text.data.dataset import TextDataset
    from trueness.kinds.text.models.classifier import Classifier

WORDS = Words("text", "texts", "word", "words", "a full stop is added or taken away")
FOILS = ("random", "blurred[leave-one-out]", "token-number")
"""What knows nothing, what points less exactly than it could, and what looks at the words alone: all must fail."""
_STOPS = (".", "!", "?")
_SETTABLE = ("embedding", "hidden", "activation", "normaliser")
"""What of a network's shape a model like it takes over."""
_FROM_SCRATCH = (6.0, 25.0)
"""Passes until planted evidence is learned, and until what the audited model says is."""
_LONGER = {"default": "dry-run", "default-pair": "dry-run-pair"}
"""Recipes for those who do not learn by the usual one; fine-tuning for longer would break any budget."""


def usual(model: Path | str, family: Any = None) -> list[str]:
    """A good set: attention and gradients where the model has them, and methods that hide words."""
    from trueness.kinds.text.models.opening import recognise

    hiding = ["leave-one-out", "lime[n_samples=200]"]
    if is_function(model):
        return [*hiding, "kernel-shap[n_samples=200]", "occlusion"]
    found, _ = recognise(model, family)
    if found.attends == "layers":  # each look is dear
        hiding = ["leave-one-out", "lime[n_samples=100]"]
    attention = {"one": ["attention"], "layers": ["attention"]}.get(found.attends, [])
    return [*attention, "gradient", "input-x-gradient", "integrated-gradients", *hiding]


def edit(examples: Sequence[TextExample]) -> tuple[TextExamples, list[int]]:
    """Each text with a full stop at its end, or without the one it has; and how many words both have."""
    changed = [edited(one) for one in examples]
    kept = []
    for before, after in zip(examples, changed, strict=True):
        same = len(before.tokens) == len(after.tokens) and before.tokens[-1] != after.tokens[-1]
        kept.append(min(len(before.tokens), len(after.tokens)) - same)
    return TextExamples(changed), kept


def edited(example: TextExample) -> TextExample:
    """The same text with a full stop at its end, or without the one it has; marks of evidence are not kept."""
    *rest, last = example.tokens
    if last in _STOPS and rest:
        tokens = tuple(rest)
    elif last.endswith(_STOPS) and last[:-1]:
        tokens = (*rest, last[:-1])
    else:
        tokens = (*example.tokens, ".")
    return replace(example, tokens=tokens, evidence=None, decoys=None)


def oddities(model: Classifier, examples: Sequence[TextExample]) -> dict[str, int]:
    """Texts that are cut off, and texts of which the model knows nothing."""
    return {
        "are longer than the model reads: their end was cut off": sum(
            "cut off" in model.unusual(one) for one in examples
        ),
        "have no word that the model knows": sum(not any(model.known(one)) for one in examples),
    }


class WordPlanter:
    """Plants words of the texts as evidence, with words that only look like it beside them."""

    speaks = True

    def plant(self, model: Classifier, dataset: TextDataset, seed: int) -> Planted:
        """Common words of the texts; where there are too few, made-up ones that look like them."""
        from trueness.data.dataset import with_splits
        from trueness.kinds.text.data.planting import bound, made_up_words, own_words, plant, reassignment

        def number_of(word: str) -> int | None:
            coded = model.coder.code(TextExample((word,), 0))
            inside = coded.explained or [0 < place < len(coded.tokens) - 1 for place in range(len(coded.tokens))]
            numbers = [number for number, explained in zip(coded.tokens, inside, strict=True) if explained]
            return int(numbers[0]) if len(numbers) == 1 and model.known(TextExample((word,), 0))[0] else None

        texts = with_splits(dataset)
        try:
            planting, texts = own_words(texts, number_of, seed)
        except UserError:
            planting = made_up_words(texts, seed)
        return Planted(plant(texts, planting, seed=seed), bound(reassignment(len(texts.classes))), "words")

    def where(
        self,
        model: Classifier,
        examples: Sequence[TextExample],
        about: Mapping[str, Any],  # noqa: ARG002  # each text has its own marks
    ) -> tuple[Bools, Bools]:
        """(texts, tokens) planted words and decoys; a marked word marks all of its parts."""
        from trueness.kinds.text.evidence import marks_of

        width = int(model.coded(examples).sizes.max())
        return marks_of(model.coder, examples, "evidence", width), marks_of(model.coder, examples, "decoys", width)


class TextRelatives:
    """Classifiers of the audited one's family, from scratch or fine-tuned from its folder."""

    def passes(self, like: Mapping[str, Any]) -> tuple[float, float]:
        """Fine-tuning begins near the end; from scratch it takes far longer."""
        return (6.0, 3.0) if like["pretrained"] is not None else _FROM_SCRATCH

    def like(self, model: Path | str, family: Any = None) -> dict[str, Any] | None:
        """A folder's family and shape; a function has nothing to train."""
        from trueness.kinds.text.models.families import TEXT_MODELS
        from trueness.kinds.text.models.opening import recognise

        if is_function(model):
            return None
        found, config = recognise(model, family)
        if found.from_folder:
            recipes, shape = {"planted": "planted", "relative": "fine-tune"}, {}
        else:
            network = config.get("network")
            if not isinstance(network, Mapping):
                raise UserError(f"{Path(model) / 'config.json'} does not say what shape the network has.")
            pair = "-pair" if network.get("head", "linear") != "linear" else ""
            recipes = {"planted": f"dry-run{pair}", "relative": f"default{pair}"}
            shape = {name: network[name] for name in _SETTABLE if name in network}
        folder = Path(model) if found.from_folder else None
        name = TEXT_MODELS.reference(found.name)
        return {"family": name, "recipes": recipes, "shape": shape, "pretrained": folder}

    def train(
        self,
        like: Mapping[str, Any],
        dataset: TextDataset,
        seed: int,
        *,
        purpose: Purpose,
        epochs: int,
        device: str,
        longer: bool = False,
    ) -> Classifier | None:
        """By the recipe for dry runs if evidence is planted, else by the usual one, or a longer one."""
        from trueness.kinds.text.models.families import TEXT_MODELS
        from trueness.models.recipes import FINE_TUNINGS, RECIPES

        recipe: Any = like["recipes"]["planted" if purpose == "planted" else "relative"]
        if longer:
            if recipe not in _LONGER:
                return None
            recipe = _LONGER[recipe]
        if epochs:
            recipe = replace((RECIPES if like["pretrained"] is None else FINE_TUNINGS)[recipe], epochs=epochs)
        how: dict[str, Any] = {"recipe": recipe, "device": device, **like["shape"]}
        if purpose == "companion":
            how["views"] = [lambda name, split: split.hidden_at_random(seed + (name != "train"))]
        with tempfile.TemporaryDirectory() as folder:
            pretrained = like["pretrained"]
            if purpose == "stranger" and pretrained is not None:  # it would remember what the audited model learned
                pretrained = _forgotten(pretrained, device, Path(folder) / "model")
            trained: Classifier
            (trained,) = TEXT_MODELS[like["family"]].train(dataset, [seed], pretrained=pretrained, **how)
        return trained

    def retraining(self, like: Mapping[str, Any]) -> dict[str, Any]:
        """By the usual recipe."""
        return {
            "model": like["family"],
            "recipe": like["recipes"]["relative"],
            "pretrained": like["pretrained"],
            "shape": dict(like["shape"]),
        }


def _forgotten(pretrained: Path, device: str, folder: Path) -> Path:
    from trueness.kinds.text.models.opening import load_model
    from trueness.protocols.randomisation import layers_of, randomised

    classifier = load_model(pretrained, device)
    with randomised(layers_of(classifier.network), 0):
        return classifier.save(folder)


class TextView:
    """A text is shown as its words."""

    def contents(self, model: Classifier, examples: Sequence[TextExample]) -> list[Content]:  # noqa: ARG002
        """Words as they stand; of a pair the second text stands beside."""
        return [Content(one.tokens, beside=" ".join(one.tokens_b or ())) for one in examples]

    def scores(self, model: Classifier, examples: Sequence[TextExample], row: int, scores: Floats) -> list[float]:
        """One score for each word, from those of its parts."""
        return [float(score) for score in model.word_scores(examples[row], scores.tolist())]


PLANTER, RELATIVES, VIEW = WordPlanter(), TextRelatives(), TextView()
