"""The commands about studies: run, dryrun, plan, report, compare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trueness as tn
from trueness.cli import options
from trueness.cli.options import columns_of, put, settings_of
from trueness.cli.stopping import resumable

if TYPE_CHECKING:
    from trueness.api import StudyRun


@resumable()
def run_command(
    study: options.StudyName,
    store: options.StorePath = Path("runs"),
    settings: options.Settings = None,
    workers: options.Workers = None,
    device: options.Devices = None,
    engine: options.Engine = None,
    durable: Annotated[
        bool, typer.Option("--durable", help="Bring every result to the disk before it counts: survives a power cut.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Run a study. Running it again continues where it stopped."""
    where: dict[str, Any] = {"store": store, "workers": workers, "devices": device or ["cpu"]}
    finished = tn.run(study, executor=engine, durable=durable, **{**settings_of(settings), **where})
    put(as_json, finished, "study_run", tn.StudyRun.to_json)


@resumable()
def dry_run_command(
    data: options.DatasetName,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML report.")] = Path("dry-run.html"),
    store: options.StorePath = Path("runs"),
    settings: options.Settings = None,
    workers: options.Workers = None,
    device: options.Devices = None,
    text_column: options.TextColumn = None,
    second_column: options.SecondColumn = None,
    label_column: options.LabelColumn = None,
    drop_bad_rows: options.DropBadRows = False,
    as_json: options.Json = False,
) -> None:
    """Plant evidence in your data, train models that must use it, rank explainers by how surely they find it.

    --set models=transformer --set pretrained=FOLDER takes your own architecture; --set plantings, explainers, seeds.
    """
    columns = columns_of(text_column, second_column, label_column, drop_bad_rows=drop_bad_rows)
    how: dict[str, Any] = {"store": store, "workers": workers, "devices": device or ["cpu"]}
    chosen = {"columns": columns} if columns else {}
    finished = tn.dry_run(data, **{**settings_of(settings), **how, **chosen})
    page, *figures = map(str, finished.report(out))
    put(as_json, finished, "dry_run", lambda run: {**run.to_json(), "report": page, "figures": figures})
    if not as_json:
        print(f"Report: {page}")


def plan_command(
    study: options.StudyName,
    store: options.StorePath = Path("runs"),
    settings: options.Settings = None,
    workers: options.Workers = None,
    probe: Annotated[
        float | None,
        typer.Option(
            "--probe",
            metavar="SECONDS",
            min=1,
            help="Where nothing has run yet, run the study for so long, to know how long the rest takes.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show the tasks of a study, which are done, and how long the rest takes."""
    found = tn.plan(study, store=store, workers=workers, probe=probe, **settings_of(settings))
    put(as_json, found, "plan", tn.Plan.to_json)


def report_command(
    study: options.StudyName,
    store: options.StorePath = Path("runs"),
    settings: options.Settings = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The HTML file; default: STUDY.html in the store.")
    ] = None,
    no_text: options.NoText = False,
    as_json: options.Json = False,
) -> None:
    """Write the one-file HTML report of a study that has run, and its figures as PNG."""
    page, *figures = map(str, _opened(study, store, settings).report(out, no_text=no_text))
    put(as_json, {"study": study, "report": page, "figures": figures}, "report")


def compare_command(
    study: options.StudyName,
    store: options.StorePath = Path("runs"),
    settings: options.Settings = None,
    as_json: options.Json = False,
) -> None:
    """Set our values beside the published ones and check the paper's conclusions."""
    put(as_json, _opened(study, store, settings).compare(), "comparison")


def _opened(study: str, store: Path, settings: list[str] | None) -> StudyRun:
    run = tn.open_run(study, store=store, **settings_of(settings))
    if run.notice:
        print(f"trueness: {run.notice}.", file=sys.stderr)
    return run
