"""The command bench-audit: which metric tells right explanations from wrong ones?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trueness as tn
from trueness.cli import options
from trueness.cli.options import put

if TYPE_CHECKING:
    import pandas as pd


def bench_audit_command(
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the tables are written, as CSV.")] = Path(
        "bench-audit"
    ),
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="A metric, also your own, mine.py:metric; default: all there are. Repeatable."),
    ] = None,
    audits: Annotated[int, typer.Option("--audits", min=1, help="Verdicts, about so many.")] = 2000,
    examples: Annotated[int, typer.Option("--examples", min=30, help="Of each audit.")] = 300,
    seed: options.Seed = 0,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="Only of this kind of input. Repeatable.")] = None,
    workers: options.Workers = None,
    as_json: options.Json = False,
) -> None:
    """Audit models whose right explanation is known: how often is a verdict wrong, and which metric tells?"""
    how = {"audits": audits, "examples": examples, "first_seed": seed, "kinds": kind or (), "workers": workers}
    found = tn.bench_audit(metric or "all", out=out, **how)  # type: ignore[arg-type]
    tables = {name: _plain(table) for name, table in found.items() if name != "curves"}
    put(as_json, {"out": str(out), **tables}, "bench_audit")


def _plain(table: pd.DataFrame) -> list[dict[str, Any]]:
    known = table.astype(object).where(table.notna(), None)
    return [dict(zip(map(str, table), row, strict=True)) for row in known.itertuples(index=False)]
