"""Options that several commands share, and how results are put out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from trueness.boundary import CONTROL


def complete_study(incomplete: str) -> list[str]:
    """Built-in studies that begin so."""
    from trueness.papers import PAPERS

    return [name for paper in PAPERS for name in paper.files() if name.startswith(incomplete)]


def complete_dataset(incomplete: str) -> list[str]:
    """Datasets that begin so."""
    from trueness.data import TEXT_DATASETS, VECTOR_DATASETS

    return [name for name in (*VECTOR_DATASETS, *TEXT_DATASETS) if name.startswith(incomplete)]


StudyName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY", help="A built-in study (see: trueness list) or a TOML file.", autocompletion=complete_study
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
Engine = Annotated[
    str | None,
    typer.Option("--engine", metavar="NAME", help="Instead of this machine: parsl:FILE or dask:ADDRESS."),
]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Processes to use; default: one per core.")]


Root = Annotated[Path | None, typer.Option("--root", help="Where the papers' corpora lie.")]


def settings_of(given: list[str] | None) -> dict[str, Any]:
    """The settings of repeated --set options."""
    from trueness.studies import parse_setting

    return dict(parse_setting(item) for item in given or [])


T = TypeVar("T")


def put(as_json: bool, value: T, plain: Callable[[T], Any], show: Callable[[T], None]) -> None:
    """Print a result: as JSON, or as a person reads it."""
    if as_json:
        written = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
        print(CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", written))
    else:
        show(value)


def as_it_is(value: T) -> T:
    """What is plain JSON already."""
    return value
