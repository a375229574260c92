"""Scores, noise ceilings, differences, groups and warnings of agreement."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import pandas as pd

from trueness.protocols.agreement.cell import DRAW, SEED, AgreementCell
from trueness.protocols.agreement.measures import TAU, measure_names, own_records, pair_records
from trueness.protocols.result import Abstention, Result, ResultWarning, Score
from trueness.protocols.scoring import ACCURACY, Cell, Quantity, of_each
from trueness.protocols.similarity import NULL_BAND, UNRELATED, null_deviation
from trueness.stats import t_interval
from trueness.stats.undefined import Bools, Floats

Said = TypeVar("Said", ResultWarning, Abstention)

SATURATED = 0.5
"""Attention flow that says no more than the first layer's attention for more than this share of units is not flow."""


def agreement(
    scores: Mapping[str, Floats],
    mask: Bools,
    *,
    again: Mapping[str, Floats] | None = None,
    k: int = 5,
    dataset: str = "the texts",
    model: str = "the model",
    target: str = "the predicted class",
    without_sign: Sequence[str] = (),
    machinery: Mapping[str, Sequence[str]] | None = None,
) -> Result:
    """Agreement of every pair of methods on one model, instance by instance.

    `scores` maps a method's name to (instances, units), `mask` marks the units that count; `again` holds the scores
    of methods that draw at random, with other draws: the ceiling that noise sets. Methods `without_sign` are not asked
    about theirs; those that share `machinery` agree partly by construction. Intervals are Student's over instances:
    they speak of this model, not of the same one trained again.
    """
    if len(scores) < 2:
        raise ValueError("agreement needs two methods")
    cell = AgreementCell(
        dataset,
        model,
        "corrected",
        pair_records(scores, mask, k).assign(seed=0),
        own_records(scores, again or {}, mask).assign(against=DRAW, seed=0, other=0),
        tuple(without_sign),
        target=target,
        machinery=machinery or {},
    )
    return summarise([cell])


def summarise(cells: Sequence[AgreementCell], tables: Mapping[str, pd.DataFrame] | None = None) -> Result:
    """The result of one or of many cells."""

    def labelled(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
        filled = [
            frame.assign(**cell.place, variant=cell.variant)
            for cell, frame in zip(cells, frames, strict=True)
            if len(frame)
        ]
        return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()

    records = labelled([cell.records for cell in cells])
    records.insert(0, "pair", records["first"] + " and " + records["second"])
    drawn = {
        "differences": labelled([cell.differences() for cell in cells]),
        "own": labelled([cell.own for cell in cells]),
        "groups": labelled([pd.DataFrame({"methods": [", ".join(some) for some in cell.groups()]}) for cell in cells]),
        **(tables or {}),
    }
    return Result(
        records=records,
        scores=of_each(cells, cell_scores),
        warnings=(_VALIDITY, *_merged(of_each(cells, warnings))),
        abstentions=tuple(_merged(of_each(cells, abstentions))),
        tables={name: table for name, table in drawn.items() if len(table)},
    )


def _merged(items: Sequence[Said]) -> list[Said]:
    """What is said of several cells in the same words is said once."""
    where: dict[tuple[str, ...], list[Said]] = {}
    for item in items:
        same = tuple(str(value) for name, value in item.model_dump().items() if name != "where")
        where.setdefault(same, []).append(item)
    return [
        some[0].model_copy(update={"where": "; ".join(dict.fromkeys(item.where for item in some))})
        for some in where.values()
    ]


def cell_scores(cell: AgreementCell) -> Iterator[Score]:
    """Every pair and measure, then each method against itself."""
    measures = measure_names(cell.records)
    parts: list[tuple[str, str, pd.DataFrame]] = []
    for one, other in itertools.combinations(cell.methods, 2):
        rows = cell.pair(one, other)
        with_sign = not {one, other} & set(cell.without_sign)
        parts += [(f"{one} and {other}", name, rows) for name in measures if "sign" not in name or with_sign]
    for against in (DRAW, SEED):
        own = cell.own[cell.own["against"] == against]
        for method in cell.methods:
            rows = own[own["method"] == method]
            if len(rows):
                parts.append((f"{method} and itself, {against}", TAU, rows))
    for method, name, rows in parts:
        yield from _score(cell, rows, name, method)


def _score(cell: AgreementCell, rows: pd.DataFrame, measure: str, method: str) -> Iterator[Score]:
    interval = cell.interval(rows, measure)
    texts, left = int(rows["instance"].nunique()), int(rows[measure].isna().sum())
    notes = (
        f"undefined for {left} of {len(rows)} instances, which are left out" if left else "",
        f"{texts} texts, {cell.seeds} seeds" if cell.seeds > 1 else "",
    )
    note = "; ".join(note for note in notes if note)
    yield from Quantity(measure, null=0.0, best=1.0).score(cell, method, interval, variant=cell.variant, note=note)


_VALIDITY = ResultWarning(
    code="agreement-is-not-validity",
    where="all scores",
    message="methods that agree may both be wrong about the model, and one that disagrees may be right",
)


def warnings(cell: AgreementCell) -> Iterator[ResultWarning]:
    """Reasons to read the cell with care."""
    related = [
        f"{one} and {other}"
        for one, other in itertools.combinations(cell.methods, 2)
        if set(cell.machinery.get(one, ())) & set(cell.machinery.get(other, ()))
    ]
    if related:
        yield cell.warn("shared-machinery", f"that these agree is partly by construction: {', '.join(related)}")
    band = NULL_BAND * null_deviation(cell.records["length"])
    unrelated = []
    for (one, other), rows in cell.records.groupby(["first", "second"], sort=False):
        tau = rows[TAU]
        inside = float((tau.abs() <= band[rows.index])[tau.notna()].mean()) if tau.notna().any() else 0.0
        if inside > UNRELATED:
            unrelated.append(f"{one} and {other}")
    if unrelated:
        text = f"more than {UNRELATED:.0%} of the taus are what unrelated rankings of that length give: "
        yield cell.warn("within-null-band", text + ", ".join(unrelated))
    if any(share > SATURATED for share in cell.saturation):
        shares = ", ".join(f"{share:.0%}" for share in cell.saturation)
        yield cell.warn(
            "flow-saturated",
            f"attention flow is all that the first layer lets through for {shares} of the tokens (by seed): for those "
            "it is the first layer's attention again",
        )
    against = SEED if (cell.own["against"] == SEED).any() else DRAW
    for some in cell.groups():
        yield cell.warn(
            "cannot-be-told-apart",
            f"{', '.join(some)} agree with one another no less than the more stable of any two agrees with itself "
            f"under {against}",
        )


def abstentions(cell: AgreementCell) -> Iterator[Abstention]:
    """What was asked and has no answer."""
    for method, reason in cell.refused.items():
        yield cell.abstain(method, reason.rstrip("."))
    without = [method for method in cell.methods if method in cell.without_sign]
    if without:
        reason = f"{', '.join(without)} {'has' if len(without) == 1 else 'have'} no sign"
        yield cell.abstain("agreement of signs", reason)
    for one, other in itertools.combinations(cell.methods, 2):
        rows = cell.pair(one, other)
        for measure in measure_names(cell.records):
            if rows[measure].isna().all():
                yield cell.abstain(measure, "it is undefined for every instance", f"{one} and {other}")


def accuracies(table: pd.DataFrame) -> Iterator[Score]:
    """Test accuracy over seeds, with learned and with uniform attention."""
    for (dataset, model, uniform), rows in table.groupby(["dataset", "model", "uniform"], sort=False):
        cell = Cell(str(dataset), str(model), target="the gold class")
        method = "uniform attention" if uniform else "learned attention"
        yield from ACCURACY.score(cell, method, t_interval(rows["accuracy"].to_numpy()))
