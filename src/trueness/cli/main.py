"""The command line: its commands, each of which calls `trueness.api` and shows what comes back."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from trueness.cli import studies, texts
from trueness.cli.options import Json, as_it_is, put
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


app.command("run")(studies.run_command)
app.command("plan")(studies.plan_command)
app.command("dryrun")(studies.dryrun_command)
app.command("report")(studies.report_command)
app.command("compare")(studies.compare_command)
app.command("train")(texts.train_command)
app.command("fine-tune")(texts.fine_tune_command)
app.command("explain")(texts.explain_command)
app.command("adversary")(texts.adversary_command)
app.command("agree")(texts.agree_command)
app.command("attefa")(texts.attefa_command)
data_app.command("check")(texts.data_check_command)


@app.command("list")
def list_command(
    kind: Annotated[
        str | None, typer.Argument(help="Only these: study, dataset, model, recipe, explainer or planting.")
    ] = None,
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
    put(as_json, found, as_it_is, show.names)


def main() -> None:
    """Errors a person can fix are one sentence on standard error and exit status 2; failed tasks are status 1."""
    from trueness.engine import DamagedObjectError, TasksFailedError

    try:
        app()
    except UserError as error:
        _stop(str(error), 2)
    except DamagedObjectError as error:
        _stop(f"{error}; run the study again to compute it anew.", 2)
    except TasksFailedError as error:
        _stop(str(error), 1)


def _stop(message: str, status: int) -> None:
    for line in message.splitlines():
        print(f"trueness: {line}", file=sys.stderr)
    sys.exit(status)
