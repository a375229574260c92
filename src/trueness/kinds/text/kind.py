"""The kind `text`: texts and pairs of texts, explained word by word."""

from __future__ import annotations

from typing import Any

from trueness.kinds.contract import Kind
from trueness.kinds.text.attention.own_trial import TRIALS
from trueness.kinds.text.audit import FOILS, PLANTER, RELATIVES, VIEW, WORDS, edit, oddities, usual
from trueness.kinds.text.data.planting import PLANTINGS
from trueness.kinds.text.data.reading import TextData
from trueness.kinds.text.data.splitting import write_splits
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.explaining import TextAttacks, TextExplaining
from trueness.kinds.text.models.opening import TextModels


def outlines(*given: Any) -> list[float]:
    """See `mask_only`."""
    from trueness.kinds.text.outlines import mask_only

    return mask_only(*given)


TEXT = Kind(
    name="text",
    words=WORDS,
    models=TextModels(),
    data=TextData(),
    explainers=TEXT_EXPLAINERS,
    usual=usual,
    explaining=TextExplaining(),
    attacks=TextAttacks(),
    write_splits=write_splits,
    dry_run="dry-run",
    foils=FOILS,
    edit=edit,
    planter=PLANTER,
    relatives=RELATIVES,
    view=VIEW,
    trials=TRIALS,
    oddities=oddities,
    plantings=PLANTINGS,
    outlines=outlines,
)
