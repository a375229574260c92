"""What every study file has in common, and how its values are checked."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationInfo

from trueness.errors import UserError
from trueness.models.recipes import RECIPES
from trueness.registry import Registry

T = TypeVar("T")

MOST_SEEDS = 5_000
"""More would take longer to plan than any study needs."""


def as_list(value: Any) -> Any:
    """One value stands for a list of it."""
    return value if isinstance(value, list | tuple) else [value]


def _seeds(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_SEEDS:
            raise ValueError(f"give between 1 and {MOST_SEEDS:,} seeds, not {value:,}")
        return list(range(value))
    return as_list(value)


def distinct(values: list[Any]) -> list[Any]:
    """Refuse repeated values."""
    if len(set(values)) != len(values):
        raise ValueError("the same value is given twice")
    return values


def named_apart(paths: list[str]) -> list[str]:
    """Refuse folders that are called the same: results name a dataset by the last part of its path."""
    names = [Path(path).name for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two datasets are called {name}; rename one of them")
    return paths


RECORDED = {"recorded": True}
"""Validation context of a study that has run: what it names need not be here any more. That of another one is the
settings beside its file, by their path."""


@contextlib.contextmanager
def refused() -> Iterator[None]:
    """What a person can fix is said of the key of the study file."""
    try:
        yield
    except UserError as error:
        raise ValueError(str(error)) from error


def known(registry: Registry[Any]) -> PlainValidator:
    """Of a name, or of an object that has one: the name as tasks carry it, if the registry knows it."""

    def check(value: Any, info: ValidationInfo) -> str:
        with refused():
            return str(value) if info.context is RECORDED else registry.reference(registry.name_of(value))

    return PlainValidator(check)


def in_groups(items: Sequence[T], size: int) -> list[list[T]]:
    """So many at a time, for example the models that one task trains."""
    return [list(items[begin : begin + size]) for begin in range(0, len(items), size)]


def _increasing(values: list[float]) -> list[float]:
    if any(after <= before for before, after in itertools.pairwise(values)):
        raise ValueError("the ratios must increase")
    return values


Distinct = Annotated[list[T], BeforeValidator(as_list), AfterValidator(distinct)]
"""Values of which none occurs twice; one stands for a list of it."""
Several = Annotated[Distinct[T], Field(min_length=1)]
"""The same, and at least one."""
RecipeName = Annotated[str, known(RECIPES)]
Seed = Annotated[int, Field(ge=0, lt=2**32, strict=True)]
Seeds = Annotated[
    list[Seed], BeforeValidator(_seeds), AfterValidator(distinct), Field(min_length=1, max_length=MOST_SEEDS)
]
"""A list of seeds, or how many: 3 means 0, 1, 2."""
Ratio = Annotated[float, Field(ge=0, le=1)]
Ratios = Annotated[list[Ratio], AfterValidator(_increasing), Field(min_length=2)]


class Part(BaseModel):
    """A table of a study file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Study(Part):
    """A declarative study; kinds of study add their own keys."""

    kind: str
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=80)
    title: str
    question: str
    paper: str
    seeds: Seeds
