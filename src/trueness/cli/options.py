"""Options that several commands share, and how results are put out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from trueness.boundary import CONTROL
from trueness.errors import UserError

T = TypeVar("T")
_TAKEN = {"store", "workers", "devices", "device", "executor", "listener", "durable", "study", "state", "root"}
"""Arguments of functions behind commands; a setting of that name would be taken for them."""

_FLAGS = ("--text-column", "--text-b-column", "--label-column", "--no-labels", "--drop-bad-rows")
_ARGUMENTS = re.compile(
    r'(?<![\w./\\-])(?:label_column=""|bad_rows="drop"|(?:(?:text|text_b|label)_column|bad_rows)(?![\w./\\-]*\w))'
)
_SWITCHES = {'label_column=""': "--no-labels", 'bad_rows="drop"': "--drop-bad-rows", "bad_rows": "--drop-bad-rows"}


def complete_study(incomplete: str) -> list[str]:
    """Built-in studies that begin so."""
    from trueness.studies import builtin_studies

    return [name for name in builtin_studies() if name.startswith(incomplete)]


def complete_dataset(incomplete: str) -> list[str]:
    """Datasets that begin so."""
    from trueness.kinds import every_kind

    return [name for kind in every_kind() for name in kind.data.datasets if name.startswith(incomplete)]


StudyName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY", help="A built-in study (see: trueness list) or a TOML file.", autocompletion=complete_study
    ),
]
DatasetName = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="A folder with train, dev, test; one file; or a dataset's name.",
        autocompletion=complete_dataset,
    ),
]
StorePath = Annotated[Path, typer.Option("--store", metavar="FOLDER", help="Where results are kept.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Override a key of the study, e.g. seeds=5 or data.train=1000. Repeatable."
    ),
]
Engine = Annotated[
    str | None,
    typer.Option("--engine", metavar="NAME", help="Instead of this machine: parsl:FILE or dask:ADDRESS."),
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=0, help="Processes to use; default: one per core; 0: this one.")
]
Data = Annotated[str, typer.Option("--data", metavar="DATASET", help="A dataset's name, file or folder.")]
Root = Annotated[Path | None, typer.Option("--root", help="Where the papers' corpora lie.")]
TextColumn = Annotated[str | None, typer.Option("--text-column", help="Where the texts are.")]
SecondColumn = Annotated[str | None, typer.Option("--text-b-column", help="Where second texts of pairs are.")]
LabelColumn = Annotated[str | None, typer.Option("--label-column", help="Where the labels are.")]
DropBadRows = Annotated[
    bool,
    typer.Option(
        "--drop-bad-rows", help="Leave out rows that cannot be read, and labels such as ?, instead of stopping."
    ),
]
NoLabels = Annotated[bool, typer.Option("--no-labels", help="Leave the labels out, also of a column that is known.")]
Split = Annotated[str | None, typer.Option("--split", help="The split to look at; default: test, or the only one.")]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The folder of a trained model, or a function, mine.py:predict.")
]
Explainers = Annotated[list[str] | None, typer.Option("--explainer", help="See: trueness list explainer. Repeatable.")]
_EXAMPLE = typer.Option(
    "--text", "--example", help="A text, the file of a picture, or a row of numbers, 5.1,3.5,1.4; repeatable."
)
Examples = Annotated[list[str], _EXAMPLE]
SomeExamples = Annotated[list[str] | None, _EXAMPLE]
Others = Annotated[list[str] | None, typer.Option("--text-b", help="The second text of a pair, one per --text.")]
ModelPlace = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the model is kept.")]
Seed = Annotated[int, typer.Option("--seed", min=0)]
Devices = Annotated[
    list[str] | None,
    typer.Option("--device", help="A device the workers share, e.g. cuda:0; repeatable. Default: cpu."),
]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda:0, ...")]
Family = Annotated[
    str | None, typer.Option("--family", metavar="ADDRESS", help="Of a model of your own, such as mine.py:Bag.")
]
NoText = Annotated[bool, typer.Option("--no-text", help="Show none of the data's texts.")]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]


def columns_of(
    text: str | None, second: str | None, label: str | None, *, no_labels: bool = False, drop_bad_rows: bool = False
) -> dict[str, str]:
    """The columns that are named, and what becomes of bad rows, as functions take them."""
    if no_labels and label is not None:
        raise UserError("--label-column names the labels that --no-labels leaves out: give one of the two.")
    named = {"text_column": text, "text_b_column": second, "label_column": "" if no_labels else label}
    named["bad_rows"] = "drop" if drop_bad_rows else None
    return {name: value for name, value in named.items() if value is not None}


def asked_family(family: str | None, labels: str | None, prompt: Path | None) -> str | None:
    """The family that is named, or that of language models which choose between label words."""
    from trueness.models.families import label_words

    if labels is None:
        if prompt is not None:
            raise UserError("--prompt belongs to --labels: name the label words too.")
        return family
    if family is not None:
        raise UserError("--labels says what the model is: leave out --family.")
    return label_words(labels, "" if prompt is None else _prompt(prompt))


def _prompt(file: Path) -> str:
    from trueness.boundary import read_ordinary, reading

    with reading(file, "is not UTF-8 text"):
        return read_ordinary(file, 1 << 20).decode("utf-8").rstrip("\n")


def as_flags(said: str, known: Collection[str] = _FLAGS) -> str:
    """What is said of the arguments of functions, of those options of a command that are known."""

    def flag(found: re.Match[str]) -> str:
        name = _SWITCHES.get(found[0], f"--{found[0].replace('_', '-')}")
        return name if name in known else found[0]

    return _ARGUMENTS.sub(flag, said)


def settings_of(given: list[str] | None, function: Callable[..., Any] | None = None) -> dict[str, Any]:
    """The settings of repeated --set options, none of which is another argument of the function that takes them."""
    from trueness.studies import parse_setting

    found = dict(parse_setting(item) for item in given or [])
    for name in found.keys() & {*_TAKEN, *(() if function is None else signature(function).parameters)}:
        raise UserError(f"--set {name}=...: {name} is no key of a study or model; see --help for options.")
    return found


def put(
    as_json: bool, value: T, name: str, plain: Callable[[T], Any] = lambda value: value, module: str = "show"
) -> None:
    """Print a result: as JSON, which `plain` makes of what is not plain yet, or by the function of `module` so named.

    What draws tables loads here, so that `--help` and `--json` need not wait for it.
    """
    if as_json:
        written = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
        print(CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", written))
    else:
        getattr(import_module(f"trueness.cli.{module}"), name)(value)
