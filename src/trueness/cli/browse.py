"""The commands that show what stores hold and ask people about it: serve, rate, verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import trueness as tn
from trueness.cli import options
from trueness.cli.options import put
from trueness.ratings import Mode

if TYPE_CHECKING:
    from trueness.server.app import Server

Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="On 127.0.0.1; 0: any free one.")]


def serve_command(
    stores: Annotated[list[Path] | None, typer.Argument(metavar="STORE...", help="Folders; default: runs.")] = None,
    port: Port = 0,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FOLDER", help="Instead: write the same pages as files for any web space."),
    ] = None,
    no_text: options.NoText = False,
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


def rate_command(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY_OR_AUDIT", help="A study's name, `audit`, or the key of a result; the newest with texts."
        ),
    ],
    store: options.StorePath = Path("runs"),
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode", help="pairwise: which is better; simulation: foretell the model; highlight: mark words."
        ),
    ] = "pairwise",
    items: Annotated[
        int, typer.Option("--items", min=1, max=5000, help="Questions to each rater; some come twice.")
    ] = 40,
    method: Annotated[
        list[str] | None, typer.Option("--method", help="A method to show; default: all. Repeatable.")
    ] = None,
    seed: options.Seed = 0,
    port: Port = 0,
    analyse: Annotated[bool, typer.Option("--analyse", help="Instead: what the raters said so far.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="With --analyse: also as an HTML page.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Let people judge explanations blind: how plausible are they? That is not how true they are to the model.

    The same command goes on with a rating that was begun. Raters get no names, and no method's name is in any page.
    """
    from trueness.engine import Store
    from trueness.server.app import Server

    place = Store.open(store)
    run, session = tn.rating(
        study, store=place.path, mode=mode, items=items, methods=method or (), seed=seed, begin=not analyse
    )
    if not analyse:
        run_server(Server({}, port, session=session), "Rating", as_json=as_json)
        return
    from trueness.ratings.analysis import analyse as summarise
    from trueness.ratings.page import write_plausibility

    found = summarise(session.design, session.answers, run.instances, run.audits)
    put(as_json, found, "plausibility", lambda one: one.to_json())
    if out is not None:
        page = write_plausibility(found, out, result=run.key, title=run.title)
        if not as_json:
            print(f"Page: {page}")


def verify_command(
    report: Annotated[Path, typer.Argument(metavar="FILE", help="A report: the HTML file.")],
    store: options.StorePath = Path("runs"),
    cell: Annotated[
        list[str] | None,
        typer.Option("--cell", help="Only numbers with this in their quantity, dataset, model or method. Repeatable."),
    ] = None,
    deep: Annotated[
        int, typer.Option("--deep", min=0, help="Also compute so many tasks further up again, drawn at random.")
    ] = 0,
    as_json: options.Json = False,
) -> None:
    """Does a report show what the store holds, and does it come out again? Exit status 0 yes, 1 no, 3 cannot tell."""
    found = tn.verify(report, store=store, cells=cell or (), deep=deep)
    put(as_json, found, "verification", tn.Verification.to_json)
    raise typer.Exit({"matches": 0, "differs": 1, "cannot tell": 3}[found.outcome])
