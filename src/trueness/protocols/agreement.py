"""Do explanation methods agree (Order in the Court 2022)? All pairs, several measures, against chance.

Agreement is not validity: two methods may agree and both be wrong about the model.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from trueness.data.batches import EncodedSplit
from trueness.explainers.catalogue import TEXT_EXPLAINERS, KernelShap, Lime, Target
from trueness.explainers.masking import explain_together
from trueness.models.network import TextNetwork
from trueness.protocols.attention.correlation import null_deviation
from trueness.protocols.attention.scores import NULL_BAND
from trueness.protocols.attention.summary import NEARLY_ALL
from trueness.protocols.result import Abstention, Result, ResultWarning, Score, bounds
from trueness.stats import (
    Measured,
    Undefined,
    kendall,
    mean_interval,
    pearson,
    rank_biased_overlap,
    spearman,
    top_k_agreement,
)
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    import pandas as pd

RELATED = (
    frozenset({"gradient", "input-x-gradient", "gradient@jw2019", "gradient@madsen2022", "smooth-gradient"}),
    frozenset({"integrated-gradients", "gradient-shap", "integrated-gradients@madsen2022", "input-x-gradient"}),
    frozenset({"lime", "kernel-shap", "leave-one-out-mask"}),
    frozenset({"attention", "attention-rollout", "attention-flow", "gradient-x-attention"}),
)
"""Methods that share their machinery: that they agree is partly by construction."""
_TOKENS = 1 << 12  # of one batch


def agreement(
    scores: Mapping[str, Floats],
    mask: Bools,
    *,
    k: int = 5,
    dataset: str = "the texts",
    model: str = "the model",
    target: str = "the predicted class",
) -> Result:
    """Agreement of every pair of methods, instance by instance.

    `scores` maps a method's name to (instances, tokens), `mask` marks the tokens that count. Rankings are by magnitude,
    as in the paper; the sign enters only where a name says so. Intervals are BCa over instances. Top-k measures and
    rank-biased overlap are corrected for chance: 0 for unrelated rankings, 1 at best.
    """
    import pandas as pd

    pairs = list(itertools.combinations(scores, 2))
    if not pairs:
        raise ValueError("agreement needs two methods")
    instances = len(mask)
    first, second = (np.concatenate([np.asarray(scores[pair[side]]) for pair in pairs]) for side in (0, 1))
    inside = np.tile(mask, (len(pairs), 1))
    measured = _measures(first, second, inside, k)
    names = np.repeat([" and ".join(pair) for pair in pairs], instances)
    lengths = np.tile(mask.sum(axis=1), len(pairs))
    columns = {name: values.values.filled(np.nan) for name, values in measured.items()}
    records = pd.DataFrame(
        {"instance": np.tile(np.arange(instances), len(pairs)), "pair": names, "length": lengths, **columns}
    )
    where = f"{dataset}, {model}"
    unsigned = {name for name, values in scores.items() if (np.asarray(values)[mask] >= 0).all()}
    found: list[Score] = []
    missing: list[Abstention] = []
    for number, pair in enumerate(pairs):
        rows = slice(number * instances, (number + 1) * instances)
        without = [name for name in pair if name in unsigned]
        for name, values in measured.items():
            if "sign" in name and without:
                reason = f"{' and '.join(without)} has no sign" if len(without) == 1 else "neither has a sign"
                missing.append(Abstention(quantity=name, where=f"{where}, {' and '.join(pair)}", reason=reason))
                continue
            defined = values.values[rows].compressed()
            interval = mean_interval(defined)
            if isinstance(interval.value, Undefined):
                reason = interval.value.reason.value
                missing.append(Abstention(quantity=name, where=f"{where}, {' and '.join(pair)}", reason=reason))
                continue
            fields = bounds(interval)
            left = instances - len(defined)
            notes = [
                f"undefined for {left} of {instances} instances, which are left out" if left else "",
                fields["note"],
            ]
            fields["note"] = "; ".join(note for note in notes if note)
            found.append(
                Score(
                    quantity=name,
                    dataset=dataset,
                    model=model,
                    method=" and ".join(pair),
                    variant="corrected",
                    target=target,
                    value=interval.value,
                    direction="neither",
                    null=0.0,
                    best=1.0,
                    **fields,
                )
            )
    return Result(records, tuple(found), tuple(_warnings(pairs, records, where)), tuple(missing))


def explain_all(
    network: TextNetwork, split: EncodedSplit, explainers: Sequence[str], target: Target = "predicted"
) -> tuple[dict[str, Floats], Bools]:
    """The scores (examples, tokens) of every method, and the mask; methods that mask tokens share their copies."""
    width = int(split.sizes.max())
    scores = {name: np.zeros((len(split), width)) for name in explainers}
    mask = np.zeros((len(split), width), dtype=bool)
    masking = {name: method for name in explainers if isinstance(method := TEXT_EXPLAINERS[name], Lime | KernelShap)}
    for rows, batch in split.in_order(_TOKENS):
        inside = batch.mask.cpu().numpy()
        mask[rows, : inside.shape[1]] = inside
        shared = explain_together(list(masking.values()), network, batch, target) if masking else []
        together = dict(zip(masking, shared, strict=True))
        for name in explainers:
            found = together[name] if name in together else TEXT_EXPLAINERS[name].attribute(network, batch, target)
            scores[name][rows, : inside.shape[1]] = found.double().cpu().numpy()
    return scores, mask


def _measures(a: Floats, b: Floats, mask: Bools, k: int) -> dict[str, Measured]:
    """Every measure of every row, each computed for all pairs of methods at once."""
    large = np.abs(a), np.abs(b)
    top = top_k_agreement(a, b, mask, k=np.minimum(k, mask.sum(axis=1)))
    return {
        "Kendall tau": kendall(*large, mask).statistic,
        "Spearman": spearman(*large, mask),
        "Pearson": pearson(*large, mask),
        "rank-biased overlap, corrected": rank_biased_overlap(a, b, mask).corrected,
        f"top {k} features, corrected": top.feature.corrected,
        f"top {k} features at the same rank, corrected": top.rank.corrected,
        f"top {k} features with the same sign, corrected": top.sign.corrected,
    }


def _warnings(pairs: Sequence[tuple[str, str]], records: pd.DataFrame, where: str) -> Iterator[ResultWarning]:
    yield ResultWarning(
        code="agreement-is-not-validity",
        where=where,
        message="methods that agree may both be wrong about the model, and one that disagrees may be right",
    )
    for pair in pairs:
        if any(set(pair) <= family for family in RELATED):
            message = f"{pair[0]} and {pair[1]} share their machinery: that they agree is partly by construction"
            yield ResultWarning(code="shared-machinery", where=where, message=message)
    band = NULL_BAND * null_deviation(records["length"])
    for name, rows in records.groupby("pair", sort=False):
        tau = rows["Kendall tau"]
        inside = float((tau.abs() <= band[rows.index])[tau.notna()].mean()) if tau.notna().any() else 0.0
        if inside > NEARLY_ALL:
            message = f"{name}: {inside:.0%} of the taus are what unrelated rankings of that length give"
            yield ResultWarning(code="within-null-band", where=where, message=message)
