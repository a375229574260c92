"""Objects of well-known libraries that cannot be explained as they are, each with what to do."""

from __future__ import annotations

from typing import Any

from trueness.errors import UserError

_TASKS = {
    "ForTokenClassification": "labels every token, and an explanation is of one decision about a whole text",
    "ForQuestionAnswering": "marks a passage, and an explanation is of a choice between classes",
    "ForMaskedLM": "is a language model without a classification head",
}


def check_suitable(model: Any) -> None:
    """UserError for a regressor, several labels at once, token labels, or a classifier without probabilities."""
    inside = model[0] if isinstance(model, tuple) and model else model
    if not hasattr(inside, "parameters"):  # a pipeline; networks may have a part of that name
        inside = getattr(inside, "model", inside)
    if hasattr(inside, "save_pretrained"):
        _check_transformer(inside, alone=inside is model)
    elif hasattr(model, "get_params") and hasattr(model, "fit"):
        _check_estimator(model)


def _check_transformer(model: Any, *, alone: bool) -> None:
    name, config = type(model).__name__, getattr(model, "config", None)
    for ending, what in _TASKS.items():
        if name.endswith(ending):
            raise UserError(f"{name} {what}: give a sequence classifier, or train one with trueness fine-tune.")
    kind = getattr(config, "problem_type", None)
    if kind == "regression" or getattr(config, "num_labels", 2) == 1:
        raise UserError(
            f"This {name} predicts a number, and an explanation is of a choice between classes: train one with two "
            "classes or more."
        )
    if kind == "multi_label_classification":
        raise UserError(
            f"This {name} decides about several labels at once: explain one of them, with a classifier of its own."
        )
    if alone:
        raise UserError(
            f"{name} lacks its tokeniser: give (model, tokenizer), or save both into one folder and give "
            "tn.load_model(folder)."
        )


def _check_estimator(model: Any) -> None:
    from sklearn.base import is_regressor

    name = type(model).__name__
    if is_regressor(model):
        raise UserError(
            f"{name} predicts numbers, and an explanation is of a choice between classes: give a classifier."
        )
    if getattr(model, "multilabel_", False):
        raise UserError(
            f"This {name} decides about several labels at once: explain one of them, with a classifier of its own."
        )
    if not hasattr(model, "predict_proba"):
        raise UserError(
            f"{name} gives no probabilities: wrap it in CalibratedClassifierCV of scikit-learn, fit that, and give it."
        )
