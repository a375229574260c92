"""Results as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from trueness.api import Plan, StudyRun, Verification
from trueness.api.bar import duration
from trueness.boundary import printable
from trueness.cli.console import open_console
from trueness.cli.listing import print_rows
from trueness.cli.options import as_flags
from trueness.protocols.result import Result
from trueness.ratings.analysis import Plausibility
from trueness.report import Measurement
from trueness.report.compare import MANY, sentences, shown_rows
from trueness.report.table import NOTHING, number
from trueness.studies import KINDS

_BAD_ROWS = 10  # a file that is bad throughout says so in its first rows
_NARROW = 130  # below this many columns the table leaves out what can be looked up


def _interval(low: float | None, high: float | None) -> str:
    return NOTHING if low is None or high is None else f"{low:.3f} to {high:.3f}"


def study_run(run: StudyRun) -> None:
    """Scores, claims, warnings, and what to do next."""
    console = open_console()
    console.print(run.study.title, style="bold")
    console.print(run.study.question)
    console.print()
    result(run.result, KINDS[run.study.kind].headlines)
    if run.summary is not None:
        done = run.summary
        console.print(
            f"\n{done.total} tasks: {done.computed} computed, {done.cached} in the store already"
            + (f", {done.found} computed by another process" if done.found else "")
            + f"; {duration(done.seconds)}. Store: {run.stored.store.path}"
        )


def bench_audit(found: dict[str, Any]) -> None:
    """How often each explanation got which verdict, and how well each metric tells right from wrong."""
    console = open_console()
    verdicts = ("may be shown", "must not be shown", "cannot tell")
    rows = [
        [one["explanation"], one["truth"], str(one["audits"]), *(f"{one[verdict]:.3f}" for verdict in verdicts)]
        for one in found["by-explanation"]
    ]
    print_rows(console, ["explanation", "truth", "audits", *verdicts], rows)
    console.print()
    every = [one for one in found["areas"] if one["against"] == "all"]
    rows = [
        [one["what"], f"{one['paired area']:.3f}", _interval(one["low"], one["high"]), f"{one['ROC area']:.3f}"]
        for one in every
    ]
    print_rows(console, ["what tells", "right above wrong", "interval", "ROC area"], rows)
    console.print(f"\nTables: {found['out']}")


def dry_run(run: StudyRun) -> None:
    """The ranking, then claims and warnings."""
    console = open_console()
    console.print(run.study.title, style="bold")
    kind = KINDS[run.study.kind]
    for table in kind.tables(run.result, kind.published()):
        shown = table.without_paper()
        console.print()
        console.print(shown.title, style="bold")
        print_rows(console, shown.header, shown.rows)
    console.print()
    _remarks(console, run.result)


def measured(found: Measurement) -> None:
    """The headlines, claims, warnings, abstentions of what was measured on one's own model."""
    open_console().print(found.title, style="bold")
    result(found, found.headlines or None, many=1, elsewhere="with --json")


def result(
    found: Result,
    headlines: Sequence[str] | None = None,
    many: int = MANY,
    elsewhere: str = "in the report, and with --json",
) -> None:
    """Scores (of many only the headlines), claims, warnings, abstentions."""
    console = open_console()
    chosen = [score for score in found.scores if headlines is None or score.quantity in headlines]
    scores = chosen if len(found.scores) > many and chosen else found.scores
    several, narrow = len({score.model for score in found.scores}) > 1, console.width < _NARROW
    texts = ("quantity", "dataset", "model", "method") if several else ("quantity", "dataset", "method")
    numbers = ("value", "95 % interval", "n", *(() if narrow else ("random explanation", "best")))
    rows = []
    for score in scores:
        cells = [number(score.value), _interval(score.low, score.high), str(score.n)]
        cells += [] if narrow else [number(score.null), number(score.best), score.direction]
        rows.append([*(getattr(score, name) for name in texts), *cells])
    print_rows(console, (*texts, *numbers, *(() if narrow else ("direction",))), rows, numbers)
    if len(scores) < len(found.scores):
        console.print(f"{len(found.scores) - len(scores)} more scores are shown {elsewhere}.")
    console.print()
    _remarks(console, found)


def _remarks(console: Console, found: Result) -> None:
    _claims(console, [claim.model_dump() for claim in found.claims])
    for warning in found.warnings:
        console.print(f"Warning ({warning.code}): {warning.where}: {warning.message}.")
    for abstention in found.abstentions:
        console.print(f"Could not be measured: {abstention.where}: {abstention.quantity}: {abstention.reason}.")


def _claims(console: Console, claims: list[dict[str, Any]]) -> None:
    styles = {"supported": "green", "not supported": "red", "cannot tell": "yellow"}
    for claim in claims:
        console.print(f"{claim['verdict'].capitalize()}: {claim['claim']}", style=styles[claim["verdict"]])
        console.print(f"    {claim['evidence']}")
    if claims:
        console.print()


def plan(found: Plan) -> None:
    """Tasks by name, and the estimate."""
    console = open_console()
    numbers = {"total": "total", "in the store": "cached", "to compute": "to_compute"}
    rows = ((name, *(str(row[key]) for key in numbers.values())) for name, row in found.tasks.items())
    print_rows(console, ("task", *numbers), rows, right=[*numbers])
    if found.damaged:
        console.print(f"{len(found.damaged)} stored objects are damaged and will be computed again.")
    if found.in_vain is not None:
        console.print(
            f"No estimate: no task ended within {duration(found.in_vain)}, so that the study takes longer than that. "
            "A longer --probe tells more."
        )
    elif found.seconds is None or found.critical_path is None:
        console.print(
            "No estimate: no task of this plan has run in this store yet. "
            "With --probe 20 it runs for 20 seconds first; what it finishes is kept."
        )
    elif not any(row["to_compute"] for row in found.tasks.values()):
        console.print("Nothing to compute.")
    else:
        console.print(
            f"About {duration(found.seconds)} with {found.workers} at a time; "
            f"the longest chain of tasks alone takes {duration(found.critical_path)}."
        )
        others = ", ".join(f"{number:,}: {duration(seconds)}" for number, seconds in found.simulated.items())
        console.print(f"On several machines, by number of workers: {others}.")
        if found.guessed:
            console.print(f"That is a guess as far as none of these has run yet: {', '.join(found.guessed)}.")


def report(written: dict[str, Any]) -> None:
    """Where the report and its figures are."""
    print(f"Report: {printable(written['report'])}")
    for figure in written["figures"]:
        print(f"Figure: {printable(figure)}")


def comparison(compared: dict[str, Any]) -> None:
    """Ours beside the published values, then the claims."""
    console = open_console()
    texts = ("quantity", "dataset", "model", "method", "variant")
    numbers = ("published", "second run", "ours", "95 % interval", "n")
    rows = []
    chosen, left_out = shown_rows(compared["rows"])
    for row in chosen:
        ours = [number(row[name]) for name in ("published", "second_run", "value")]
        ours += [_interval(row["low"], row["high"]), str(row["n"])]
        rows.append([*(row[name] for name in texts), *ours, row["outcome"] or NOTHING, row["note"]])
    print_rows(console, (*texts, *numbers, "outcome", "note"), rows, numbers)
    console.print()
    if left_out:
        console.print(f"{left_out} more values are not compared with a published one; --json prints them.")
    for sentence in sentences(compared["agreement"]):
        console.print(sentence)
    _claims(console, compared["claims"])


def dataset(found: dict[str, Any]) -> None:
    """Splits, then everything that is wrong."""
    console = open_console()
    rows = []
    for split, row in found["splits"].items():
        words, more = row.get("words"), len(row["classes"]) - 10
        lengths = f"{words['fewest']} to {words['most']}, median {words['median']:g}" if words else "–"
        classes = ", ".join(f"{label}: {count}" for label, count in list(row["classes"].items())[:10])
        classes += f" and {more} more" if more > 0 else ""
        rows.append((split, str(row["rows"]), classes, lengths, str(row.get("duplicates", "–"))))
    columns = ("split", "rows", "classes", "words", "duplicates")
    print_rows(console, columns, rows, right=("rows", "duplicates"))
    for split, row in found["splits"].items():
        if row.get("contradictory"):
            console.print(f"{split}: {row['contradictory']} texts occur with more than one label.")
        if row.get("multiline"):
            first = ", ".join(map(str, row["multiline"][:5]))
            console.print(f"{split}: {len(row['multiline'])} texts hold line breaks (rows {first}); a quote left open?")
    for leak in found.get("leakage", ()):
        first = ", ".join(map(str, leak["first_rows"]))
        console.print(f"Leakage: {leak['rows']} rows of {leak['into']} are also in {leak['from']} (rows {first}, ...).")
    for note in found.get("notes", ()):
        console.print(f"{as_flags(note)}.")
    if "vocabulary" in found:
        console.print(f"Vocabulary: {found['vocabulary']} entries, special tokens included.")
    for split, labels in found.get("classes_not_in_train", {}).items():
        console.print(f"{split} has classes that train does not: {', '.join(labels)}.")
    for split in found.get("empty_splits", ()):
        console.print(f"The split {split} has no usable row.")
    bad_rows = found.get("bad_rows", ())
    for bad in bad_rows[:_BAD_ROWS]:
        console.print(f"{bad['file']}, row {bad['row']}: {bad['problem']}.")
    if len(bad_rows) > _BAD_ROWS:
        console.print(f"And {len(bad_rows) - _BAD_ROWS:,} more bad rows, {len(bad_rows):,} in all; --json lists them.")


def trained(summary: dict[str, Any]) -> None:
    """Where the model is and how well it predicts."""
    console = open_console()
    columns = list(dict.fromkeys(name for scores in summary["scores"].values() for name in scores))
    rows = ((split, *(number(scores.get(name)) for name in columns)) for split, scores in summary["scores"].items())
    print_rows(console, ("split", *columns), rows, right=columns)
    for note in summary["notes"]:
        console.print(f"{as_flags(note)}.")
    epochs = f"{summary['epochs']} epochs. " if "epochs" in summary else ""
    console.print(f"{epochs}Model: {summary['model']}")


def splits(found: dict[str, Any]) -> None:
    """Where the splits are and how large."""
    console = open_console()
    for note in found["notes"]:
        console.print(f"{as_flags(note)}.")
    sizes = ", ".join(f"{name} {size:,}" for name, size in found["splits"].items())
    console.print(f"{sizes} texts: {found['folder']}")


def served(told: dict[str, Any]) -> None:
    """Where pages are, until the command ends."""
    print(f"{told['what']}: {told['address']}\nCtrl-C ends it.", flush=True)


def exported(told: dict[str, Any]) -> None:
    """Where pages were written."""
    print(f"{told['pages']} files in {told['folder']}; begin at index.html, from a web space (python -m http.server).")


def plausibility(found: Plausibility) -> None:
    """What raters said, beside what the audit said."""
    console = open_console()
    console.print(f"{found.title}, {found.mode}: {found.answers} answers of {found.raters} raters", style="bold")
    console.print(found.caveat)
    rows = [
        (
            printable(one.method),
            NOTHING if one.plausibility.value is None else f"{one.plausibility.value:.2f}",
            _interval(one.plausibility.low, one.plausibility.high),
            str(one.plausibility.n),
            one.verdict or NOTHING,
            one.note or one.plausibility.reason,
        )
        for one in found.methods
    ]
    console.print()
    columns = ("method", "plausibility", "95 % interval", "n", "faithfulness: the audit says", "")
    print_rows(console, columns, rows, right=columns[1:4])
    console.print(f"\nPlausibility: {found.measure}.")
    for name, one in (
        ("Agreement between raters (Krippendorff's alpha)", found.agreement),
        ("The same answer when asked again", found.consistency),
        ("Choices for an explanation against a foil", found.discrimination),
    ):
        console.print(f"{name}: {f'{one.value:.2f}, n {one.n}' if one.value is not None else one.reason}.")


def verification(found: Verification) -> None:
    """Every comparison, then the outcome of all."""
    console = open_console()
    print_rows(console, ("", "", ""), [(one.outcome, one.what, printable(one.why)) for one in found.looked])
    console.print(f"\n{printable(found.report)}: {found.outcome}", style="bold")
