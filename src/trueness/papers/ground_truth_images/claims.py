"""The conclusions of section 5 of Zhou et al. 2022, checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trueness.papers.ground_truth_images.summary import ArtefactCell
from trueness.protocols.claim_helpers import Finding, claim, decide, mostly, shown
from trueness.protocols.result import Claim
from trueness.stats import t_interval, within

PERFECT = 0.95
"""An attribution share above this is about 1: the models err in as many cases."""
CLEAR = 0.5
"""A rank correlation beyond this is a clear trend; one that surely lies within is none."""
FOILS = ("random", "edges")
SHAP = "gradient-shap"


def _base(method: str) -> str:
    """Without settings: what was asked with fewer samples is the same method."""
    return method.partition("[")[0]


def claims(cells: Sequence[ArtefactCell]) -> Iterator[Claim]:
    """What the paper concludes of its four questions."""
    whole = [cell for cell in cells if cell.dataset.endswith("all artefacts")] or list(cells)
    single = [cell for cell in cells if not cell.dataset.endswith("all artefacts")]
    reach = []
    for cell in whole:
        if cell.facts:
            above = np.array([fact["accuracy"] > PERFECT for fact in cell.facts], dtype=float)
            numbers = f"{int(above.sum())} of {len(above)} runs above 95 %"
            reach.append((cell.where, (decide(within(t_interval(above), 0, 1), above=0.5), numbers)))
    yield from claim("Models learn the artefacts: most runs reach over 95 % test accuracy", reach, "kinds of model")
    perfect = [
        (f"{cell.where}, {method}", (decide(interval, below=PERFECT), f"attribution share {shown(interval)}"))
        for cell in whole
        for method in cell.methods
        if _base(method) not in FOILS and len(cell.by_seed(method, "attribution share"))
        for interval in [within(t_interval(cell.by_seed(method, "attribution share")), 0, 1)]
    ]
    yield from claim("No saliency map gives the region all of its attribution (about 1)", perfect, "methods")
    yield from _best(whole)
    yield from _presence([cell for cell in single if cell.dataset.endswith("with watermark")])
    yield from _trends(single)


def _best(cells: Sequence[ArtefactCell]) -> Iterator[Claim]:
    """Runs are paired: the same models are explained by all methods."""
    found = []
    for cell in cells:
        ours = [name for name in cell.methods if _base(name) == SHAP and len(cell.by_seed(name, "attribution share"))]
        for method in cell.methods if ours else []:
            if _base(method) in (SHAP, *FOILS):
                continue
            gap = (cell.by_seed(ours[0], "attribution share") - cell.by_seed(method, "attribution share")).dropna()
            if len(gap):
                interval = t_interval(gap)
                found.append((f"{cell.where}, {method}", (decide(interval, above=0), f"leads by {shown(interval)}")))
    yield from claim("SHAP has the largest attribution share of all saliency maps", found, "comparisons")


def _presence(cells: Sequence[ArtefactCell]) -> Iterator[Claim]:
    found = []
    for cell in cells:
        for method in cell.methods:
            gap = (cell.by_seed(method, "attribution share", 1) - cell.by_seed(method, "attribution share", 0)).dropna()
            if _base(method) not in FOILS and len(gap):
                interval = t_interval(gap)
                found.append((f"{cell.where}, {method}", (decide(interval, above=0), f"more by {shown(interval)}")))
    yield from mostly("The presence of a watermark is better found than its absence", found, "methods")


def _trends(cells: Sequence[ArtefactCell]) -> Iterator[Claim]:
    """The three questions about trends: SHAP on the watermark follows, the others do not."""
    texts = {
        "accuracy": ("rises with test accuracy", 1),
        "visibility": ("rises with visibility", 1),
        "correlation": ("falls as labels keep more of the original", -1),
    }
    for question, (words, sign) in texts.items():
        ours: list[tuple[str, Finding]] = []
        others: list[tuple[str, Finding]] = []
        for cell in cells:
            for method in cell.methods:
                interval = cell.trend(question, method)
                if interval.n == 0 or _base(method) in FOILS:
                    continue
                place, said = f"{cell.where}, {method}", f"rank correlation {shown(interval)}"
                if _base(method) == SHAP and cell.dataset.endswith("with watermark"):
                    ours.append((place, (decide(interval, **{"above" if sign > 0 else "below": 0.0}), said)))
                else:
                    none = decide(interval, **{"below" if sign > 0 else "above": sign * CLEAR})
                    others.append((place, (none, said)))
        yield from claim(f"The attribution share of SHAP on the watermark {words}", ours, "places")
        text = f"No attribution share but that of SHAP on the watermark clearly {words} (rank correlation of {CLEAR})"
        yield from claim(text, others, "places")
