"""The command demo: what trueness does, shown without a model or data of one's own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import trueness as tn
from trueness.cli import options
from trueness.cli.audit import audit_command
from trueness.cli.options import put
from trueness.cli.stopping import resumable
from trueness.errors import UserError


@resumable()
def demo_command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="llm: a small language model that answers from passages; may be left out."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where the classifier and the report are kept.")
    ] = Path("demo"),
    store: options.StorePath = Path("runs"),
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="How long the audit may take.")] = "3m",
    workers: options.Workers = None,
    device: options.Devices = None,
    as_json: options.Json = False,
) -> None:
    """Train a small classifier of movie sentences and audit it: under five minutes on two cores.

    With llm: which passages a small language model answers from, and which methods and citations tell it.
    """
    if name is not None:
        _named(name, store, workers, device, as_json=as_json)
        return
    model = out / "model"
    if not (model / "config.json").is_file() or (model / "training").exists():  # which is there until it is complete
        shape: dict[str, Any] = {"hidden": 32, "embedding": 50}
        tn.train("bilstm-additive", "movie-sentences", recipe="demo", state=model / "training", **shape).save(model)
        shutil.rmtree(model / "training", ignore_errors=True)
    audit_command(
        str(model),
        "movie-sentences",
        budget=budget,
        out=out / "audit.html",
        store=store,
        workers=workers,
        device=device,
        as_json=as_json,
    )
    if not as_json:
        print("Next, with your own model and data: trueness audit my_classifier/ reviews.csv --budget 10m")


def _named(name: str, store: Path, workers: int | None, device: list[str] | None, *, as_json: bool) -> None:
    """What a kind of input shows."""
    from trueness.api.bar import TaskBar
    from trueness.api.executors import open_executor
    from trueness.engine import Store
    from trueness.kinds import every_kind
    from trueness.registry import nearest

    demos = {known: run for kind in every_kind() for known, run in kind.demos.items()}
    if name not in demos:
        raise UserError(f"There is no demo {name!r}; {nearest(name, list(demos))}")
    with TaskBar() as bar, open_executor(None, workers, device or ["cpu"]) as pool:
        found = demos[name](Store.open(store, create=True), pool, bar)
    put(as_json, found, "demo", _plain, "show_demo")


def _plain(found: Mapping[str, Any]) -> Any:
    return {**found, "table": json.loads(found["table"].to_json(orient="records"))}
