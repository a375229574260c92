"""The conclusions of Order in the Court (2022), checked."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from trueness.protocols.agreement.cell import AgreementCell
from trueness.protocols.agreement.measures import TAU
from trueness.protocols.claim_helpers import Finding, claim, decide, shown
from trueness.protocols.result import Claim, Variant
from trueness.stats import Interval, mean_interval
from trueness.stats.undefined import Floats

STRONG = 0.5
"""A mean tau from here on would be strong agreement: three of four pairs of tokens in the same order."""
ATTENTION = ("attention", "attention-rollout", "attention-flow")
ATTRIBUTION = ("lime", "integrated-gradients", "deep-lift", "gradient-shap", "deep-shap")
"""The feature attribution methods of the paper."""
IN_WORDS: dict[Variant, str] = {"corrected": "corrected methods", "as-published": "the paper's computations"}


def claims(cells: Sequence[AgreementCell]) -> Iterator[Claim]:
    """Those that the cells can speak about, for each variant."""
    for variant, words in IN_WORDS.items():
        some = [cell for cell in cells if cell.variant == variant]
        low = ((cell.where, _attention_is_apart(cell)) for cell in some)
        text = f"Attention does not agree strongly (tau {STRONG}) with any of the paper's attribution methods"
        yield from claim(f"{text} ({words})", low, "datasets and models")
        by_dataset = ((name, _transformer_lower(some, name)) for name in dict.fromkeys(cell.dataset for cell in some))
        yield from claim(f"Methods agree less about the transformer than about the BiLSTM ({words})", by_dataset)
        by_model = ((name, _pairs_lower(some, name)) for name in dict.fromkeys(cell.model for cell in some))
        yield from claim(f"Methods agree less on pairs of texts than on single texts ({words})", by_model, "models")


def _attention_is_apart(cell: AgreementCell) -> Finding | None:
    found = [
        (f"{one} and {other}", cell.interval(cell.pair(one, other), TAU))
        for one, other in itertools.product(ATTENTION, ATTRIBUTION)
        if {one, other} <= set(cell.methods) and cell.pair(one, other)[TAU].notna().any()
    ]
    if not found:
        return None
    name, most = max(found, key=lambda pair: float(pair[1].value))
    return decide(most, below=STRONG), f"at most {shown(most)}, {name}"


def _means(cell: AgreementCell, methods: Sequence[str]) -> pd.Series:
    """Mean tau of each text over seeds and over all pairs of these attribution methods."""
    chosen = cell.records[cell.records["first"].isin(methods) & cell.records["second"].isin(methods)]
    return cell.by_text(chosen)


def _common(cells: Sequence[AgreementCell]) -> list[str]:
    """Attention and attribution methods that all cells have."""
    return [name for name in (*ATTENTION, *ATTRIBUTION) if all(name in cell.methods for cell in cells)]


def _transformer_lower(cells: Sequence[AgreementCell], dataset: str) -> Finding | None:
    here = {cell.model: cell for cell in cells if cell.dataset == dataset}
    transformer = here.get("transformer")
    recurrent = next((cell for name, cell in here.items() if name.startswith("bilstm")), None)
    if transformer is None or recurrent is None:
        return None
    methods = _common([transformer, recurrent])
    if len(methods) < 2:
        return None
    change = (_means(transformer, methods) - _means(recurrent, methods)).dropna()
    interval = mean_interval(change.to_numpy())
    return decide(interval, below=0.0), f"difference {shown(interval)} over {len(methods)} methods"


def _pairs_lower(cells: Sequence[AgreementCell], model: str) -> Finding | None:
    here = [cell for cell in cells if cell.model == model]
    methods = _common(here)
    kinds = [[cell for cell in here if cell.pairs_of_texts is pairs] for pairs in (True, False)]
    if not all(kinds) or len(methods) < 2:
        return None
    interval = _difference([[_means(cell, methods).dropna().to_numpy() for cell in kind] for kind in kinds])
    numbers = f"difference {shown(interval)}, {len(kinds[0])} datasets of pairs and {len(kinds[1])} of single texts"
    return decide(interval, below=0.0), numbers


def _difference(sides: Sequence[Sequence[Floats]]) -> Interval:
    """Mean over datasets of one side minus that of the other; the interval is over texts, for these datasets."""
    means = [float(np.mean([values.mean() for values in side])) for side in sides]
    variance = sum(float(values.var(ddof=1)) / len(values) / len(side) ** 2 for side in sides for values in side)
    value, half = means[0] - means[1], 1.96 * float(np.sqrt(variance))
    size = sum(len(values) for side in sides for values in side)
    return Interval(value, value - half, value + half, n=size, clusters=size, level=0.95)
