"""The commands about datasets alone: check and split."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trueness.cli import options
from trueness.cli.options import columns_of, put


def check_command(
    path: options.DatasetName,
    root: options.Root = None,
    text_column: options.TextColumn = None,
    second_column: options.SecondColumn = None,
    label_column: options.LabelColumn = None,
    as_json: options.Json = False,
) -> None:
    """Report rows, classes, lengths, duplicates, leakage between splits, and each bad row by number.

    Exits with 2 if there are bad rows or empty splits.
    """
    from trueness.kinds import check_data

    found = check_data(path, root=root, columns=columns_of(text_column, second_column, label_column))
    put(as_json, found, "dataset")
    if not found["usable"]:
        raise typer.Exit(2)


def split_command(
    source: options.DatasetName,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where train, dev and test are written.")],
    seed: options.Seed = 0,
    text_column: options.TextColumn = None,
    second_column: options.SecondColumn = None,
    label_column: options.LabelColumn = None,
    drop_bad_rows: options.DropBadRows = False,
    as_json: options.Json = False,
) -> None:
    """Split one file of labelled texts into train, dev and test: seeded, every class in each, no text in two."""
    from trueness.kinds import split_data

    columns = columns_of(text_column, second_column, label_column, drop_bad_rows=drop_bad_rows)
    put(as_json, split_data(source, out, seed=seed, **columns), "splits")
