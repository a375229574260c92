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


@app.command("train")
def train_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="ENCODER-ATTENTION, such as bilstm-additive.")],
    data: Annotated[str, typer.Option("--data", metavar="DATASET", help="A dataset's name, file or folder.")],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the model is kept.")],
    recipe: Annotated[str | None, typer.Option("--recipe", help="How to train; see: trueness list recipe.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    root: Annotated[Path | None, typer.Option("--root", help="Where the papers' corpora lie.")] = None,
    vectors: Annotated[str | None, typer.Option("--vectors", help="Word vectors: a file, or glove-6b-50d.")] = None,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda:0, ...")] = "cpu",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="The model's shape, e.g. hidden=32.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a text classifier. The same command continues an interrupted training."""
    import shutil

    from trueness import api
    from trueness.cli import show
    from trueness.data import load_text

    loaded = load_text(data, root=root)
    state = out / "training"
    trained = api.train(
        model,
        loaded,
        recipe=recipe,
        seed=seed,
        vectors=vectors,
        device=device,
        state=state,
        **_settings(settings),
    )
    trained.save(out)
    shutil.rmtree(state, ignore_errors=True)
    scores = {split: api.evaluate(trained, loaded, split) for split in ("dev", "test") if split in loaded.splits}
    summary = {"model": str(out), "epochs": len(trained.history), "scores": scores, "notes": list(trained.notes)}
    if as_json:
        _print_json(summary)
    else:
        show.trained(summary)


@app.command("explain")
def explain_command(
    model: Annotated[Path, typer.Argument(metavar="FOLDER", help="A trained model.")],
    text: Annotated[list[str], typer.Option("--text", help="The text to explain; repeatable.")],
    other: Annotated[
        list[str] | None, typer.Option("--other", help="The second text of a pair, one per --text.")
    ] = None,
    explainer: Annotated[
        list[str] | None, typer.Option("--explainer", help="See: trueness list explainer. Repeatable.")
    ] = None,
    target: Annotated[str, typer.Option("--target", help="predicted, or a class.")] = "predicted",
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a heat map.")] = None,
    as_json: Json = False,
) -> None:
    """Explain what a model makes of a text: a table of tokens, coloured."""
    from trueness import api
    from trueness.cli import show
    from trueness.engine import disk, write_atomically
    from trueness.report.heatmap import heatmap_page

    if other is not None and len(other) != len(text):
        raise UserError(f"There are {len(text)} texts and {len(other)} second texts.")
    loaded = api.load_model(model)
    names = explainer or ["attention", "input-x-gradient", "leave-one-out"]
    found = [
        explanation for name in names for explanation in api.explain(loaded, text, name, others=other, target=target)
    ]
    if html is not None:
        with disk(f"the heat map {html}", full="free some space", refused="choose another place with --html"):
            write_atomically(html, heatmap_page(found).encode())
    if as_json:
        _print_json([explanation.to_json() for explanation in found])
    else:
        show.explanations(found)


@app.command("list")
def list_command(
    kind: Annotated[str | None, typer.Argument(help="Only these: study, dataset, model, recipe or explainer.")] = None,
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
    root: Annotated[Path | None, typer.Option("--root", help="Where the papers' corpora lie.")] = None,
    as_json: Json = False,
) -> None:
    """Report rows, classes, lengths, duplicates, leakage between splits, and each bad row by number.

    Exits with 2 if there are bad rows or empty splits.
    """
    from trueness.cli import show
    from trueness.data import check_dataset

    found = check_dataset(path, root=root)
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
