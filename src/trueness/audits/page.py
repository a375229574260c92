"""An audit as one HTML page for a reader who has read no paper; it is complete in itself and asks for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueness.audits.described import Described, described
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
from trueness.audits.leaderboard import scores_of
from trueness.audits.verdict import Answer, Audit, Check, Decision, Example, Judged, Trial
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


@dataclass(frozen=True)
class Column:
    """A trial as a column of the picture: one axis for all explainers."""

    name: str
    question: str
    measure: str
    scale: Scale | None
    decimals: int
    threshold: str
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


def example(one: Example, audit: Audit) -> dict[str, Any]:
    """An example and its grid: explainers in the order of the verdicts, then names that the audit does not know."""
    by_name = {judged.explainer: judged for judged in audit.explainers}
    names = [name for name in by_name if name in one.scores] + [name for name in one.scores if name not in by_name]
    rows = [Scored(name, one.scores[name], name in one.signed) for name in names]
    judged = [by_name.get(name) for name in names]
    about: dict[str, Any] = {"judged": judged, "foil": [known is not None and known.foil for known in judged]}
    if not one.image:
        return {"of": one, **laid_out(one.units, rows, **about)}
    maps = [{"name": row.name, "paths": _map(row, one.grid)} for row in rows]
    more: list[dict[str, Any]] = [dict(zip(about, values, strict=True)) for values in zip(*about.values(), strict=True)]
    return {"of": one, "rows": [{**one_map, **extra} for one_map, extra in zip(maps, more, strict=True)]}


def _map(row: Scored, grid: tuple[int, int]) -> dict[str, str]:
    """Of each shade the outlines of the units that have it, as an SVG path over a grid of rows and columns."""
    paths: dict[str, str] = {}
    for place, (kind, level) in enumerate(row.shades()):
        if level:
            down, right = divmod(place, grid[1])
            shade = f"{kind} l{level}"
            paths[shade] = paths.get(shade, "") + f"M{right} {down}h1v1h-1z"
    return paths


def page(audit: Audit, assets: str = "") -> str:
    """The page as text; style and script are in it, or lie at `assets`, an address that ends in a slash."""
    templates = environment("trueness.audits")
    templates.filters.update(number=number, duration=duration, chance=_chance, plain=_plain)
    from markupsafe import Markup

    style, script = files().values()
    judged = audit.explainers
    told = described(audit)
    names = list(dict.fromkeys([*told, *(trial.name for one in judged for trial in one.trials)]))
    names = [name for name in names if any(one.trial(name) for one in judged)]
    columns = [_column(name, judged, told) for name in names]
    cited = list(dict.fromkeys(paper for name in names if name in told for paper in told[name].papers))
    levels = sorted({check.level for one in judged for trial in one.trials for check in trial.checks})
    made: str = templates.get_template("audit.html").render(
        audit=audit,
        speak=audit.words,
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
        described={name: told.get(name) for name in names},
        papers={paper: number for number, paper in enumerate(cited, 1)},
        level=" or ".join(f"{level:.4g} %" for level in (round(100 * level, 4) for level in levels)) or "95 %",
        curves=panels(audit.curves, audit.words.units),
        examples=[example(one, audit) for one in audit.examples],
        seconds=sum(cost.seconds for cost in audit.cost),
        checked=_checked,
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        assets=assets,
        cells=Markup(json.dumps(_cells(audit)).replace("<", "\\u003c")),
    )
    return made


def _cells(audit: Audit) -> dict[str, Any]:
    """What `verify` looks for: the result's key, and the numbers of every check."""
    names = ("quantity", "dataset", "model", "method", "variant", "value", "low", "high")
    scores = [[getattr(score, name) for name in names] for score in scores_of(audit)]
    return {"result": audit.key, "digests": {}, "scores": scores}


def _hash(text: str) -> str:
    """What the content-security policy knows a style or script by: nothing else on the page may style or run."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _column(name: str, judged: Sequence[Judged], told: Mapping[str, Described]) -> Column:
    trials = [trial for one in judged if (trial := one.trial(name))]
    shown = [trial.checks[0] for trial in trials if trial.checks]
    measures = Counter(check.measure for check in shown)
    thresholds = {check.threshold for check in shown if known(check.threshold)}
    numbers = [value for check in shown if known(check.value) for value in numbers_of(check)]
    decimals = max((digits(known(check.null, check.threshold)) for check in shown), default=2)
    return Column(
        name,
        told[name].question if name in told else "",
        measures.most_common(1)[0][0] if measures else "",
        Scale.over(numbers) if numbers else None,
        decimals,
        number(thresholds.pop(), decimals) if len(thresholds) == 1 else "",
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
        "threshold": number(check.threshold, decimals),
        "best": number(check.best, decimals),
    }


def _chance(value: float | None) -> str:
    if value is None or not known(value):
        return NOTHING
    return "< 0.001" if value < 0.001 else number(value, 3)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
