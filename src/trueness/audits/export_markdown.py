"""An audit as Markdown: for a pull request, and as a block for a Hugging Face model card."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import PurePath

from trueness.audits.export_cells import (
    NOTHING,
    VERDICTS,
    clean,
    decided,
    interval,
    levels,
    not_required,
    sign,
    trial_names,
    value,
)
from trueness.audits.gate_outcome import SIGNS as STATES
from trueness.audits.gate_outcome import GateOutcome
from trueness.audits.verdict import Audit, Decision, Judged
from trueness.version import __version__

_MARKS = re.compile(r"[\\`*_\[\]{}<>|~#&!$]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_LONGEST = 50_000
"""Characters of the details: GitHub refuses comments of more than 65,536."""


def escape(text: str) -> str:
    """Text that no reader of Markdown takes for a mark, a tag, a cell's end, an address or a call of a person."""
    return _MARKS.sub(lambda found: f"&#{ord(found[0])};", clean(text)).replace("@", "@&#8203;")


def markdown(audit: Audit, outcome: GateOutcome | None = None) -> str:
    """Verdicts first, then explainers x trials, then the reasons, folded."""
    lines = [f"### Explanations of {_code(audit.model)} on {_code(audit.data)}", ""]
    if outcome is not None:
        lines += [f"**{escape(outcome.summary)}**", ""]
    lines += [*_verdicts(audit), ""]
    wrong = [] if outcome is None else [one for one in outcome.conditions if one.state != "holds"]
    if wrong:
        lines += ["Of the gate, these do not hold (✗) or cannot be told (?):", ""]
        lines += [f"- {STATES[one.state]} {escape(one.name)}: {escape(one.sentence)}" for one in wrong] + [""]
    lines += [*_table(audit), ""]
    lines += ["<details><summary>Why, for each explainer</summary>", "", *_within(_details(audit)), "", "</details>"]
    return "\n".join(lines) + "\n"


def model_card(audit: Audit) -> str:
    """A section on explanations for the card of the model, after metadata for the head of the card.

    The metadata are left out if there is no number for them. Of paths only the last part is told.
    """
    shown = audit.model_copy(update={"model": _last_part(audit.model), "data": _last_part(audit.data)})
    foils = [one for one in audit.explainers if one.foil]
    failed = sum(one.decision == "must not be shown" for one in foils)
    lines = [
        "## Explanations",
        "",
        f"trueness {__version__} put {len(audit.explainers) - len(foils)} explainers of this model on trial, with "
        f"{audit.size} {audit.words.examples} of {_code(shown.data)}. An audit gives evidence about this model on "
        f"these {audit.words.examples}; it certifies nothing.",
        "",
        *_verdicts(shown),
        "",
        *_table(shown, foils=False),
        "",
        f"Foils are explainers made to fail: {failed} of {len(foils)} did.",
        *(
            ["", "Left out of this audit:", "", *(f"- {escape(note)}" for note in shown.left_out)]
            if shown.left_out
            else []
        ),
    ]
    return "\n".join([*_metadata(shown), *lines]) + "\n"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _verdicts(audit: Audit) -> Iterator[str]:
    words: dict[Decision, str] = {
        "may be shown": "May be shown",
        "must not be shown": "Must not be shown",
        "cannot tell": "Cannot tell",
    }
    for decision, word in words.items():
        names = [
            _code(one.explainer) + ("" if decision == "may be shown" else f" ({escape(one.decided_by)})")
            for one in decided(audit, decision)
        ]
        yield f"- {VERDICTS[decision]} **{word}**: {', '.join(names) or 'none'}"
    if audit.possible_trials:
        yield f"- {escape(audit.possible_trials)}"
    if audit.broken:
        yield f"- ⚠ **Error, no verdict**: {', '.join(_code(one.explainer) for one in audit.broken)}"


def _table(audit: Audit, *, foils: bool = True) -> Iterator[str]:
    trials = trial_names(audit)
    heads = [escape(name) + (" (not required)" if not_required(audit, name) else "") for name in trials]
    yield _row("explainer", "verdict", *heads)
    yield "|" + "---|" * (len(trials) + 2)
    for one in audit.explainers:
        if foils or not one.foil:
            name = _code(one.explainer) + (" (foil)" if one.foil else "")
            yield _row(name, f"{VERDICTS[one.decision]} {one.decision}", *(_cell(one, name) for name in trials))
    yield ""
    yield f"✓ pass, ✗ fail, ? cannot tell, {NOTHING} not possible; then the value with its interval ({levels(audit)})."


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(one: Judged, name: str) -> str:
    trial = one.trial(name)
    return f"{sign(trial)} {value(trial)} {interval(trial)}".rstrip()


def _details(audit: Audit) -> Iterator[list[str]]:
    for one in audit.explainers:
        lines = [f"**{_code(one.explainer)}**: {one.decision}, decided by {escape(one.decided_by)}.", ""]
        lines += [f"- {sign(trial)} {escape(trial.name)}: {escape(trial.reason)}" for trial in one.trials]
        lines += [f"- {escape(said)}" for said in (one.holds, one.settle) if said]
        yield [*lines, ""]
    errors = [f"{one.explainer}: {one.error}" for one in audit.broken]
    for word, notes in (("Errors", errors), ("Left out", audit.left_out), ("Warnings", audit.warnings)):
        if notes:
            yield [f"**{word}**", "", *(f"- {escape(note)}" for note in notes), ""]


def _within(parts: Iterator[list[str]]) -> Iterator[str]:
    left = _LONGEST
    for lines in parts:
        left -= sum(len(line) + 1 for line in lines)
        if left < 0:
            yield "The rest is in audit.json."
            return
        yield from lines


def _metadata(audit: Audit) -> list[str]:
    """The metrics in the form of a card's `model-index`; none if there is no number."""
    metrics = [("accuracy", "accuracy", audit.accuracy)] if audit.accuracy is not None else []
    for one in audit.explainers:
        for trial in one.trials:
            if trial.checks and not one.foil:
                check = trial.checks[0]
                name = f"{one.explainer}, {trial.name}: {check.measure} ({trial.answer})"
                metrics += [(_slug(trial.name), name, check.value)] if check.value is not None else []
    lines = [
        f"    - type: {_yaml_text(kind)}\n      name: {_yaml_text(name)}\n      value: {_yaml_number(number)}"
        for kind, name, number in metrics
        if math.isfinite(number)
    ]
    if not lines:
        return []
    head = ["---", "model-index:", f"- name: {_yaml_text(audit.model)}", "  results:"]
    task = ["  - task:", f"      type: {_yaml_text(f'{audit.kind}-classification')}", "    dataset:"]
    data = [f"      name: {_yaml_text(audit.data)}", f"      type: {_yaml_text(_slug(audit.data))}", "    metrics:"]
    return [*head, *task, *data, *lines, "---", ""]


def _yaml_text(text: str) -> str:
    """A text in YAML, which takes JSON's."""
    return json.dumps(clean(text), ensure_ascii=False)


def _yaml_number(number: float) -> str:
    """A number in YAML, which takes 1e-05 for a text."""
    mantissa, exponent, power = f"{number:.6g}".partition("e")
    return mantissa + (f".0e{power}" if exponent and "." not in mantissa else exponent + power)


def _slug(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", clean(text)).strip("-") or "unnamed"


def _last_part(path: str) -> str:
    return PurePath(path.replace("\\", "/")).name or path
