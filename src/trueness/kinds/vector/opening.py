"""How classifiers of vectors are opened, whatever form they are in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.errors import UserError
from trueness.kinds.vector.families import VECTOR_MODELS, LinearFamily, as_vector_family, fill_linear
from trueness.models import saved
from trueness.models.families import Family, ModelsOfFamilies
from trueness.plugins import is_function

if TYPE_CHECKING:
    from trueness.kinds.vector.model import VectorModel


def recognise(folder: str | Path, family: Any = None) -> tuple[Family, dict[str, Any]]:
    """The family of a saved classifier, and its config.json; nothing is loaded."""
    return saved.recognise(folder, VECTOR_MODELS, as_vector_family, family)


class VectorModels(ModelsOfFamilies):
    """The models part of the kind `vector`."""

    families = VECTOR_MODELS

    def recognises(self, model: Any) -> bool:
        """A function of rows, or an estimator with predict_proba; folders say their kind."""
        return is_function(model) if isinstance(model, str | Path) else callable(getattr(model, "predict_proba", model))

    def open(self, model: Any, device: str = "cpu", family: Any = None) -> VectorModel:
        """A classifier on a device."""
        if isinstance(model, str | Path) and not is_function(model):
            found, config = recognise(model, family)
            opened: VectorModel = found.load(Path(model), config, device)
            return opened
        if family is not None:
            raise UserError(f"{model} is no folder: leave out family.")
        return _asked(model, device)


def _asked(model: Any, device: str) -> VectorModel:
    """A function, or an estimator of scikit-learn; one that is linear in its features can be differentiated."""
    import numpy as np

    from trueness.kinds.vector.linear import linear_form
    from trueness.kinds.vector.model import VectorModel
    from trueness.kinds.vector.network import FunctionNetwork, named
    from trueness.models.predictor import Predictor, find_predictor

    predictor = find_predictor(str(model) if isinstance(model, Path) else model)
    estimator = getattr(predictor.function, "__self__", model)
    features = getattr(estimator, "n_features_in_", getattr(predictor.function, "n_features_in_", None))
    if features is None:
        raise UserError(
            f"{predictor.name} does not say how many features it reads: give it an attribute n_features_in_, as fitted "
            "estimators of scikit-learn have."
        )
    width = int(features)
    given = getattr(estimator, "feature_names_in_", None)
    names = () if given is None else tuple(map(str, given))
    form = linear_form(estimator, width, names)
    if form is not None:
        weights, biases = form
        classes = predictor.classes or tuple(map(str, range(len(weights))))
        family = VECTOR_MODELS["logistic-regression"]
        assert isinstance(family, LinearFamily)
        network = family.build(width, len(classes))
        typical = _typical(estimator)
        if typical is not None:
            network.standardise(typical)
        fill_linear(network, weights, biases)
        return VectorModel(network.to(device).eval(), classes, names, typical is not None)
    probe = predictor(named(np.zeros((1, width)), names), "rows")
    classes = predictor.classes or tuple(map(str, range(probe.shape[1])))
    asked = FunctionNetwork(Predictor(predictor.name, predictor.function, classes), width, names)
    return VectorModel(asked.to(device).eval(), classes, names, False)


def _typical(estimator: Any) -> Any:
    """Two rows with the mean and standard deviation of the training features, where a scaler remembers them."""
    import numpy as np

    first = next((step for _, step in getattr(estimator, "steps", [])), None)
    mean, scale = getattr(first, "mean_", None), getattr(first, "scale_", None)
    return None if mean is None or scale is None else np.stack([mean - scale, mean + scale])
