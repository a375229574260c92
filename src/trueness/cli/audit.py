"""The command audit: one's own model and data in, one verdict for each explainer out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trueness as tn
from trueness.cli import options
from trueness.cli.options import as_flags, asked_family, columns_of, put, settings_of
from trueness.cli.stopping import resumable
from trueness.errors import UserError

if TYPE_CHECKING:
    from trueness.api.audited import AuditPlan
    from trueness.audits.verdict import Audit

_FILE = {"metavar": "FILE"}


@resumable()
def audit_command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Your classifier: a folder (Hugging Face, or of trueness train), or a function, mine.py:predict.",
        ),
    ],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Your data: a file (CSV, JSONL, parquet), a folder, or a dataset's name.",
            autocompletion=options.complete_dataset,
        ),
    ],
    explainer: Annotated[
        list[str] | None,
        typer.Option(
            "--explainer",
            help="An explainer to audit, also your own, mine.py:saliency; default: the usual set. Repeatable.",
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="TIME", help="How long it may take: 10m, 1h.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The HTML report; the same as JSON lies beside it.")
    ] = Path("audit.html"),
    gate: Annotated[
        Path | None, typer.Option("--gate", help="What must hold: the exit status says whether.", **_FILE)
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="An earlier audit.json, for the gate.", **_FILE)
    ] = None,
    junit: Annotated[Path | None, typer.Option("--junit", help="Also write JUnit XML.", **_FILE)] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Also write Markdown for a pull request.", **_FILE)
    ] = None,
    model_card: Annotated[
        Path | None, typer.Option("--model-card", help="Also write a block for a model card.", **_FILE)
    ] = None,
    latex: Annotated[Path | None, typer.Option("--latex", help="Also write the table as LaTeX.", **_FILE)] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Also write the table as CSV.", **_FILE)] = None,
    text_column: options.TextColumn = None,
    second_column: options.SecondColumn = None,
    label_column: options.LabelColumn = None,
    drop_bad_rows: options.DropBadRows = False,
    no_labels: options.NoLabels = False,
    split: options.Split = None,
    store: options.StorePath = Path("runs"),
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A size of the audit, e.g. examples=500. Repeatable."),
    ] = None,
    workers: options.Workers = None,
    device: options.Devices = None,
    engine: options.Engine = None,
    family: options.Family = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels", metavar="WORDS", help="Of a language model: the words for classes, negative,positive."
        ),
    ] = None,
    prompt: Annotated[
        Path | None, typer.Option("--prompt", help="Beside --labels: the prompt, with {text} in it.", **_FILE)
    ] = None,
    no_text: options.NoText = False,
    as_json: options.Json = False,
) -> None:
    """Which explanations of your classifier may be shown? A line of trials, one verdict for each explainer.

    Exit status with --gate: 0 it holds, 1 it does not, 2 bad input, 3 cannot tell. Running again continues.
    """
    from trueness.api.audits import explainers_of
    from trueness.audits import exports
    from trueness.audits.gate import apply, check_names, read_gate
    from trueness.audits.report import check_page, write_report
    from trueness.audits.saved import read_audit, read_back

    check_page(out)
    family = asked_family(family, labels, prompt)
    wanted = None if gate is None else read_gate(gate)
    earlier = None if baseline is None else read_audit(baseline)
    if wanted is not None:
        check_names(wanted, explainers_of(model, explainer, family, data))
    columns = columns_of(text_column, second_column, label_column, no_labels=no_labels, drop_bad_rows=drop_bad_rows)
    named = {**columns, **({} if split is None else {"split": split})}

    def announce(plan: AuditPlan) -> None:
        if not as_json:
            _announce(plan)

    try:
        found = tn.audit(
            model,
            data,
            explainers=explainer,
            budget=budget,
            store=store,
            workers=workers,
            devices=device or ["cpu"],
            executor=engine,
            planned=announce,
            family=family,
            columns=named,
            **settings_of(settings, tn.audit),
        )
    except tn.TasksFailedError as error:
        # Without a verdict no gate was asked: status 1 would say that it does not hold.
        raise UserError(str(error)) from error
    page = write_report(found, out, no_text=no_text)
    # What is judged is what was written: without it there is no verdict.
    outcome = None if wanted is None else apply(wanted, read_back(found, page), earlier)
    makers: dict[Path | None, Callable[[], str]] = {
        junit: lambda: exports.junit(found, outcome),
        markdown: lambda: exports.markdown(found, outcome),
        model_card: lambda: exports.model_card(found),
        latex: lambda: exports.latex(found),
        csv: lambda: exports.csv(found),
    }
    for path, make in makers.items():
        if path is not None:
            _write(path, make())
    put(as_json, found, "audit", _plain, "show_audit")
    if not as_json:
        print(f"Report: {page}")
    if outcome is not None:
        for condition in outcome.conditions:
            print(
                f"{condition.name}: {condition.state}: {condition.sentence}", file=sys.stderr if as_json else sys.stdout
            )
        raise typer.Exit(outcome.exit_status)


def _write(path: Path, text: str) -> None:
    from trueness.engine import disk, write_atomically

    with disk(str(path), full="free some space", refused="choose another place"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())


def _plain(found: Audit) -> Any:
    return json.loads(found.model_dump_json())


def _announce(plan: AuditPlan) -> None:
    """What is about to be done, on standard error."""
    from trueness.api.bar import duration

    sizes = plan.settings
    end = "no estimate before parts of it are done" if plan.seconds is None else f"about {duration(plan.seconds)}"
    lines = [
        f"Audit of {plan.model} on {plan.data}: {sizes['examples']} {plan.words.examples}; "
        f"explainers {', '.join(plan.explainers)}; {len(plan.foils)} foils; {end}.",
        *(f"  {what}: {duration(seconds)} of work" for what, seconds in plan.parts.items() if seconds >= 1),
        *(f"  not possible: {name}: {why}" for name, why in plan.refused.items()),
        *(f"  left out: {what}" for what in plan.left_out),
        *(f"  note: {as_flags(what)}" for what in plan.notes),
    ]
    for line in lines:
        print(line, file=sys.stderr)
