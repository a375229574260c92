"""The cells of a study for the page of plots: every score, and how every quantity is distributed over instances."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trueness.boundary import printable
from trueness.engine.encoding import digest
from trueness.protocols.result import Result

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

FACETS = ("quantity", "dataset", "model", "method", "variant", "seed")
BINS = 24
HEIGHTS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NUMBERS = {"seed", "instance", "length", "step", "gold", "predicted", "first_position", "second_position"}
"""Columns of records that count or name something and measure nothing."""


def encode_cells(result: Result) -> dict[str, Any]:
    """Compact: names once, then one row per cell: facets by number, then what was measured."""
    names: dict[str, dict[str, int]] = {facet: {} for facet in FACETS}
    rows = []
    for facets, measured in (*_scores(result), *_distributions(result.records)):
        shown = [printable(text) for text in facets]
        places = [names[facet].setdefault(text, len(names[facet])) for facet, text in zip(FACETS, shown, strict=True)]
        rows.append([digest([*shown, len(measured)])[:12], *places, *measured])
    return {"facets": list(FACETS), "names": [list(names[facet]) for facet in FACETS], "cells": rows}


def _scores(result: Result) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    for score in result.scores:
        facets = (score.quantity, score.dataset, score.model, score.method, score.variant, "")
        numbers = [_number(value) for value in (score.value, score.low, score.high, score.null, score.best)]
        yield facets, [*numbers, score.n, score.direction, printable(score.note)]


def _distributions(records: pd.DataFrame) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Of records with one row per instance: a histogram for each number that they hold, at each place."""
    import numpy as np

    if "instance" not in records:
        return
    by = [name for name in FACETS[1:] if name in records]
    numbers = [name for name in records if records[name].dtype.kind == "f" and name not in _NUMBERS and name not in by]
    ends = {}
    for name in numbers:
        values = records[name].to_numpy(dtype=np.float64)
        values = values[np.isfinite(values)]
        if len(values) and values.min() < values.max():
            ends[name] = (float(values.min()), float(values.max()))
    for place, some in records.groupby(by, sort=False, dropna=False) if by else [((), records)]:
        told = dict(zip(by, place, strict=True))
        for name, (low, high) in ends.items():
            values = some[name].to_numpy(dtype=np.float64)
            values = values[np.isfinite(values)]
            if not len(values):
                continue
            counts, _ = np.histogram(values, bins=BINS, range=(low, high))
            facets = (f"{name} (per instance)", *(str(told.get(facet, "")) for facet in FACETS[1:]))
            yield facets, [_number(float(values.mean())), _number(low), _number(high), len(values), _heights(counts)]


def _heights(counts: npt.NDArray[np.int64]) -> str:
    """One letter for each bar: its height as a share of the highest; something is never shown as nothing."""
    highest = int(counts.max())
    return "".join(HEIGHTS[-(-count * (len(HEIGHTS) - 1) // highest)] for count in counts.tolist())


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")
