"""What a protocol returns: records, scores with everything needed to read them, warnings, abstentions and claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from trueness.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 1
"""The form in which results are kept: raised when a stored one could no longer be read."""
Direction = Literal["higher is better", "lower is better", "neither"]
Variant = Literal["corrected", "as-published"]
Verdict = Literal["supported", "not supported", "cannot tell"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


_OPTIONAL = ("low", "high", "null", "best")


class Score(_Frozen):
    """One number with its interval and what it takes to read it."""

    quantity: str
    dataset: str
    model: str
    method: str
    variant: Variant
    target: str
    """What was explained: the predicted class, the gold class, or the model as a whole."""
    value: float
    low: float | None
    high: float | None
    level: float
    n: int
    direction: Direction
    null: float | None
    """What a random explanation gets; None where no single number says."""
    best: float | None
    """The best attainable value, where known."""
    note: str = ""
    """Why a bound is missing, or how to read the score."""


class ResultWarning(_Frozen):
    """A reason to trust a result less."""

    code: str
    where: str
    message: str


class Abstention(_Frozen):
    """A question that could not be answered, and why. It never comes with a number."""

    quantity: str
    where: str
    reason: str


class Claim(_Frozen):
    """A conclusion of a paper, checked."""

    claim: str
    verdict: Verdict
    evidence: str


_OTHER_VERSION = "The stored result was made by another version of trueness: run the study again."
_PARTS: dict[str, Any] = {"scores": Score, "warnings": ResultWarning, "abstentions": Abstention, "claims": Claim}


@dataclass(frozen=True, repr=False)
class Result:
    """The outcome of a protocol or a study."""

    records: pd.DataFrame = field(repr=False)
    """Tidy: one row per instance and condition, enough to redraw every figure."""
    scores: tuple[Score, ...] = ()
    warnings: tuple[ResultWarning, ...] = ()
    abstentions: tuple[Abstention, ...] = ()
    claims: tuple[Claim, ...] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict, repr=False)
    """Summaries that figures are drawn from, by name."""

    def __repr__(self) -> str:
        parts = [f"{len(self.records):,} records", f"{len(self.scores)} scores"]
        parts += [f"{len(getattr(self, name))} {name}" for name in ("claims", "warnings", "abstentions")]
        return f"<{type(self).__name__}: {', '.join(part for part in parts if not part.startswith('0 '))}>"

    def to_pandas(self) -> pd.DataFrame:
        """The per-instance records."""
        return self.records

    def score_table(self) -> pd.DataFrame:
        """The scores, one row each; a bound that cannot be told is missing (pandas' NA), and the note says why."""
        import pandas as pd

        table = pd.DataFrame([score.model_dump() for score in self.scores])
        return table.astype(dict.fromkeys(_OPTIONAL, "Float64")) if len(table) else table

    def to_json(self) -> dict[str, Any]:
        """Everything but the records and tables, as plain JSON."""
        return {name: [item.model_dump() for item in getattr(self, name)] for name in _PARTS}

    def payloads(self) -> dict[str, Any]:
        """How the result is kept in a store, with what it consists of."""
        about = {"schema": SCHEMA, "tables": list(self.tables)}
        return {"result": {**about, **self.to_json()}, "records": self.records, **self.tables}

    @classmethod
    def from_payloads(cls, read: Mapping[str, Any], beside: Mapping[str, pd.DataFrame] | None = None) -> Result:
        """The inverse of `payloads`; `beside` are tables that come from elsewhere."""
        try:
            plain = read["result"]
            tables = {name: read[name] for name in plain["tables"]}
            if plain["schema"] != SCHEMA or set(read) != {"result", "records", *tables}:
                raise UserError(_OTHER_VERSION)
            parts = {name: tuple(form(**item) for item in plain[name]) for name, form in _PARTS.items()}
        except (ValidationError, KeyError, TypeError) as error:
            raise UserError(_OTHER_VERSION) from error
        if not all(hasattr(one, "columns") for one in (read["records"], *tables.values())):
            raise UserError(_OTHER_VERSION)
        return cls(read["records"], **parts, tables={**tables, **(beside or {})})

    def _repr_html_(self) -> str:
        """In a notebook: what the study concludes, warnings, scores."""
        from html import escape

        lines = [f"<li><b>{escape(item.verdict)}</b>: {escape(item.claim)}</li>" for item in self.claims]
        lines += [f"<li>warning: {escape(item.where)}: {escape(item.message)}</li>" for item in self.warnings]
        lines += [
            f"<li>could not be measured: {escape(item.where)}: {escape(item.reason)}</li>" for item in self.abstentions
        ]
        shown = ["quantity", "dataset", "model", "method", "value", "low", "high", "n", "null", "best", "direction"]
        table = self.score_table()
        if len(table):
            table = table[shown].astype(dict.fromkeys(_OPTIONAL, "float64"))
        html: str = table.to_html(index=False, float_format="{:.3f}".format, na_rep="–") if len(table) else ""
        return f"<ul>{''.join(lines)}</ul>{html}"
