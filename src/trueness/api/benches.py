"""Which metric tells right explanations from wrong ones: the ladder of known models, see `audits.bench`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"


def bench_audit(
    metrics: Sequence[str] | str = ALL,
    *,
    out: str | Path | None = None,
    audits: int = 2000,
    examples: int = 300,
    first_seed: int = 0,
    kinds: Sequence[str] = (),
    workers: int | None = None,
    seconds: float = float("inf"),
) -> dict[str, pd.DataFrame]:
    """Audit models whose right explanation is known, with explanations that are right, or wrong in known ways.

    The tables by name: `rates`, how often each explanation of each model got each verdict, with exact intervals;
    `by-explanation`, the same over all models; `areas`, how well each check of the audit and each metric ranks the
    right explanation above wrong ones; `curves`, shares above each threshold. In the folder `out`, if one is given, are
    also `rows.csv`, written as audits end. A metric is a name (`all` there are), or the address `mine.py:metric` of
    a function of a model, examples and scores (examples, units) that gives a number: the more, the better.
    """
    from trueness.api.bar import bar
    from trueness.audits.bench.run import run

    named = [metrics] if isinstance(metrics, str) else list(metrics)
    sizes = {"audits": audits, "examples": examples, "first_seed": first_seed}
    with tempfile.TemporaryDirectory() as scratch, bar():
        place = Path(scratch) if out is None else Path(out)
        ways = {"kind": kinds, "metric": named, "workers": workers or os.cpu_count() or 1, "seconds": seconds}
        return run(out=place, **sizes, **ways)  # type: ignore[arg-type]
