"""What an audit ends in: for each explainer a line of trials with their answers, and one verdict by a written rule.

A check compares a number with its mark: *pass* if it lies above the mark, *fail* if it lies below, *cannot tell* if the
data do not say, after Holm's correction over all checks of all explainers. A trial is made of checks. An explainer
*may be shown* if all required trials pass, *must not be shown* if one of them fails, else the audit *cannot tell*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from trueness.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

Answer = Literal["pass", "fail", "cannot tell"]
Decision = Literal["may be shown", "must not be shown", "cannot tell"]
SCHEMA = 1
"""Of audit.json."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Check(_Frozen):
    """One number beside its mark; larger is better."""

    name: str
    measure: str
    """What the number is, in plain words."""
    answer: Answer
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    """Of the interval, before any correction."""
    null: float | None = None
    """What an explanation that knows nothing gets."""
    mark: float | None = None
    """What has to be exceeded."""
    best: float | None = None
    n: int = 0
    unit: str = "texts"
    """What n counts and the interval is taken over."""
    p_value: float | None = None
    """Of the two-sided comparison with the mark, after Holm's correction."""
    reason: str = ""
    """Why there is no number, or how to read it."""


class Trial(_Frozen):
    """The checks that answer one question about one explainer."""

    name: str
    answer: Answer
    required: bool = True
    """Whether the verdict depends on it."""
    reason: str
    """One sentence: what was found."""
    checks: tuple[Check, ...] = ()
    """The first one is the one to show."""
    notes: tuple[str, ...] = ()
    """What else was seen; nothing depends on it."""

    @property
    def possible(self) -> bool:
        """Whether it could be held: one that nothing depends on and that measured nothing could not."""
        return self.required or any(check.value is not None for check in self.checks)


class Judged(_Frozen):
    """One explainer, and what became of it."""

    explainer: str
    foil: bool = False
    """Whether it stands here to fail: it knows nothing, or less than it seems to."""
    decision: Decision
    decided_by: str
    """The trial on which the verdict rests."""
    settle: str = ""
    """What would settle an open case."""
    trials: tuple[Trial, ...] = ()
    seconds: float = 0.0
    """What its explanations and trials took."""

    def trial(self, name: str) -> Trial | None:
        """The trial of that name, if there was one."""
        return next((one for one in self.trials if one.name == name), None)


class Word(_Frozen):
    """One word of an example, with what each explainer says of it."""

    text: str
    scores: Mapping[str, float]


class ExampleText(_Frozen):
    """A text of the data, explained."""

    why: str
    """Why it is shown, in a few words."""
    predicted: str
    probability: float
    label: str | None
    words: tuple[Word, ...]
    signed: tuple[str, ...] = ()
    """Explainers whose scores below 0 speak against the prediction."""


class Curve(_Frozen):
    """What remains of the predicted class's probability when words are hidden, mean over texts."""

    explainer: str
    hidden: tuple[float, ...]
    """The share of the words that is hidden."""
    important_first: tuple[float, ...]
    unimportant_first: tuple[float, ...]


class Cost(_Frozen):
    """What one kind of work took."""

    work: str
    tasks: int
    seconds: float


class Audit(_Frozen):
    """All that an audit found about one model: what audit.json holds."""

    schema_version: int = SCHEMA
    model: str
    data: str
    classes: tuple[str, ...]
    texts: int
    accuracy: float | None = None
    """On the texts that have a label."""
    explainers: tuple[Judged, ...]
    """Best first; foils last."""
    ties: tuple[tuple[str, ...], ...] = ()
    """Groups of those that may be shown and cannot be told apart."""
    left_out: tuple[str, ...] = ()
    """What was not done, and why."""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """How the data were read."""
    curves: tuple[Curve, ...] = ()
    examples: tuple[ExampleText, ...] = ()
    settings: Mapping[str, Any] = {}
    cost: tuple[Cost, ...] = ()
    inputs: Literal["texts", "images"] = "texts"
    """What the model reads; of images a word is a square, and a text an image."""
    seconds: float | None = None
    """From start to end by the clock; `cost` may be more, where workers share the work."""
    versions: Mapping[str, str] = {}
    key: str = ""
    """Of the result in the store."""

    @property
    def may_be_shown(self) -> list[str]:
        """Names, best first; may be empty."""
        return [one.explainer for one in self.explainers if one.decision == "may be shown" and not one.foil]

    def __getitem__(self, explainer: str) -> Judged:
        for one in self.explainers:
            if one.explainer == explainer:
                return one
        raise UserError(
            f"{explainer} was not audited; there are {', '.join(one.explainer for one in self.explainers)}."
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per explainer, trial and check."""
        for one in self.explainers:
            for trial in one.trials:
                about = {"explainer": one.explainer, "foil": one.foil, "verdict": one.decision, "trial": trial.name}
                for check in trial.checks:
                    plain = check.model_dump()
                    named = {"answer": trial.answer, "check": plain.pop("name"), "check_answer": plain.pop("answer")}
                    yield {**about, **named, **plain}

    def report(self, path: str | Path, *, no_text: bool = False) -> Path:
        """Write the HTML report, and audit.json beside it under the same name; returns the report.

        With `no_text` neither holds a text of the data.
        """
        page = check_page(path)
        shown = self.model_copy(update={"examples": ()}) if no_text else self
        # Found by name: both read what is declared here.
        import_module("trueness.audits.saved").write_audit(shown, page.with_suffix(".json"))
        written: Path = import_module("trueness.audits.page").write_page(shown, page)
        return written

    def __repr__(self) -> str:
        shown = ", ".join(self.may_be_shown) or "none"
        return f"<Audit of {self.model} on {self.data}, {self.texts} texts; may be shown: {shown}>"

    @property
    def table(self) -> pd.DataFrame:
        """Explainers x trials: pass, fail or cannot tell, each with value, interval, null and n."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))


def check_page(path: str | Path) -> Path:
    """Where a report can be written; UserError for a name that is none of an HTML file."""
    page = Path(path)
    if page.suffix not in (".html", ".htm"):
        raise UserError(f"The report is an HTML file: give a name that ends in .html, not {page}.")
    return page
