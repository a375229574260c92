"""How classifiers of texts are opened, whatever form they are in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.boundary import is_file, read_settings
from trueness.errors import UserError
from trueness.kinds.text.models.families import TEXT_MODELS, as_family, family_of
from trueness.models import saved
from trueness.models.families import Family, ModelsOfFamilies
from trueness.plugins import is_function

if TYPE_CHECKING:
    from trueness.engine import Stored
    from trueness.kinds.text.models.classifier import Classifier


def recognise(folder: str | Path, family: Any = None) -> tuple[Family, dict[str, Any]]:
    """The family of a saved classifier, and its config.json; nothing is loaded."""
    return saved.recognise(folder, TEXT_MODELS, as_family, family)


def load_model(folder: str | Path, device: str = "cpu", family: Any = None) -> Classifier:
    """Any saved text classifier; nothing in its folder is executed. Somebody else's family is given: name or class."""
    found, config = recognise(folder, family)
    opened: Classifier = found.load(Path(folder), config, device)
    return opened


class TextModels(ModelsOfFamilies):
    """The models part of the kind `text`."""

    families = TEXT_MODELS

    def recognises(self, model: Any) -> bool:
        """A folder, (model, tokenizer), a pipeline of either library, a function or an object with predict_proba."""
        if isinstance(model, str | Path):
            if is_function(model):
                return True
            config = read_settings(Path(model) / "config.json") if is_file(Path(model) / "config.json") else None
            if not isinstance(config, dict) or _generates(config.get("architectures")):
                return False
            return any(TEXT_MODELS[name].recognises(config) for name in TEXT_MODELS)
        if (pair := _with_tokenizer(model)) is not None:
            return not _generates([type(pair[0]).__name__])
        # Estimators of scikit-learn that know a number of features read rows of numbers.
        return callable(getattr(model, "predict_proba", model)) and not hasattr(model, "n_features_in_")

    def modules(self, model: Any) -> Sequence[str]:
        """Of a folder of transformers also the module of its architecture."""
        if not isinstance(model, str | Path) or is_function(model) or not is_file(Path(model) / "config.json"):
            return ()
        config = read_settings(Path(model) / "config.json")
        told = config.get("model_type") if isinstance(config, dict) else None
        if not (isinstance(told, str) and re.fullmatch(r"[a-z][a-z0-9_-]*", told)):
            return ("trueness.kinds.text.models.classifier",)
        name = told.replace("-", "_")
        return ("trueness.kinds.text.models.transformer_files", f"transformers.models.{name}.modeling_{name}")

    def open(self, model: Any, device: str = "cpu", family: Any = None) -> Classifier:
        """A classifier on a device."""
        if isinstance(model, str | Path) and not is_function(model):
            return load_model(model, device, family)
        if family is not None:
            raise UserError(f"{model} is no folder: leave out family.")
        pair = _with_tokenizer(model)
        if pair is not None:
            from trueness.kinds.text.models.transformer_files import of_pair

            return of_pair(*pair, device)
        from trueness.kinds.text.models.black_box import load_black_box

        return load_black_box(str(model) if isinstance(model, Path) else model)

    def unpack(self, stored: Stored, name: int | str, device: str) -> Classifier:
        """One of them again."""
        found: Classifier = family_of(stored).read(stored, name, device)
        return found


def _generates(architectures: Any) -> bool:
    """Whether it is a language model, which writes texts and gives none a class."""
    ends = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForSeq2SeqLM")
    return isinstance(architectures, list) and any(str(name).endswith(ends) for name in architectures)


def _with_tokenizer(model: Any) -> tuple[Any, Any] | None:
    """A transformer and its tokeniser, as a pair or as a pipeline has them."""
    network, tokenizer = (
        model
        if isinstance(model, tuple) and len(model) == 2
        else (getattr(model, "model", None), getattr(model, "tokenizer", None))
    )
    return (network, tokenizer) if hasattr(tokenizer, "pad_token_id") and hasattr(network, "config") else None
