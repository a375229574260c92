"""The kind `text`: texts and pairs of texts, explained word by word."""

from __future__ import annotations

from trueness.kinds.contract import Kind
from trueness.kinds.text.attention.own_trial import TRIALS
from trueness.kinds.text.audit import FOILS, PLANTER, RELATIVES, VIEW, WORDS, edit, oddities, usual
from trueness.kinds.text.data.planting import PLANTINGS
from trueness.kinds.text.data.reading import TextData
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.opening import TextModels

TEXT = Kind(
    name="text",
    words=WORDS,
    models=TextModels(),
    data=TextData(),
    explainers=TEXT_EXPLAINERS,
    usual=usual,
    foils=FOILS,
    edit=edit,
    planter=PLANTER,
    relatives=RELATIVES,
    view=VIEW,
    trials=TRIALS,
    oddities=oddities,
    plantings=PLANTINGS,
)
