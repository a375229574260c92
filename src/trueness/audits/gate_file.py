"""gate.toml: what must hold of an audit, and exactly what is wrong with a file that cannot be read."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, PrivateAttr, ValidationError

from trueness.audits.gate_outcome import Openness
from trueness.audits.saved import read_limited
from trueness.audits.verdict import Decision
from trueness.boundary import printable, quoted, short
from trueness.errors import UserError
from trueness.registry import matching, nearest, without_settings
from trueness.studies.loading import find_line, parse_toml

LARGEST = 1 << 20
"""Bytes of a gate file."""

_DECISIONS = ", ".join(f'"{decision}"' for decision in get_args(Decision))
_WANTED = {
    "verdict": f"a table in which each explainer has one of {_DECISIONS} or a list of them; a name with a dot or a "
    "colon stands in quotes",
    "floor": 'a table of numbers for each explainer, such as "removal costs" = 0.1 under [floor.lime]',
    "baseline": "a table with no_worse = true, or with a list of explainers",
    "cannot_tell": '"fail", "pass" or "report"',
    "require_any": "a whole number of at least 1",
    "foils_must_fail": "true or false",
}
"""What each key takes."""


def _several(given: Any) -> Any:
    """A list as a tuple, and one name as a tuple of it."""
    several = [given] if isinstance(given, str) else given
    return tuple(several) if isinstance(several, list) and several else several


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Baseline(_Strict):
    """What is compared with an earlier audit."""

    no_worse: Annotated[bool | tuple[str, ...], BeforeValidator(_several)]
    """True: every explainer of the earlier audit but foils."""


class Gate(_Strict):
    """What must hold of an audit."""

    verdict: Mapping[str, Annotated[tuple[Decision, ...], BeforeValidator(_several)]] = {}
    """Explainer to the decisions that are accepted. A name without settings stands for the one that has some."""
    floor: Mapping[str, Mapping[str, FiniteFloat]] = {}
    """Explainer and trial to what the lower end of the interval of the trial's first check has to reach."""
    baseline: Baseline | None = None
    cannot_tell: Openness = "report"
    """What becomes of the gate if a condition can neither be said to hold nor not to hold."""
    require_any: int = Field(default=0, ge=1)
    """How many explainers at least may be shown; foils do not count."""
    foils_must_fail: bool = True
    _gate_source: str = PrivateAttr("the gate")
    _gate_text: str = PrivateAttr("")

    @classmethod
    def parse(cls, text: str, source: str = "the gate") -> Gate:
        """The gate that a TOML text states; UserError with the line and the key at fault."""
        content = parse_toml(source, text)
        try:
            gate = cls.model_validate(content)
        except ValidationError as error:
            # A misspelt key explains the missing one, so it comes first.
            found = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
            raise UserError(_explain(found[0], content, source, text)) from error
        gate._gate_source, gate._gate_text = source, text
        stated = (gate.verdict, any(gate.floor.values()), gate.no_worse, gate.require_any)
        if not any(stated) and not ("foils_must_fail" in gate.model_fields_set and gate.foils_must_fail):
            raise UserError(f"{source} states nothing that must hold; write for example require_any = 1.")
        return gate

    @property
    def no_worse(self) -> bool | tuple[str, ...]:
        """What is compared with an earlier audit; False for nothing."""
        return self.baseline.no_worse if self.baseline is not None else False

    def place(self, *location: str) -> str:
        """The file, and the line on which a key stands."""
        return _place(self._gate_source, self._gate_text, location)


def read_gate(path: str | Path) -> Gate:
    """The gate that a file states; whatever is wrong with it is a UserError of one sentence."""
    content = read_limited(Path(path), "gate file", LARGEST)
    source = short(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{source} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from error
    return Gate.parse(text, source)


def check_names(gate: Gate, explainers: Iterable[str], trials: Iterable[str] | None = None) -> None:
    """UserError if the gate speaks of an explainer or a trial that an audit of these does not have.

    It needs no audit, so that a misspelt name is found before any work.
    """
    known, tried = list(explainers), None if trials is None else list(trials)
    for location in _named(gate):
        in_baseline = location[0] == "baseline"
        name, place = location[2 if in_baseline else 1], gate.place(*location[:2] if in_baseline else location)
        if matching(name, known, loosely=in_baseline) is None:
            raise UserError(f"{place}: the audit {no_explainer(name, known)}")
        if location[0] == "floor" and tried is not None and location[2] not in tried:
            raise UserError(f"{place}: the audit has no trial {plain(location[2])!r}; {near(location[2], tried)}")


def no_explainer(name: str, known: Sequence[str]) -> str:
    """That a name stands for none of some explainers, or for several, and what may have been meant."""
    several = [plain(one) for one in known if without_settings(one) == name]
    if several:
        return f"has {' and '.join(several)}: name one of them."
    return f"has no explainer {plain(name)!r}; {near(name, known)}"


def near(name: str, known: Iterable[str]) -> str:
    """A clause that names what may have been meant, on one line."""
    return nearest(plain(name), [plain(one) for one in known])


def plain(name: str) -> str:
    """A name for one line of text."""
    return short(" ".join(printable(name).split()))


def _named(gate: Gate) -> Iterator[tuple[str, ...]]:
    yield from (("verdict", name) for name in gate.verdict)
    yield from (("floor", name, trial) for name, floors in gate.floor.items() for trial in floors)
    if not isinstance(gate.no_worse, bool):
        yield from (("baseline", "no_worse", name) for name in gate.no_worse)


def _place(source: str, text: str, location: tuple[str, ...]) -> str:
    line = find_line(text, location)
    return f"{source}, line {line}" if line else source


def _explain(problem: Any, content: Any, source: str, text: str) -> str:
    top = problem["loc"][0]
    location = tuple(str(part) for part in problem["loc"][: 3 if top == "floor" else 2])
    place, shown = _place(source, text, location), plain(".".join(location))
    if problem["type"] == "extra_forbidden":
        known = Gate.model_fields if len(location) == 1 else Baseline.model_fields
        if location[-1] in Gate.model_fields:
            return _too_low(place, location)
        return f"{place}: there is no key {shown}; {nearest(location[-1], list(known))}"
    if problem["type"] == "missing":
        return f"{place}: the key {shown} is missing; {top} is {_WANTED[top]}."
    if len(location) > 1 and location[1] in Gate.model_fields:
        return _too_low(place, location[:2])
    found = functools.reduce(dict.__getitem__, location, content)
    return f"{place}: {shown}: {top} must be {_WANTED[top]}; found {quoted(found)}."


def _too_low(place: str, location: tuple[str, ...]) -> str:
    return f"{place}: {location[-1]} stands inside [{location[0]}]; move it above the first line in brackets."
