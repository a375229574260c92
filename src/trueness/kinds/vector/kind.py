"""The kind `vector`: rows of numbers, explained feature by feature."""

from __future__ import annotations

from trueness.explainers.catalogue import add_common, add_later
from trueness.explainers.contract import explainers_of
from trueness.kinds.contract import Kind, known_later
from trueness.kinds.vector.audit import FOILS, PLANTER, RELATIVES, VIEW, WORDS, edit, usual
from trueness.kinds.vector.explaining import VectorExplaining
from trueness.kinds.vector.opening import VectorModels
from trueness.kinds.vector.reading import VectorData

EXPLAINERS = explainers_of("vector", "trueness.vector_explainers")
add_common(EXPLAINERS)
add_later(
    EXPLAINERS,
    "coefficient",
    "trueness.kinds.vector.coefficients:Coefficient",
    "coefficients of a linear model, the same for every example; rankings use the magnitude",
)

VECTOR = Kind(
    name="vector",
    words=WORDS,
    models=VectorModels(),
    data=VectorData(),
    explainers=EXPLAINERS,
    usual=usual,
    explaining=VectorExplaining(),
    foils=FOILS,
    edit=edit,
    planter=PLANTER,
    relatives=RELATIVES,
    view=VIEW,
    known=known_later(
        "trueness.kinds.vector.known",
        {
            "features add up": "add_up",
            "three classes": "three",
        },
    ),
)
