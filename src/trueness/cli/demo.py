"""The command demo: what trueness does, shown without a model or data of one's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from trueness.cli import options
from trueness.cli.options import put
from trueness.cli.stopping import resumable
from trueness.errors import UserError


@resumable()
def demo_command(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="llm: a small language model that answers from passages.")
    ],
    store: options.StorePath = Path("runs"),
    workers: options.Workers = None,
    device: options.Devices = None,
    as_json: options.Json = False,
) -> None:
    """Show which explanations can be trusted, on a model that comes with a package. It takes some minutes."""
    from trueness.api.executors import open_executor
    from trueness.cli.progress import Bar
    from trueness.engine import Store
    from trueness.kinds import every_kind
    from trueness.registry import nearest

    demos = {known: run for kind in every_kind() for known, run in kind.demos.items()}
    if name not in demos:
        raise UserError(f"There is no demo {name!r}; {nearest(name, list(demos))}")
    with Bar() as bar, open_executor(None, workers, device or ["cpu"]) as pool:
        found = demos[name](Store.open(store, create=True), pool, bar)
    put(as_json, found, "demo", _plain, "show_demo")


def _plain(found: Mapping[str, Any]) -> Any:
    return {**found, "table": json.loads(found["table"].to_json(orient="records"))}
