"""The conclusions of Order in the Court (2022), checked."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from trueness.protocols.agreement.cell import AgreementCell
from trueness.protocols.agreement.measures import TAU
from trueness.protocols.claim_helpers import Finding, claim, decide, ends, shown, together
from trueness.protocols.result import Claim, Variant
from trueness.stats import Interval, Undefined, crossed_difference, crossed_interval

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
        alone = ((cell.where, _all_apart(cell)) for cell in some if cell.model == "transformer")
        yield from claim(f"No two of the paper's methods agree strongly about the transformer ({words})", alone)
        by_dataset = ((name, _transformer_lower(some, name)) for name in dict.fromkeys(cell.dataset for cell in some))
        yield from claim(f"Methods agree less about the transformer than about the BiLSTM ({words})", by_dataset)
        by_model = ((name, _pairs_lower(some, name)) for name in dict.fromkeys(cell.model for cell in some))
        yield from claim(f"Methods agree less on pairs of texts than on single texts ({words})", by_model, "models")


def _attention_is_apart(cell: AgreementCell) -> Finding | None:
    return _apart(cell, itertools.product(ATTENTION, ATTRIBUTION))


def _all_apart(cell: AgreementCell) -> Finding | None:
    return _apart(cell, itertools.combinations((*ATTENTION, *ATTRIBUTION), 2))


def _apart(cell: AgreementCell, pairs: Iterable[tuple[str, str]]) -> Finding | None:
    """Whether none of the pairs agrees strongly: it fails as soon as one surely does."""
    found: dict[str, Interval] = {}
    for one, other in pairs:
        known = cell.pair(one, other).dropna(subset=[TAU])
        if len(known):
            # n counts the seeds that this pair has, also where there is one.
            found[f"{one} and {other}"] = replace(cell.interval(known), n=known["seed"].nunique())
    if not found:
        return None
    name, most = max(found.items(), key=lambda pair: float(pair[1].value))
    holds = together([decide(interval, below=STRONG) for interval in found.values()])
    return holds, f"at most {shown(most)}, {name}"


def _common(cells: Sequence[AgreementCell]) -> list[str]:
    """Attention and attribution methods that all cells have of nearly all texts: each speaks of the same pairs."""
    return [name for name in (*ATTENTION, *ATTRIBUTION) if all(name in cell.on_all_texts for cell in cells)]


def _transformer_lower(cells: Sequence[AgreementCell], dataset: str) -> Finding | None:
    here = {cell.model: cell for cell in cells if cell.dataset == dataset}
    transformer = here.get("transformer")
    recurrent = next((cell for name, cell in here.items() if name.startswith("bilstm")), None)
    if transformer is None or recurrent is None:
        return None
    methods = _common([transformer, recurrent])
    if len(methods) < 2:
        return None
    both = transformer, recurrent
    one, other = (cell.attribution(methods) for cell in both)
    texts = one.columns.intersection(other.columns)
    interval = _over_seeds(crossed_difference(one[texts], other[texts]), *both)
    return decide(interval, below=0.0), f"difference {shown(interval)} over {len(methods)} methods"


def _pairs_lower(cells: Sequence[AgreementCell], model: str) -> Finding | None:
    here = [cell for cell in cells if cell.model == model]
    methods = _common(here)
    kinds = [[cell for cell in here if cell.pairs_of_texts is pairs] for pairs in (True, False)]
    if not all(kinds) or len(methods) < 2:
        return None
    parts = [[crossed_interval(cell.attribution(methods).to_numpy()) for cell in kind] for kind in kinds]
    if any(isinstance(one.value, Undefined) for side in parts for one in side):
        return None
    interval = _over_seeds(_difference(parts), *here)
    numbers = f"difference {shown(interval)}, {len(kinds[0])} datasets of pairs and {len(kinds[1])} of single texts"
    return decide(interval, below=0.0), numbers


def _difference(sides: Sequence[Sequence[Interval]]) -> Interval:
    """Mean over datasets of one side minus that of the other; over seeds and texts, for these datasets.

    Variances of independent parts add; degrees of freedom are Welch's, of each part those of its seeds.
    """
    from scipy.special import stdtrit

    means = [float(np.mean([float(one.value) for one in side])) for side in sides]
    parts = [(one, len(side)) for side in sides for one in side]
    freedom = np.array([max(one.n - 1, 1) for one, _ in parts])
    halves = np.array([(ends(one)[1] - float(one.value)) / number for one, number in parts])
    variances = (halves / stdtrit(freedom, 0.975)) ** 2
    together = float(variances.sum() ** 2 / (variances**2 / freedom).sum()) if variances.any() else 1.0
    value, half = means[0] - means[1], float(stdtrit(together, 0.975) * np.sqrt(variances.sum()))
    return Interval(value, value - half, value + half, n=len(parts), clusters=len(parts), level=0.95)


def _over_seeds(interval: Interval, *cells: AgreementCell) -> Interval:
    """The same with n counting seeds, also where there is one: of a single model nothing general can be told."""
    return replace(interval, n=min(cell.seeds for cell in cells))
