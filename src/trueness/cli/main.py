"""The command line: its commands, each of which calls `trueness.api` and shows what comes back."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import sys
import tempfile
import traceback
import warnings
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

import trueness as tn
from trueness.boundary import first_line, printable, quoted, warning_line, whole
from trueness.cli import audit, benching, browse, data, demo, doctor, explaining, guard, studies, training
from trueness.cli.options import Json, as_flags, put
from trueness.errors import NO_MEMORY, UserError, no_room
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

_TEXTS = {"--text", "--example", "--text-b"}
_SERVERS = {"serve", "rate"}
"""Commands that call no code of the user and end by a signal."""
_LIBRARIES = {"typer", "click", "rich"}
"""What ends the program by itself: when a command is done, or nobody reads on."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF)
UNEXPECTED = 70
"""The exit status of an error of the program itself, as in sysexits.h."""


def _show_version(show: bool) -> None:
    if show:
        print(f"trueness {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[  # read before all else, since reading the arguments may fail
        bool, typer.Option("--debug", help="Show where in the program an error arose; stands before the command.")
    ] = False,
) -> None:
    pass


app.command("audit")(audit.audit_command)
app.command("doctor")(doctor.doctor_command)
app.command("demo")(demo.demo_command)
app.command("bench-audit")(benching.bench_audit_command)
app.command("run")(studies.run_command)
app.command("plan")(studies.plan_command)
app.command("dry-run")(studies.dry_run_command)
app.command("report")(studies.report_command)
app.command("compare")(studies.compare_command)
app.command("serve")(browse.serve_command)
app.command("rate")(browse.rate_command)
app.command("verify")(browse.verify_command)
app.command("train")(training.train_command)
app.command("fine-tune")(training.fine_tune_command)
app.command("explain")(explaining.explain_command)
app.command("adversarial-attention")(explaining.adversarial_attention_command)
app.command("agreement")(explaining.agreement_command)
app.command("attefa")(explaining.attefa_command)
data_app.command("check")(data.check_command)
data_app.command("split")(data.split_command)


@app.command("list")
def list_command(
    kind: Annotated[
        str | None, typer.Argument(help="Only these: study, dataset, model, recipe, explainer or planting.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List studies, datasets, models and explainers."""
    from trueness.registry import nearest

    found = tn.catalogue()
    if kind is not None:
        singular = kind if kind in found else kind.removesuffix("s").replace("studie", "study")
        if singular not in found:
            raise UserError(f"There is no kind {kind!r}; {nearest(kind, list(found))}")
        found = {singular: found[singular]}
    put(as_json, found, "names", module="listing")


def main(arguments: Sequence[str] | None = None) -> None:
    """Errors a person can fix are one sentence on standard error and exit status 2; failed tasks are status 1.

    An error of the program is status 70; what is needed to mend it is in a log.
    """
    if arguments is not None:
        _run(list(arguments))
    elif "_TRUENESS_COMPLETE" in os.environ or not sys.argv[1:] or sys.argv[1] in _SERVERS:
        _run(sys.argv[1:])
    else:
        with guard.watched():
            _run(sys.argv[1:])


def _run(given: list[str]) -> None:
    """Run a command; it always ends by SystemExit, with a status that is ours."""
    from trueness.engine import DamagedObjectError, TasksFailedError

    debug = "--debug" in given[:1]
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the shell closed it: what is printed goes nowhere
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  # until the end
    warnings.formatwarning = warning_line
    try:
        _check_arguments(given)
        app(given)
    except UserError as error:
        _stop(as_flags(str(error), _flags(given)), 2, debug)
    except DamagedObjectError as error:
        _stop(f"{error}; run the study again to compute it anew.", 2, debug)
    except TasksFailedError as error:
        _stop(str(error), 1, debug)
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None and error.strerror:
            _stop(f"{error.filename}: {error.strerror}.", 2, debug)
        if sys.stdout.closed or (isinstance(error, OSError) and error.errno in _NO_ROOM):
            _stop(f"The disk, or standard output, takes no more ({first_line(error)}).", 2, debug)
        if isinstance(error, MemoryError) or no_room(error) or NO_MEMORY in str(error):
            _stop("The memory does not suffice; take fewer examples, a smaller model or fewer workers.", 2, debug)
        _stop(_unexpected(error, given), UNEXPECTED, debug)
    except SystemExit as ended:
        if not _ours(ended):
            _stop(f"Code that you named ended the program ({quoted(ended)}); let it return instead.", 2, debug)
        _put_out(debug)
        raise


def _ours(ended: SystemExit) -> bool:
    """Whether the library of the command line ended the program, and no code that was called by it."""
    modules = [frame.f_globals["__name__"].partition(".")[0] for frame, _ in traceback.walk_tb(ended.__traceback__)]
    return modules[-1] in _LIBRARIES and {*modules} <= {"trueness", "contextlib", *_LIBRARIES}


def _put_out(debug: bool) -> None:
    """What was printed, to the end: a full disk is an error of the command."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):  # Python would try again at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        _stop(f"Standard output cannot be written ({first_line(error)}).", 2, debug)


def _flags(given: Sequence[str]) -> set[str]:
    """The options of the command that was given."""
    command: Any = typer.main.get_command(app)
    for word in given:
        command = getattr(command, "commands", {}).get(word, command)
    return {flag for parameter in command.params for flag in parameter.opts}


def _check_arguments(given: Sequence[str]) -> None:
    for number, (before, argument) in enumerate(pairwise(["trueness", *given]), start=1):
        if not whole(argument):
            raise UserError(f"Argument {number} is not UTF-8 text: {argument!r}.")
        written = argument.startswith("--") and "=" in argument
        option, value = argument.split("=", 1) if written else (before, argument)
        if not value and option not in _TEXTS:
            # A variable of the shell that is not set: as a path it would be the current folder.
            raise UserError(f"Argument {number}, after {option}, is empty; give a value, or leave it out.")


def _unexpected(error: Exception, given: Sequence[str]) -> str:
    """A sentence about an error of the program, with the log that has all of it."""
    what = traceback.format_exception_only(error)[-1].strip().partition("\n")[0][:200]
    try:
        handle, path = tempfile.mkstemp(prefix="trueness-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as log:
            log.write(f"trueness {__version__}, Python {platform.python_version()}, {platform.platform()}\n")
            log.write(f"arguments: {given!r}\n\n{''.join(traceback.format_exception(error))}")
        kept = f"the log {path}"
    except OSError:
        kept = "what `trueness --debug` shows, since no log could be written"
    return (
        f"This is an error of trueness and not of yours ({what}); report it where you got trueness from, with {kept}."
    )


def _stop(message: str, status: int, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    for line in message.splitlines():
        print(f"trueness: {printable(line)}", file=sys.stderr)
    sys.exit(status)
