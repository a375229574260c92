"""The kind `image`: images of one size, explained pixel by pixel or square by square."""

from __future__ import annotations

from trueness.kinds.contract import Kind, known_later
from trueness.kinds.image.audit import FOILS, PLANTER, RELATIVES, VIEW, WORDS, edit, usual
from trueness.kinds.image.data.artefacts import ARTEFACTS
from trueness.kinds.image.data.reading import ImageData
from trueness.kinds.image.explainers.catalogue import IMAGE_EXPLAINERS
from trueness.kinds.image.explaining import ImageExplaining
from trueness.kinds.image.models.opening import ImageModels

IMAGE = Kind(
    name="image",
    words=WORDS,
    models=ImageModels(),
    data=ImageData(),
    explainers=IMAGE_EXPLAINERS,
    usual=usual,
    explaining=ImageExplaining(),
    dry_run="ground-truth-images",
    foils=FOILS,
    edit=edit,
    planter=PLANTER,
    relatives=RELATIVES,
    view=VIEW,
    known=known_later(
        "trueness.kinds.image.known",
        {
            "squares add up": "add_up",
        },
    ),
    plantings=ARTEFACTS,
)
