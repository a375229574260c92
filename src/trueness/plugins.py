"""The door for other people's code: things outside the package are found by name, and known by their source.

A name is `package.module:Name`, `path/to/file.py:name`, or what a package's entry point or a decorator calls it. Where
it is used by a task, the name travels as a `Reference`, which tells a worker where to find the thing, and tells the
task's key what it was: its version and a digest of its source. Another function, another key.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import hashlib
import importlib
import importlib.util
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from trueness import carried
from trueness.boundary import calling, importing
from trueness.errors import UserError

_ADDRESS = re.compile(r"(?P<module>[A-Za-z_][\w.]*|[^\[\]]*\.py):(?P<name>[A-Za-z_][\w.]*)")
_OWN = __name__.split(".", maxsplit=1)[0]
CARRIED = f"{carried.MODULE}:"
"""The address of what was made in the process that asks: its digest alone finds it."""
remembered: contextvars.ContextVar[Mapping[str, Source]] = contextvars.ContextVar("remembered", default={})  # noqa: B039
"""Where something of a name was found by who asked for a task: a worker has other folders.

Each thread has its own, so that workers that are threads do not hide a changed file from who asks.
"""
_loaded: dict[str, Path] = {}
"""The files of modules that were read by their path."""
_imported: dict[str, str] = {}
"""The digests of modules when they were imported."""
_beside: contextvars.ContextVar[Path | None] = contextvars.ContextVar("beside", default=None)
_told_by: contextvars.ContextVar[str] = contextvars.ContextVar("told_by", default="")


@dataclass(frozen=True)
class Source:
    """Something outside the package: what it is called, where it is found, and what it was when it was named."""

    name: str
    address: str
    """`package.module:Name`, or `/path/to/file.py:name`."""
    root: str
    """Where on Python's path its package lies; empty for a file."""
    digest: str
    """Of the source file."""
    version: str
    """As the thing itself declares."""

    @property
    def identity(self) -> dict[str, str]:
        """What of it belongs to a key: not where it lies."""
        return {"name": self.name, "version": self.version, "source": self.digest}

    @property
    def carried(self) -> bool:
        """Whether it was made in the process that asks, and no file has it."""
        return self.address == CARRIED

    def load(self) -> Any:
        """Import it; UserError where it is not what was named."""
        if self.carried:
            return carried.find(self.name, self.digest)
        found, now = find(self.address, self.root)
        if now.digest != self.digest:
            raise UserError(f"{self.name} was changed while the study ran; run it again.")
        return found


class Reference(str):
    """A name that stands for something outside the package, or contains one, as in `blurred[mine.py:saliency]`."""

    sources: tuple[Source, ...]

    def __new__(cls, name: str, sources: tuple[Source, ...] = ()) -> Reference:  # noqa: D102
        made = super().__new__(cls, name)
        made.sources = sources
        return made

    @property
    def identity(self) -> dict[str, Any]:
        """What of it belongs to a key."""
        return {"outside": str(self), "sources": [source.identity for source in self.sources]}


def made_here(names: Iterable[object]) -> list[Source]:
    """The sources among some names of what only this process has."""
    return [source for name in names if isinstance(name, Reference) for source in name.sources if source.carried]


def is_address(name: str) -> bool:
    """Whether a name says where something is found: `package.module:Name` or `file.py:name`."""
    return _ADDRESS.fullmatch(name) is not None and not name.startswith("hf:")


def is_function(model: str | Path) -> bool:
    """Whether a model is named by the address of a function; what lies on the disk under that name is no address."""
    return isinstance(model, str) and is_address(model) and not Path(model).exists()


@contextlib.contextmanager
def looking_beside(folder: Path | None) -> Iterator[None]:
    """Files that are not in the working folder are looked for there too, as beside a study file."""
    token = _beside.set(folder)
    try:
        yield
    finally:
        _beside.reset(token)


@contextlib.contextmanager
def told_by(source: object) -> Iterator[None]:
    """Names inside were read from a file, and not given by the user: no code is looked for by an address among them.

    What the user gave before, in this process or to who asked for the task, is found.
    """
    token = _told_by.set(str(source))
    try:
        yield
    finally:
        _told_by.reset(token)


def check_given(address: str) -> None:
    """Refuse an address that no user gave."""
    if source := _told_by.get():
        raise UserError(
            f"{source} names {address}, which is code outside of trueness, and is run only if you name it yourself: in "
            "a command, a study file, or by an entry point of an installed package."
        )


def find(address: str, root: str = "") -> tuple[Any, Source]:
    """What an address names, and its source; UserError says what is missing."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise UserError(f"{address!r} names nothing: write package.module:Name or path/to/file.py:name.")
    if match["module"] == carried.MODULE and importlib.util.find_spec(carried.MODULE) is None:
        raise carried.elsewhere(address)
    if match["module"].endswith(".py"):
        path = _file(match["module"])
        if path is None:
            raise UserError(f"There is no file {match['module']}.")
        module, root = _read(path), ""
        called, where = f"{path.name}:{match['name']}", f"{path}:{match['name']}"
    else:
        module = _import(match["module"], root)
        called = where = address
        root = _root(module)
    with calling(called, module):
        try:
            thing = functools.reduce(getattr, match["name"].split("."), module)
        except AttributeError:
            raise UserError(f"{match['module']} has no {match['name']}.") from None
        version = str(getattr(thing, "version", ""))
    return thing, Source(called, where, root, _digest(module), version)


def home(maker: Any) -> Source | None:
    """The source of a function or class; None of the package's own. UserError where no worker could import it."""
    module, name = str(maker.__module__), str(maker.__qualname__)
    if module.split(".", maxsplit=1)[0] == _OWN:
        return None
    if module in _loaded:
        return find(f"{_loaded[module]}:{name}")[1]
    if module == "__main__" or module not in sys.modules or "<" in name:
        raise UserError(
            f"{maker.__name__} is defined in a script, a notebook or another function, from where no worker can import "
            f"it: put it into a file of its own, such as mine.py, and name it mine.py:{maker.__name__}."
        )
    return find(f"{module}:{name}", _root(sys.modules[module]))[1]


def importable(thing: Any) -> bool:
    """Whether a worker finds a function, a class, or a dataclass of plain settings, where its module says it is."""
    plain = dataclasses.is_dataclass(thing) and not isinstance(thing, type) and not hasattr(thing, "__name__")
    maker = type(thing) if plain else thing
    if not hasattr(maker, "__qualname__"):
        return False
    if plain and maker.__module__.split(".", maxsplit=1)[0] != _OWN:
        values = (getattr(thing, field.name) for field in dataclasses.fields(thing))
        if not all(isinstance(value, str | int | float) for value in values):
            return False
    if maker.__module__ == "__main__":
        return False
    there: Any = sys.modules.get(maker.__module__)
    for name in str(maker.__qualname__).split("."):
        there = getattr(there, name, None)
    return there is maker


def same_place(first: Any, second: Any) -> bool:
    """Whether one function or class is another version of the other: the same name in the same file or notebook."""
    if first is None or second is None:
        return False
    one, other = ((_loaded.get(made.__module__, made.__module__), made.__qualname__) for made in (first, second))
    return one == other


def is_there(address: str) -> bool:
    """Whether the file that an address names is there; modules are."""
    module = address.rpartition(":")[0]
    return not module.endswith(".py") or _file(module) is not None


@functools.cache
def entry_points(group: str) -> dict[str, str]:
    """The names that installed packages offer in a group, and their addresses."""
    if not group:
        return {}
    from importlib import metadata

    return {point.name: point.value for point in metadata.entry_points(group=group)}


def _file(path: str) -> Path | None:
    places = (Path(path), (_beside.get() or Path()) / path)
    return next((place.resolve() for place in places if place.is_file()), None)


def _read(path: Path) -> ModuleType:
    """A file as a module; read again when it has changed."""
    content = path.read_bytes()
    name = f"trueness_file_{path.stem}_{_bytes_digest(str(path).encode() + content)[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name], _loaded[name] = module, path
    try:
        with importing(str(path), str(path), functools.partial(_way_to, path)):
            exec(compile(content, str(path), "exec"), module.__dict__)  # it was named to be run
    except BaseException:
        del sys.modules[name], _loaded[name]
        raise
    return module


def _way_to(path: Path, error: BaseException) -> str:
    """How a file imports its neighbour, where that is what failed: a file is read alone, here and in every worker."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if not name or not any((path.parent / place).exists() for place in (f"{name}.py", name)):
        return ""
    folder = shlex.quote(str(path.parent))
    return (
        f": {name} lies beside it, and that folder is not on Python's path; set PYTHONPATH={folder}, or put what it "
        f"needs of {name} into the file"
    )


def _import(name: str, root: str) -> ModuleType:
    try:
        with importing(name, way=_way_to_module):
            module = importlib.import_module(name)
    except UserError as error:
        if root and root not in sys.path and isinstance(error.__cause__, ModuleNotFoundError):
            sys.path.append(root)
            return _import(name, "")
        raise
    digest = _digest(module)
    if _imported.setdefault(name, digest) != digest:  # a worker that lives long must not compute with what was
        with importing(name):
            module = importlib.reload(module)
        _imported[name] = digest
    return module


def _way_to_module(error: BaseException) -> str:
    missing = isinstance(error, ImportError)
    return ": install it, or name its file: path/to/file.py:name" if missing else ""


def _origin(module: ModuleType) -> Path | None:
    origin = getattr(module.__spec__, "origin", None)
    return Path(origin) if origin is not None and Path(origin).is_file() else None


def _root(module: ModuleType) -> str:
    """Where on Python's path its package lies."""
    origin = _origin(module)
    if origin is None:
        return ""
    depth = module.__name__.count(".") + (origin.name == "__init__.py")
    return str(origin.resolve().parents[depth])


def _digest(module: ModuleType) -> str:
    origin = _origin(module)
    return _bytes_digest(origin.read_bytes()) if origin is not None else ""


def _bytes_digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()
