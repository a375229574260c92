"""The commands: each parses its options, calls a function of `trueness.api`, and shows what comes back."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from trueness.errors import UserError
from trueness.version import __version__

app = typer.Typer(
    name="trueness",
    help="Put a model's explanations on trial: measure whether they are true to the model.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
data_app = typer.Typer(help="Look at datasets.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(data_app, name="data")


def _complete_study(incomplete: str) -> list[str]:
    from trueness.studies import builtin_studies

    return [name for name in builtin_studies() if name.startswith(incomplete)]


def _complete_dataset(incomplete: str) -> list[str]:
    from trueness.data import TEXT_DATASETS, VECTOR_DATASETS

    return [name for name in (*VECTOR_DATASETS, *TEXT_DATASETS) if name.startswith(incomplete)]


StudyName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY", help="A built-in study (see: trueness list) or a TOML file.", autocompletion=_complete_study
    ),
]
StorePath = Annotated[Path, typer.Option("--store", metavar="FOLDER", help="Where results are kept.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Override a key of the study, e.g. seeds=5 or data.train=1000. Repeatable."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Processes to use; default: one per core.")]


def _settings(given: list[str] | None) -> dict[str, Any]:
    from trueness.studies import parse_setting

    return dict(parse_setting(item) for item in given or [])


def _notice(text: str) -> None:
    if text:
        print(f"trueness: {text}.", file=sys.stderr)


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def _version(show: bool) -> None:
    if show:
        print(f"trueness {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command("run")
def run_command(
    study: StudyName,
    store: StorePath = Path("runs"),
    settings: Settings = None,
    workers: Workers = None,
    device: Annotated[
        list[str] | None,
        typer.Option("--device", help="A device the workers share, e.g. cuda:0; repeatable. Default: cpu."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a study. Running it again continues where it stopped."""
    from trueness import api
    from trueness.cli import show
    from trueness.cli.progress import Bar

    try:
        with Bar() as bar:
            finished = api.run(
                study, store=store, workers=workers, devices=device or ["cpu"], listener=bar, **_settings(settings)
            )
    except KeyboardInterrupt:
        print("trueness: interrupted; the same command continues where it stopped.", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        _print_json(finished.to_json())
    else:
        show.study_run(finished)


@app.command("plan")
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

    found = api.plan(study, store=store, workers=workers, **_settings(settings))
    if as_json:
        _print_json(found.to_json())
    else:
        show.plan(found)


@app.command("report")
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

    run = api.open_run(study, store=store, **_settings(settings))
    _notice(run.notice)
    files = run.report(out)
    if as_json:
        _print_json({"study": study, "report": str(files[0]), "figures": [str(file) for file in files[1:]]})
    else:
        print(f"Report: {files[0]}")
        for file in files[1:]:
            print(f"Figure: {file}")


@app.command("compare")
def compare_command(
    study: StudyName, store: StorePath = Path("runs"), settings: Settings = None, as_json: Json = False
) -> None:
    """Set our values beside the published ones and check the paper's conclusions."""
    from trueness import api
    from trueness.cli import show

    run = api.open_run(study, store=store, **_settings(settings))
    _notice(run.notice)
    compared = run.compare()
    if as_json:
        _print_json(compared)
    else:
        show.comparison(compared)


@app.command("list")
def list_command(
    kind: Annotated[str | None, typer.Argument(help="Only this kind: study, dataset, model or explainer.")] = None,
    as_json: Json = False,
) -> None:
    """List studies, datasets, models and explainers."""
    from trueness import api
    from trueness.cli import show
    from trueness.registry import nearest

    found = api.names()
    if kind is not None:
        singular = kind if kind in found else kind.removesuffix("s").replace("studie", "study")
        if singular not in found:
            raise UserError(f"There is no kind {kind!r}; {nearest(kind, list(found))}")
        found = {singular: found[singular]}
    if as_json:
        _print_json(found)
    else:
        show.names(found)


@data_app.command("check")
def data_check_command(
    path: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="A folder with train, dev, test; one file; or a name.",
            autocompletion=_complete_dataset,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Report rows, classes, lengths, duplicates, leakage between splits, and each bad row by number.

    Exits with 2 if there are bad rows or empty splits.
    """
    from trueness.cli import show
    from trueness.data import check_dataset

    found = check_dataset(path)
    if as_json:
        _print_json(found)
    else:
        show.dataset(found)
    if not found["usable"]:
        raise typer.Exit(2)


def main() -> None:
    """Errors a person can fix are one sentence on standard error and exit status 2; failed tasks are status 1."""
    from trueness.engine.store import DamagedObjectError

    try:
        app()
    except UserError as error:
        print(f"trueness: {error}", file=sys.stderr)
        sys.exit(2)
    except DamagedObjectError as error:
        print(f"trueness: {error}; run the study again to compute it anew.", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        from trueness.api import StudyFailedError

        if not isinstance(error, StudyFailedError):
            raise
        for failure in error.summary.failures:
            print(f"trueness: {failure}", file=sys.stderr)
        print(f"trueness: {len(error.summary.blocked)} tasks that need them were not tried.", file=sys.stderr)
        sys.exit(1)
