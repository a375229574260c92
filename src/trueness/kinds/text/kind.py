"""The kind `text`: texts and pairs of texts, explained word by word."""

from __future__ import annotations

from typing import Any

from trueness.kinds.contract import Kind, known_later
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
    known=known_later(
        "trueness.kinds.text.known",
        {
            "words add up": "add_up",
            "half of each class": "half",
            "longer texts": "long",
            "“not” in 40 %": "not_40",
            "“not” in 20 %": "not_20",
            "shortcut in 60 %": "shortcut_60",
            "shortcut in 30 %": "shortcut_30",
        },
    ),
    trials=TRIALS,
    oddities=oddities,
    plantings=PLANTINGS,
    outlines=outlines,
)
