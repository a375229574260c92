"""The commands that show what stores hold: serve, and verify for what was shown before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueness.cli import options
from trueness.cli.options import put

if TYPE_CHECKING:
    from trueness.server.app import Server

Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="On 127.0.0.1; 0: any free one.")]
NoText = Annotated[bool, typer.Option("--no-text", help="Show none of the data's texts.")]


def serve_command(
    stores: Annotated[list[Path] | None, typer.Argument(metavar="STORE...", help="Folders; default: runs.")] = None,
    port: Port = 0,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FOLDER", help="Instead: write the same pages as files for any web space."),
    ] = None,
    no_text: NoText = False,
    as_json: options.Json = False,
) -> None:
    """Look at studies, audits, plots and texts in your browser, also while a study runs; only this machine can ask."""
    from trueness.engine import Store
    from trueness.server.app import Server, named

    opened = named([Store.open(path) for path in stores or [Path("runs")]])
    if export is not None:
        from trueness.browser.export import export as write

        put(as_json, {"folder": str(export), "pages": write(opened, export, texts=not no_text)}, "exported")
        return
    run_server(Server(opened, port, texts=not no_text), "Pages", as_json=as_json)


def run_server(server: Server, what: str, *, as_json: bool) -> None:
    """Say where it is, then serve until interrupted."""
    put(as_json, {"what": what, "address": server.address}, "served")
    try:
        server.run()
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
