"""The commands about studies: run, plan, report, compare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from trueness.cli.options import (
    Engine,
    Json,
    Settings,
    StorePath,
    StudyName,
    Workers,
    as_it_is,
    complete_dataset,
    put,
    settings_of,
)


def run_command(
    study: StudyName,
    store: StorePath = Path("runs"),
    settings: Settings = None,
    workers: Workers = None,
    device: Annotated[
        list[str] | None,
        typer.Option("--device", help="A device the workers share, e.g. cuda:0; repeatable. Default: cpu."),
    ] = None,
    engine: Engine = None,
    durable: Annotated[
        bool, typer.Option("--durable", help="Bring every result to the disk before it counts: survives a power cut.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a study. Running it again continues where it stopped."""
    from trueness import api
    from trueness.cli import show
    from trueness.cli.progress import Bar

    try:
        with Bar() as bar:
            finished = api.run(
                study,
                store=store,
                workers=workers,
                devices=device or ["cpu"],
                executor=engine,
                listener=bar,
                durable=durable,
                **settings_of(settings),
            )
    except KeyboardInterrupt:
        print("trueness: interrupted; the same command continues where it stopped.", file=sys.stderr)
        raise typer.Exit(130) from None
    put(as_json, finished, api.StudyRun.to_json, show.study_run)


def dryrun_command(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="Your texts: a file, a folder, or a dataset's name.",
            autocompletion=complete_dataset,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML report.")] = Path("dry-run.html"),
    store: StorePath = Path("runs"),
    settings: Settings = None,
    workers: Workers = None,
    device: Annotated[list[str] | None, typer.Option("--device", help="e.g. cuda:0; repeatable.")] = None,
    as_json: Json = False,
) -> None:
    """Plant evidence in your texts, train models that must use it, and rank explainers by how surely they find it.

    --set models=transformer --set pretrained=FOLDER takes your own architecture; --set plantings, explainers, seeds.
    """
    from trueness import api
    from trueness.cli import show
    from trueness.cli.progress import Bar

    try:
        with Bar() as bar:
            chosen = {**settings_of(settings), "store": store, "workers": workers, "devices": device or ["cpu"]}
            finished = api.dry_run(data, listener=bar, **chosen)
    except KeyboardInterrupt:
        print("trueness: interrupted; the same command continues where it stopped.", file=sys.stderr)
        raise typer.Exit(130) from None
    page, *figures = map(str, finished.report(out))
    put(as_json, finished, lambda run: {**run.to_json(), "report": page, "figures": figures}, show.dry_run)
    if not as_json:
        print(f"Report: {page}")


def plan_command(
    study: StudyName,
    store: StorePath = Path("runs"),
    settings: Settings = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Show the tasks of a study, which are done, and how long the rest takes."""
    from trueness import api
    from trueness.cli import show

    found = api.plan(study, store=store, workers=workers, **settings_of(settings))
    put(as_json, found, api.Plan.to_json, show.plan)


def report_command(
    study: StudyName,
    store: StorePath = Path("runs"),
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The HTML file; default: STUDY.html in the store.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the one-file HTML report of a study that has run, and its figures as PNG."""
    from trueness import api
    from trueness.cli import show

    run = api.open_run(study, store=store, **settings_of(settings))
    _notice(run.notice)
    page, *figures = map(str, run.report(out))
    put(as_json, {"study": study, "report": page, "figures": figures}, as_it_is, show.report)


def compare_command(
    study: StudyName, store: StorePath = Path("runs"), settings: Settings = None, as_json: Json = False
) -> None:
    """Set our values beside the published ones and check the paper's conclusions."""
    from trueness import api
    from trueness.cli import show

    run = api.open_run(study, store=store, **settings_of(settings))
    _notice(run.notice)
    put(as_json, run.compare(), as_it_is, show.comparison)


def _notice(text: str) -> None:
    if text:
        print(f"trueness: {text}.", file=sys.stderr)
