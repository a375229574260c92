"""Names of things: one registry per kind, open to things outside the package, with the nearest names when unknown."""

from __future__ import annotations

import dataclasses
import difflib
import re
import tomllib
import typing
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from trueness import carried, plugins
from trueness.boundary import calling
from trueness.errors import UserError
from trueness.plugins import Reference, Source

T = TypeVar("T")

_SETTINGS = re.compile(r"(?P<base>.+?)\[(?P<settings>\w+\s*=.*)\]")


def nearest(name: str, known: list[str], otherwise: str = "") -> str:
    """A clause that names what the user may have meant; where nothing is close `otherwise`, or all that is known."""
    close = [item for item in known if name and name in item] or difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    if otherwise:
        return otherwise
    return f"known are {', '.join(sorted(known))}." if known else "none is registered."


def matching(name: str, known: Iterable[str], *, loosely: bool = False) -> str | None:
    """The one that a name stands for among others: itself, or the only one that is it with settings.

    `lime` stands for `lime[n_samples=200]`. `loosely`, two names with other settings stand for one another.
    """
    names = list(known)
    if name in names:
        return name
    wanted = without_settings(name) if loosely else name
    alike = [one for one in names if without_settings(one) == wanted]
    return alike[0] if len(alike) == 1 else None


def without_settings(name: str) -> str:
    """`lime` of `lime[n_samples=200]`; `attention[3]` and `blurred[lime]` are other methods, and stay."""
    found = _SETTINGS.fullmatch(name)
    return name if found is None else found["base"]


FILLED_BY: dict[str, tuple[str, ...]] = {}
"""By the group of a registry: modules that register things in it, and are loaded when it is first used."""


@dataclasses.dataclass(frozen=True)
class _Entry(Generic[T]):
    thing: T
    description: str
    maker: Any = None
    """The function or class behind it, if a decorator registered that."""
    source: Source | None = None
    """Where it came from, if it was found by its address."""
    make: Callable[[], T] | None = None
    """Makes the thing when it is first asked for, so that a list of names loads nothing."""


@dataclasses.dataclass(frozen=True)
class _Family(Generic[T]):
    pattern: re.Pattern[str]
    make: Callable[..., T]
    class_name: str
    spell: Callable[[Any], str]


class Registry(Generic[T]):
    """A mapping from names to things of one kind, each with a line that says what it is.

    What lies outside the package is found by its address, `package.module:Name` or `path/to/file.py:name`, or by the
    name of an entry point in `group`; `adapt` makes a thing of this kind of whatever is found there. `NAME[key=value]`
    is a dataclass with other settings. The top of the package says in `FILLED_BY` which modules fill a registry.
    """

    def __init__(self, kind: str, *, group: str = "", adapt: Callable[[Any, str], T] | None = None) -> None:
        self.kind, self.group, self._adapt, self._full = kind, group, adapt, False
        self._entries: dict[str, _Entry[T]] = {}
        self._families: list[_Family[T]] = []

    def add_family(self, pattern: str, make: Callable[..., T], class_name: str, spell: Callable[[Any], str]) -> None:
        """Names of one form stand for things made from what the pattern's groups hold.

        `spell` gives a thing of that class its name.
        """
        self._families.append(_Family(re.compile(pattern), make, class_name, spell))

    def add_later(self, name: str, make: Callable[[], T], description: str) -> None:
        """Register what is made, and its module loaded, when it is first asked for."""
        self._entries[name] = _Entry(cast(T, None), description, make=make)

    def _thing(self, name: str) -> T:
        entry = self._entries[name]
        if entry.make is not None:
            entry = self._entries[name] = dataclasses.replace(entry, thing=entry.make(), make=None)
        return entry.thing

    def add(self, name: str, thing: T, description: str, *, maker: Any = None) -> T:
        """Register under a new name; what a decorator registered from the same place before is replaced."""
        before = self._entries.get(name)
        if before is not None and not plugins.same_place(before.maker, maker):
            article = "an" if self.kind[0] in "aeiou" else "a"
            raise UserError(f"There is already {article} {self.kind} named {name!r}; choose another name.")
        self._entries[name] = _Entry(thing, description, maker)
        return thing

    def describe(self, name: str) -> str:
        """What it is, in one line."""
        entry = self._filled().get(name)
        return entry.description if entry is not None else f"from {plugins.entry_points(self.group)[name]}"

    def name_of(self, thing: Any) -> str:
        """The name by which a thing is found again: of a name itself, of an object its own; UserError without one."""
        if isinstance(thing, str):
            return thing
        for name, entry in list(self._filled().items()):
            if thing is self._thing(name) or (entry.maker is not None and thing is entry.maker):
                return name
        for family in self._families:
            if type(thing).__name__ == family.class_name and type(thing).__module__.startswith("trueness."):
                return family.spell(thing)
        if not dataclasses.is_dataclass(thing) or isinstance(thing, type) or hasattr(thing, "__name__"):
            return self._address_of(thing)
        alike = {name: entry.thing for name, entry in self._entries.items() if type(entry.thing) is type(thing)}
        bases: dict[str, Any] = alike or {self._address_of(type(thing)): type(thing)}
        changes = {name: _changes(other, thing) for name, other in bases.items()}
        name, changed = min(changes.items(), key=lambda pair: len(pair[1]))
        return f"{name}[{changed}]" if changed else name

    def _address_of(self, maker: Any) -> str:
        if not hasattr(maker, "__qualname__"):
            raise UserError(f"{maker!r} is no {self.kind}: give a name, a function, or a dataclass.")
        source = plugins.home(maker)
        return f"{maker.__module__}:{maker.__qualname__}" if source is None else self._keep(source)

    def carry(self, thing: Any, name: str) -> Reference:
        """The name of a thing that was made in this process, as a task may carry it; see `trueness.carried`.

        What had that name before in this process gives way. UserError where something else has it.
        """
        before = self._filled().get(name)
        if before is not None and self.only_here(name) is not thing and not (before.source and before.source.carried):
            raise UserError(f"There is already a {self.kind} named {name!r}: give yours another name.")
        digest = carried.carry(thing)
        source = Source(name, plugins.CARRIED, "", digest, str(getattr(thing, "version", "")))
        if before is None or before.source != source:
            if before is not None and before.source is not None:
                carried.forget(before.source.digest)
            assert self._adapt is not None
            with calling(name, thing):
                made = self._adapt(thing, name)
            maker = None if before is None else before.maker
            self._entries[name] = _Entry(made, "made in this process", maker, source)
        return Reference(name, (source,))

    def only_here(self, name: object) -> Any:
        """What a decorator registered under a name in a notebook or a script, where no worker finds it; else None."""
        entry = self._filled().get(name) if isinstance(name, str) else None
        maker = None if entry is None else entry.maker
        return None if maker is None or plugins.importable(maker) else maker

    def reference(self, name: str) -> str:
        """The name as a task may carry it: with the sources of all in it that lies outside the package.

        UserError for what is unknown, or what a worker could not import.
        """
        if not isinstance(name, Reference):
            sources: dict[Source, None] = {}
            name = self._canonical(name, sources)
            name = Reference(name, tuple(sources)) if sources else name
        if name not in self._entries:  # a plain name needs no look at the thing, which may be slow to load
            self[name]
        return name

    def _canonical(self, name: str, sources: dict[Source, None]) -> str:
        """The same name without folders; the sources of what it contains are added to the others, each once."""
        entry = self._filled().get(name)
        if entry is not None and entry.source is not None and entry.source.carried:
            sources[entry.source] = None
            return name
        for family in self._families:
            if found := family.pattern.fullmatch(name):
                for group in found.groups():
                    if group is not None and not group.isdigit():
                        name = name.replace(group, self._canonical(group, sources))
                return name
        if found := _SETTINGS.fullmatch(name):
            return f"{self._canonical(found['base'], sources)}[{found['settings']}]"
        source = self._source_of(name)
        if source is None:
            return name
        sources[source] = None
        return self._keep(source)

    def _source_of(self, name: str) -> Source | None:
        """Where a thing of that name lies, if it is outside the package."""
        entry = self._filled().get(name)
        before = None if entry is None else entry.source
        if entry is not None and before is None:
            source = None if entry.maker is None else plugins.home(entry.maker)
        elif name in plugins.remembered.get():
            return plugins.remembered.get()[name]
        elif plugins.is_address(name) and self._adapt is not None:
            if before is not None and not plugins.is_there(name):
                return plugins.find(before.address, before.root)[1]
            if before is None:
                plugins.check_given(name)
            return plugins.find(name)[1]
        else:
            address = plugins.entry_points(self.group).get(name)
            source = None if address is None else plugins.find(address)[1]
        return None if source is None else dataclasses.replace(source, name=name)

    def _keep(self, source: Source) -> str:
        """Register what a source holds under its name, unless it is there as it is; the name."""
        entry = self._entries.get(source.name)
        if entry is None or entry.source != source:
            thing = source.load()
            entry = self._entries.get(source.name)
            if entry is not None and entry.source is None:
                return source.name  # it registered itself
            if self._adapt is None:
                raise UserError(f"A {self.kind} cannot be given by an address.")
            with calling(source.name, thing):
                first = (getattr(thing, "__doc__", None) or "").strip().split("\n")[0]
                made = self._adapt(thing, source.name)
            self._entries[source.name] = _Entry(made, first or f"from {source.address}", source=source)
        return source.name

    def _filled(self) -> dict[str, _Entry[T]]:
        if not self._full:
            self._full = True
            for module in FILLED_BY.get(self.group, ()):
                import_module(module)
        return self._entries

    def __getitem__(self, name: str) -> T:
        self._filled()
        for source in name.sources if isinstance(name, Reference) else ():
            self._keep(source)
        for family in self._families:
            if found := family.pattern.fullmatch(name):
                return family.make(*found.groups())
        if name in self._entries:
            return self._thing(name)
        if found := _SETTINGS.fullmatch(name):
            return self._set(found["base"], found["settings"])
        if (outside := self._source_of(name)) is None:
            raise UserError(f"There is no {self.kind} named {name!r}; {nearest(name, list(self))}")
        return self._entries[self._keep(outside)].thing

    def _set(self, base: str, settings: str) -> T:
        """The thing of that name with other settings."""
        thing: Any = self[base]
        try:
            values = tomllib.loads(f"values = {{{_quoted(settings)}}}")["values"]
        except tomllib.TOMLDecodeError as error:
            raise UserError(f"{base}[{settings}]: expected key=value, key=value ({error}).") from error
        if isinstance(thing, type) or not dataclasses.is_dataclass(thing):
            raise UserError(f"{base} has no settings.")
        known = [field.name for field in dataclasses.fields(thing) if field.init]
        for key in values:
            if key not in known:
                raise UserError(f"{base} has no setting {key}; {nearest(key, known)}")
        _check(base, type(thing), values)
        try:
            return cast(T, dataclasses.replace(cast(Any, thing), **values))
        except (TypeError, ValueError) as error:
            raise UserError(f"{base}[{settings}]: {error}.") from error

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        base = found["base"] if (found := _SETTINGS.fullmatch(name)) else name
        made = any(family.pattern.fullmatch(name) for family in self._families)
        outside = self._adapt is not None and plugins.is_address(base)
        return made or outside or base in self._filled() or base in plugins.entry_points(self.group)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._filled(), *plugins.entry_points(self.group)}))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _check(base: str, kind: type, values: dict[str, Any]) -> None:
    """Refuse values that the annotations of a dataclass forbid, as far as these can be read."""
    from pydantic import ConfigDict, PydanticSchemaGenerationError, TypeAdapter, ValidationError

    try:
        hints = typing.get_type_hints(kind)
    except (NameError, TypeError):
        return
    for key, value in values.items():
        try:
            TypeAdapter(hints[key], config=ConfigDict(strict=True)).validate_python(value)
        except PydanticSchemaGenerationError:
            continue
        except ValidationError as error:
            wanted = " or ".join(dict.fromkeys(one["msg"].removeprefix("Input should be ") for one in error.errors()))
            raise UserError(f"{base}: {key} should be {wanted}, not {value!r}.") from error


def _changes(base: Any, thing: Any) -> str:
    """The settings in which a dataclass differs from another one of its class, or from the defaults of its class."""
    found = []
    for field in dataclasses.fields(thing):
        before, after = getattr(base, field.name, dataclasses.MISSING), getattr(thing, field.name)
        if after != before:
            text = str(after).lower() if isinstance(after, bool) else str(after)
            found.append(f"{field.name}={text}")
    return ", ".join(found)


def _quoted(settings: str) -> str:
    """Words need no quotes: output=logit."""
    return re.sub(r"=\s*(?!true\b|false\b|inf\b|nan\b)([A-Za-z_][\w-]*)", r'="\1"', settings)
