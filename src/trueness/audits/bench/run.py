"""The ladder as people run it: all models, seed by seed, and the tables of what it tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trueness.audits.bench import summary
from trueness.audits.bench.ladder import models, rows_of, write
from trueness.errors import UserError
from trueness.kinds import KINDS
from trueness.plugins import is_address
from trueness.progress import told
from trueness.registry import nearest

_RUNGS = 18
"""Explanations on the ladder of a model, at least."""


def run(
    *,
    out: Path,
    audits: int = 2000,
    first_seed: int = 0,
    examples: int = 300,
    kind: Sequence[str] = (),
    model: Sequence[str] = (),
    metric: Sequence[str] = (),
    workers: int = 1,
    seconds: float = float("inf"),
    tell: Callable[[str], Any] = lambda _: None,
) -> dict[str, Any]:
    """Write `rows.csv` as audits end, then `rates.csv`, `areas.csv` and `curves.csv`; the tables by name."""
    import pandas as pd

    which = [one for one in models(kind) if not model or one[1] in model]
    if not which:
        known = ", ".join(sorted({name for one in KINDS for name in KINDS[one].known}))
        raise UserError(f"There is no such model of the ladder; there are {known}.")
    seeds = range(first_seed, first_seed + -(-audits // (_RUNGS * len(which))))
    found = _metrics(metric)
    out.mkdir(parents=True, exist_ok=True)
    begun = rows_of(which, seeds, examples, workers=workers, seconds=seconds, metrics=found)
    number = write(out / "rows.csv", told(begun, "audits", len(which) * len(seeds)), list(found))
    rows = pd.read_csv(out / "rows.csv")
    made = {
        "rates": summary.rates(rows),
        "by-explanation": summary.rates(rows, ["explanation"]),
        "areas": summary.areas(rows),
        "curves": summary.curves(rows),
    }
    for name, table in made.items():
        table.round(4).to_csv(out / f"{name}.csv", index=False)
    tell(f"{number} models, {len(rows)} audits of {examples} examples in {out}")
    tell(made["by-explanation"][["explanation", "truth", "audits", *summary.VERDICTS]].round(3).to_string(index=False))
    overall = made["areas"][made["areas"]["against"] == "all"]
    tell(overall.drop(columns=["ours", "against"]).round(3).to_string(index=False))
    return made


def _metrics(names: Sequence[str]) -> dict[str, Any]:
    """Those of that name, or at that address; all there are."""
    from trueness.audits.bench.metrics import METRICS, Asked

    if list(names) == ["all"]:
        return {name: Asked(name) for name in METRICS if "Captum" not in name or find_spec("captum")}
    for name in names:
        if name not in METRICS and not is_address(name):
            raise UserError(f"There is no metric {name!r}; {nearest(name, list(METRICS))}")
    found = {name: Asked(name) for name in names}
    for one in found.values():
        one.metric  # noqa: B018  # what cannot be found is refused before work begins
    return found
