"""What an audit ends in, as plain data: for each explainer its trials with their answers, and one verdict.

A check compares a number with its threshold: *pass* if it lies above, *fail* if it lies below, *cannot tell* if the
data do not say; `rule` has the levels. A trial is made of checks. An explainer *may be shown* if all required trials
pass, *must not be shown* if one of them fails, else the audit *cannot tell*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from trueness.errors import UserError
from trueness.kinds.contract import Words
from trueness.registry import matching

if TYPE_CHECKING:
    import pandas as pd

Answer = Literal["pass", "fail", "cannot tell"]
Decision = Literal["may be shown", "must not be shown", "cannot tell"]
SCHEMA = 2
"""Of audit.json."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Check(_Frozen):
    """One number beside its threshold; larger is better."""

    name: str
    measure: str
    """What the number is, in plain words."""
    answer: Answer
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    """Of the interval, which ends where the tests of the check stop denying."""
    null: float | None = None
    """What an explanation that knows nothing gets."""
    threshold: float | None = None
    """What has to be exceeded."""
    best: float | None = None
    n: int = 0
    unit: str = "examples"
    """What n counts and the interval is taken over."""
    p_value: float | None = None
    """Of the side of the threshold on which the value lies, enlarged: the check is decided where it is at most 0.05."""
    reason: str = ""
    """Why there is no number, or how to read it."""

    @model_validator(mode="before")
    @classmethod
    def _as_before(cls, given: Any) -> Any:
        """Audits of an earlier version call the threshold a mark."""
        renamed = isinstance(given, dict) and "mark" in given
        return {("threshold" if name == "mark" else name): given[name] for name in given} if renamed else given


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
    holds: str = ""
    """For whom: in how many examples, for which classes; and for which not, where one fails."""
    settle: str = ""
    """What would settle an open case."""
    trials: tuple[Trial, ...] = ()
    seconds: float = 0.0
    """What its explanations and trials took."""

    def trial(self, name: str) -> Trial | None:
        """The trial of that name, if there was one."""
        return next((one for one in self.trials if one.name == name), None)

    def __repr__(self) -> str:
        return f"<Judged {self.explainer}{' (foil)' if self.foil else ''}: {self.decision}>"

    def _repr_html_(self) -> str:
        """In a notebook: a card."""
        from trueness.report.cards import card, sign

        shown = [(one, one.checks[0].value if one.checks else None) for one in self.trials if one.possible]
        lines = [f"{sign(one.answer)} {one.name}{'' if value is None else f' {value:.2f}'}" for one, value in shown]
        return card(
            f"{self.explainer}{' (foil)' if self.foil else ''}",
            self.decision,
            lines,
            self.holds or f"It rests on: {self.decided_by}.",
        )


class Broken(_Frozen):
    """An explainer whose own code failed: there is no verdict on it."""

    explainer: str
    error: str
    """What went wrong, with the file and line where it is known."""


class OwnTrial(_Frozen):
    """A trial that only models of this kind have: what it asks and how it finds out, for everybody."""

    name: str
    question: str
    how: str
    papers: tuple[str, ...] = ()


class Example(_Frozen):
    """An example of the data, explained."""

    why: str
    """Why it is shown, in a few words."""
    predicted: str
    probability: float
    label: str | None
    units: tuple[str, ...] = ()
    """What stands side by side, of a text its words; empty of a picture."""
    image: str = ""
    """Of a picture: a PNG in base 64."""
    grid: tuple[int, int] = (0, 0)
    """Of a picture: rows and columns of units."""
    beside: str = ""
    """What belongs to it and is not explained."""
    scores: Mapping[str, tuple[float | None, ...]]
    """What each explainer says of its units."""
    signed: tuple[str, ...] = ()
    """Explainers whose scores below 0 speak against the prediction."""


class Curve(_Frozen):
    """What remains of the predicted class's probability when units are hidden, mean over examples."""

    explainer: str
    hidden: tuple[float, ...]
    """The share of the units that is hidden."""
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
    kind: str = ""
    """What sort of input the model reads."""
    words: Words = Words()
    """How people speak of it."""
    size: int
    """How many examples were explained."""
    accuracy: float | None = None
    """On the examples that have a label."""
    explainers: tuple[Judged, ...]
    """Best first; foils last."""
    broken: tuple[Broken, ...] = ()
    own_trials: tuple[OwnTrial, ...] = ()
    ties: tuple[tuple[str, ...], ...] = ()
    """Groups of those that may be shown and cannot be told apart."""
    left_out: tuple[str, ...] = ()
    """What was not done, and why."""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """How the data were read."""
    curves: tuple[Curve, ...] = ()
    examples: tuple[Example, ...] = ()
    settings: Mapping[str, Any] = {}
    cost: tuple[Cost, ...] = ()
    seconds: float | None = None
    """From start to end by the clock; `cost` may be more, where workers share the work."""
    versions: Mapping[str, str] = {}
    key: str = ""
    """Of the result in the store."""

    @property
    def may_be_shown(self) -> list[str]:
        """Names, best first; may be empty."""
        return [one.explainer for one in self.explainers if one.decision == "may be shown" and not one.foil]

    @property
    def possible_trials(self) -> str:
        """How many of the trials could be held on this model, as a sentence; empty where all could."""
        trials: dict[str, bool] = {}
        for trial in (trial for one in self.explainers if not one.foil for trial in one.trials):
            trials[trial.name] = trials.get(trial.name, False) or trial.possible
        missing = [f"“{name}”" for name, possible in trials.items() if not possible]
        if not missing:
            return ""
        number = len(trials) - len(missing)
        return f"{number} of {len(trials)} trials were possible on this model; not possible: {', '.join(missing)}."

    def __getitem__(self, explainer: str) -> Judged:
        """One explainer by its name, also without the settings: `lime` for `lime[n_samples=200]`."""
        name = matching(explainer, (one.explainer for one in self.explainers))
        for one in self.explainers:
            if one.explainer == name:
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

    def __repr__(self) -> str:
        shown = ", ".join(self.may_be_shown) or "none"
        return f"<Audit of {self.model} on {self.data}, {self.size} {self.words.examples}; may be shown: {shown}>"

    def _repr_html_(self) -> str:
        """In a notebook: a card for each explainer; foils in one line."""
        from html import escape

        from trueness.report.cards import notes

        cards = "".join(one._repr_html_() for one in self.explainers if not one.foil)
        foils = [one for one in self.explainers if one.foil]
        failed = sum(one.decision == "must not be shown" for one in foils)
        about = f"{self.model} on {self.data}: {self.size} {self.words.examples}"
        told = f"{failed} of {len(foils)} foils failed, as they must. " if foils else ""
        said = [*(f"{one.explainer}: {one.error}" for one in self.broken), *self.warnings]
        return f"<div><b>{escape(about)}</b>. {told}</div><div>{cards}</div>{notes(said)}"

    @property
    def table(self) -> pd.DataFrame:
        """Explainers x trials: pass, fail or cannot tell, each with value, interval, null and n."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))
