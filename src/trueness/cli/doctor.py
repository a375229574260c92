"""The command doctor: what is installed, and what an audit would take."""

from __future__ import annotations

from typing import Annotated

import typer

import trueness as tn
from trueness.cli import options
from trueness.cli.options import columns_of, put


def doctor_command(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="Your classifier, as trueness audit takes it; may be left out."),
    ] = None,
    data: Annotated[str | None, typer.Argument(metavar="DATA", help="Your data, as trueness audit takes them.")] = None,
    budget: Annotated[
        list[str] | None, typer.Option("--budget", metavar="TIME", help="Default: 3m, 10m and 1h. Repeatable.")
    ] = None,
    text_column: options.TextColumn = None,
    second_column: options.SecondColumn = None,
    label_column: options.LabelColumn = None,
    no_labels: options.NoLabels = False,
    drop_bad_rows: options.DropBadRows = False,
    device: options.Devices = None,
    family: options.Family = None,
    as_json: options.Json = False,
) -> None:
    """What is installed, how fast this machine is, and what an audit of your model would take and could decide."""
    columns = columns_of(text_column, second_column, label_column, no_labels=no_labels, drop_bad_rows=drop_bad_rows)
    how = {} if budget is None else {"budgets": tuple(budget)}
    found = tn.doctor(model, data, columns=columns, family=family, devices=device or ["cpu"], **how)
    put(as_json, found, "checkup", lambda one: one.to_json(), "show_first")
