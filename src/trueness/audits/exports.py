"""An audit in the forms that other programs take: JUnit, Markdown, a model card, LaTeX and CSV."""

from __future__ import annotations

import csv as csv_format
import io
import re
from collections.abc import Iterator
from typing import Any

from trueness.audits.export_cells import clean, interval, levels, trial_names, value
from trueness.audits.export_junit import junit
from trueness.audits.export_markdown import markdown, model_card
from trueness.audits.verdict import Answer, Audit, Check, Decision, Judged

__all__ = ["csv", "junit", "latex", "markdown", "model_card"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\symbol{34}",
    # After the end of a row these would be taken for its options.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
_SIGNS: dict[Answer, str] = {"pass": r"\checkmark", "fail": r"$\times$", "cannot tell": "?"}
_VERDICTS: dict[Decision, str] = {"may be shown": "yes", "must not be shown": "no", "cannot tell": "?"}


def latex(audit: Audit) -> str:
    """Explainers x trials as a table of the packages booktabs and amssymb; foils stand below a line."""
    trials = trial_names(audit)
    own = [_latex_row(one, trials) for one in audit.explainers if not one.foil]
    foils = [_latex_row(one, trials) for one in audit.explainers if one.foil]
    heads = ["Explainer", *(_latex(name[:1].upper() + name[1:]) for name in trials), "May be shown"]
    caption = (
        f"Explainers of {_latex(audit.model)} on {audit.size} {_latex(audit.words.examples)} of {_latex(audit.data)}. "
        rf"\checkmark{{}} pass, $\times$ fail, ? cannot tell, -- not tried; "
        f"in brackets the interval ({_latex(levels(audit))})."
    )
    lines = [
        r"% needs \usepackage{booktabs} and \usepackage{amssymb}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\begin{{tabular}}{{l{'l' * len(trials)}c}}",
        r"\toprule",
        " & ".join(heads) + r" \\",
        r"\midrule",
        *own,
        *([r"\midrule", *foils] if own and foils else foils),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex(text: str) -> str:
    escaped = "".join(_LATEX.get(sign, sign) for sign in clean(text))
    return re.sub("-(?=-)", "-{}", escaped)  # two of them would become a dash


def _latex_row(one: Judged, trials: list[str]) -> str:
    cells = []
    for name in trials:
        trial = one.trial(name)
        if trial is None or not trial.possible:
            cells.append("--")
            continue
        number = f" ${value(trial)}$" if value(trial) else ""
        around = rf" {{\scriptsize ${interval(trial)}$}}" if interval(trial) else ""
        cells.append(f"{_SIGNS[trial.answer]}{number}{around}")
    return " & ".join([_latex(one.explainer), *cells, _VERDICTS[one.decision]]) + r" \\"


def csv(audit: Audit) -> str:
    """One row per explainer, trial and check, with a header; a trial without a check has a row too."""
    columns = ["explainer", "foil", "verdict", "trial", "required", "answer", "finding", "check", "check_answer"]
    columns += [name for name in Check.model_fields if name not in ("name", "answer")]
    file = io.StringIO()
    writer = csv_format.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_csv_rows(audit))
    return file.getvalue()


def _csv_rows(audit: Audit) -> Iterator[dict[str, Any]]:
    for broken in audit.broken:
        yield {"explainer": clean(broken.explainer), "verdict": "error", "finding": clean(broken.error)}
    for one in audit.explainers:
        for trial in one.trials:
            about = {"explainer": one.explainer, "foil": one.foil, "verdict": one.decision, "trial": trial.name}
            about |= {"required": trial.required, "answer": trial.answer, "finding": trial.reason}
            checks = [check.model_dump() for check in trial.checks] or [{}]
            for check in checks:
                named = {"check": check.pop("name", None), "check_answer": check.pop("answer", None)}
                row = {**about, **named, **check}
                yield {key: _csv_cell(item) if isinstance(item, str) else item for key, item in row.items()}


def _csv_cell(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    text = clean(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
