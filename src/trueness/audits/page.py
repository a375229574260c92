"""An audit as one HTML page for a reader who has read no paper; it is complete in itself and asks for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueness.audits.drawing import (
    BAR,
    Bar,
    Scale,
    bar,
    digits,
    duration,
    numbers_of,
    panels,
)
from trueness.audits.image_words import page_of_images
from trueness.audits.leaderboard import scores_of
from trueness.audits.verdict import Answer, Audit, Check, Decision, ExampleText, Judged, Trial
from trueness.engine import disk, write_atomically
from trueness.errors import UserError
from trueness.report.page import environment, template
from trueness.report.table import NOTHING, known
from trueness.report.table import written as number
from trueness.report.word_grid import Scored, laid_out

SYMBOLS = {"pass": "✓", "fail": "✗", "cannot tell": "?", "may be shown": "✓", "must not be shown": "✗"}
KINDS: dict[Answer | Decision, str] = {
    "pass": "pass",
    "fail": "fail",
    "cannot tell": "tell",
    "may be shown": "pass",
    "must not be shown": "fail",
}
"""The class that gives an answer its colour; the word always stands beside it."""

PAPERS = {
    "adebayo2018": "Adebayo et al. (2018): Sanity Checks for Saliency Maps. NeurIPS. arXiv 1810.03292.",
    "hedstrom2024": "Hedström et al. (2024): A Fresh Look at Sanity Checks for Saliency Maps. xAI. arXiv 2405.02383.",
    "binder2023": "Binder et al. (2023): Shortcomings of Top-Down Randomization-Based Sanity Checks for Evaluations of "
    "Deep Neural Network Explanations. CVPR. arXiv 2211.12486.",
    "zhou2022": "Zhou et al. (2022): Do Feature Attribution Methods Correctly Attribute Features? AAAI. "
    "arXiv 2104.14403.",
    "deyoung2020": "DeYoung et al. (2020): ERASER: A Benchmark to Evaluate Rationalized NLP Models. ACL. "
    "arXiv 1911.03429.",
    "jain2019": "Jain and Wallace (2019): Attention is not Explanation. NAACL. arXiv 1902.10186.",
    "wiegreffe2019": "Wiegreffe and Pinter (2019): Attention is not not Explanation. EMNLP. arXiv 1908.04626.",
    "neely2021": "Neely et al. (2021): Order in the Court: Explainable AI Methods Prone to Disagreement. "
    "ICML workshop. arXiv 2105.03287.",
}


@dataclass(frozen=True)
class Described:
    """What a trial asks and how it finds out, for everybody."""

    question: str
    how: str
    papers: tuple[str, ...] = ()


TRIALS = {
    "depends on the model": Described(
        "Does the explanation change when the model is ruined?",
        "The audit puts the numbers that the model has learned into random order: layer by layer from either end, and "
        "all at once. A method that explains the ruined model almost as before does not explain the model.",
        ("adebayo2018", "binder2023", "hedstrom2024"),
    ),
    "finds planted evidence": Described(
        "Does it point to what the model is known to use?",
        "The audit plants words in the texts and trains a model of the same kind that can be right only by using them. "
        "So the right explanation is known, and one can count how often a method points to it.",
        ("zhou2022",),
    ),
    "removal costs": Described(
        "Do its important words matter to the model?",
        "The audit hides the words that a method calls important, and then those that it calls unimportant. "
        "If the method is right, hiding its important words takes far more of the model's confidence.",
        ("deyoung2020",),
    ),
    "repeats itself": Described(
        "Does it say the same when nothing of importance changes?",
        "The audit explains the same text again: in other company, with another random start, or after a harmless "
        "edit. A method that then says something else tells more about chance than about the model.",
    ),
    "attention matters": Described(
        "Does the output need this attention?",
        "The audit moves the model's attention, the weights with which it reads the words, and looks at its output. "
        "Where the output stays as it was, attention cannot be the reason for it.",
        ("jain2019", "wiegreffe2019"),
    ),
    "informative": Described(
        "Does it say more than the foils?",
        "The audit compares every method with the other methods and with the foils. "
        "A method has to be clearly better than the foils in one way, whatever it does in the others; two methods that "
        "agree can both be wrong.",
        ("neely2021",),
    ),
}
"""By name of the trial. Marks are not said here: they stand in the checks."""


@dataclass(frozen=True)
class Column:
    """A trial as a column of the picture: one axis for all explainers."""

    name: str
    question: str
    measure: str
    scale: Scale | None
    decimals: int
    mark: str
    required: bool


@dataclass(frozen=True)
class Cell:
    """One explainer in one trial."""

    trial: Trial
    shown: Check | None
    bar: Bar | None
    note: str
    """Why there is no number, or which other check decided."""


def write_page(audit: Audit, path: Path) -> Path:
    """Write the page whole or not at all; returns its path."""
    if path.suffix not in (".html", ".htm"):
        raise UserError(f"The page is an HTML file: give a name that ends in .html, not {path}.")
    content = page(audit).encode("utf-8", errors="replace")
    with disk(f"the page {path}", full="free some space", refused="choose another place"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    return path


def files() -> dict[str, str]:
    """Style and script of the page, for those who keep them beside it."""
    files = {name: template(name, "trueness.audits") for name in ("audit.css", "audit.js")}
    return {**files, "audit.css": template("words.css") + files["audit.css"]}


def example(text: ExampleText, audit: Audit) -> dict[str, Any]:
    """A text and its grid: explainers in the order of the verdicts, then names that the audit does not know."""
    by_name = {one.explainer: one for one in audit.explainers}
    given = dict.fromkeys(name for word in text.words for name in word.scores)
    names = [name for name in by_name if name in given] + [name for name in given if name not in by_name]
    rows = [Scored(name, [word.scores.get(name) for word in text.words], name in text.signed) for name in names]
    judged = [by_name.get(name) for name in names]
    foils = [one is not None and one.foil for one in judged]
    return {"text": text, **laid_out([word.text for word in text.words], rows, judged=judged, foil=foils)}


def page(audit: Audit, assets: str = "") -> str:
    """The page as text; style and script are in it, or lie at `assets`, an address that ends in a slash."""
    templates = environment("trueness.audits")
    templates.filters.update(number=number, duration=duration, chance=_chance, plain=_plain)
    from markupsafe import Markup

    style, script = files().values()
    judged = audit.explainers
    names = list(dict.fromkeys([*TRIALS, *(trial.name for one in judged for trial in one.trials)]))
    names = [name for name in names if any(one.trial(name) for one in judged)]
    columns = [_column(name, judged) for name in names]
    cited = list(dict.fromkeys(paper for name in names if name in TRIALS for paper in TRIALS[name].papers))
    levels = sorted({check.level for one in judged for trial in one.trials for check in trial.checks})
    made = templates.get_template("audit.html").render(
        audit=audit,
        symbols=SYMBOLS,
        kinds=KINDS,
        methods=[one for one in judged if not one.foil],
        foils=[one for one in judged if one.foil],
        passed_foils=[one for one in judged if one.foil and one.decision == "may be shown"],
        open_foils=[one for one in judged if one.foil and one.decision == "cannot tell"],
        columns=columns,
        rows=[
            (one, [_cell(one.trial(column.name), column) for column in columns], place)
            for place, one in enumerate(judged, 1)
        ],
        by_name={one.explainer: one for one in judged},
        bar_width=BAR,
        described={name: TRIALS.get(name) for name in names},
        papers={paper: (place, PAPERS[paper]) for place, paper in enumerate(cited, 1)},
        level=" or ".join(f"{level:.4g} %" for level in (round(100 * level, 4) for level in levels)) or "95 %",
        curves=panels(audit.curves),
        examples=[example(text, audit) for text in audit.examples],
        seconds=sum(cost.seconds for cost in audit.cost),
        checked=_checked,
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        assets=assets,
        cells=Markup(json.dumps(_cells(audit)).replace("<", "\\u003c")),
    )
    return page_of_images(made) if audit.inputs == "images" else made


def _cells(audit: Audit) -> dict[str, Any]:
    """What `verify` looks for: the result's key, and the numbers of every check."""
    names = ("quantity", "dataset", "model", "method", "variant", "value", "low", "high")
    scores = [[getattr(score, name) for name in names] for score in scores_of(audit)]
    return {"result": audit.key, "digests": {}, "scores": scores}


def _hash(text: str) -> str:
    """What the content-security policy knows a style or script by: nothing else on the page may style or run."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _column(name: str, judged: Sequence[Judged]) -> Column:
    trials = [trial for one in judged if (trial := one.trial(name))]
    shown = [trial.checks[0] for trial in trials if trial.checks]
    measures = Counter(check.measure for check in shown)
    marks = {check.mark for check in shown if known(check.mark)}
    numbers = [value for check in shown if known(check.value) for value in numbers_of(check)]
    decimals = max((digits(known(check.null, check.mark)) for check in shown), default=2)
    return Column(
        name,
        TRIALS[name].question if name in TRIALS else "",
        measures.most_common(1)[0][0] if measures else "",
        Scale.over(numbers) if numbers else None,
        decimals,
        number(marks.pop(), decimals) if len(marks) == 1 else "",
        any(trial.required for trial in trials),
    )


def _cell(trial: Trial | None, column: Column) -> Cell | None:
    if trial is None:
        return None
    shown = trial.checks[0] if trial.checks else None
    drawn = bar(shown, column.scale, column.decimals) if shown and column.scale else None
    deciding = [check.name for check in trial.checks if check.answer == trial.answer]
    if drawn is None:
        note = (shown.reason if shown else "") or trial.reason
    elif shown and shown.answer != trial.answer and deciding:
        note = f"decided by: {', '.join(deciding)}"
    else:
        note = shown.name if shown and shown.measure != column.measure else ""
    return Cell(trial, shown, drawn, note)


def _checked(check: Check, decimals: int | None = None) -> dict[str, str]:
    """The numbers of a check as text."""
    decimals = digits(numbers_of(check)) if decimals is None else decimals
    both = len(known(check.low, check.high)) == 2
    return {
        "value": number(check.value, decimals),
        "interval": f"{number(check.low, decimals)} to {number(check.high, decimals)}" if both else NOTHING,
        "null": number(check.null, decimals),
        "mark": number(check.mark, decimals),
        "best": number(check.best, decimals),
    }


def _chance(value: float | None) -> str:
    if value is None or not known(value):
        return NOTHING
    return "< 0.001" if value < 0.001 else number(value, 3)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
