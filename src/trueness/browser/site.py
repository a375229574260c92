"""All pages over some stores: an address in, a page out; nothing that an address says is ever a path."""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trueness.audits import page as audit_page
from trueness.browser.cells import encode_cells
from trueness.browser.index import Index
from trueness.browser.runs import KEY, Run, runs_of
from trueness.engine import DamagedObjectError, Store, read_progress
from trueness.errors import UserError
from trueness.report.figure import Figure
from trueness.report.instances import encode
from trueness.report.page import environment, shared, template
from trueness.version import __version__

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'"
)
"""No script and no style but our files, nothing from elsewhere."""
_KEPT = 8
"""Runs whose results stay in memory."""
MEDIA = {
    **{"html": "text/html; charset=utf-8", "json": "application/json", "svg": "image/svg+xml"},
    **{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"},
}


@dataclass(frozen=True)
class Page:
    """What an address answers."""

    content: bytes
    media: str = MEDIA["html"]
    status: int = 200
    lasting: bool = False
    """Whether it never changes: it shows one result, whose key is in the address."""


class MissingError(UserError):
    """Nothing has this address; says what to do."""


class Site:
    """Some stores by name. `texts` false leaves out all words of the data, `live` false what changes while runs go."""

    def __init__(self, stores: Mapping[str, Store], *, texts: bool = True, live: bool = True) -> None:
        self.stores, self.texts, self.live = dict(stores), texts, live
        self._indexes = {name: Index(store, patient=not live) for name, store in self.stores.items()}
        self._first: tuple[list[dict[str, Any]], Page] | None = None
        self._kept: OrderedDict[tuple[str, str], Run] = OrderedDict()
        self._drawing = threading.Lock()
        self.templates = environment("trueness.browser")
        self.templates.globals.update(version=__version__, policy=POLICY, live=live)

    def page(self, address: str) -> Page:
        """The page of an address, whatever the address says; a fault of a store becomes a page too."""
        try:
            return self._found(address)
        except MissingError as error:
            return self._fault(404, "There is no such page", str(error), address)
        except UserError as error:
            return self._fault(422, "This cannot be shown", str(error), address)
        except DamagedObjectError as error:
            return self._fault(
                410, "This result is damaged or gone", f"{error}. Run the study again to compute it anew.", address
            )

    def addresses(self) -> Iterator[str]:
        """Of all pages, for an export."""
        yield "index.html"
        yield from (f"assets/{name}" for name in _assets())
        for name, store in self.stores.items():
            for key in runs_of(store):
                yield from (f"{name}/{key}/{page}" for page in self._pages(self._run(name, key)))

    def _pages(self, run: Run) -> Iterator[str]:
        yield "index.html"
        try:
            with run.opened():
                figures, audits, texts = self._figures(run), run.audits, self.texts and len(run.instances)
        except (UserError, DamagedObjectError):
            return
        yield from ("plots.html", "plots.json")
        if texts:
            yield from ("texts.html", "texts.json")
        for figure in figures.values():
            yield f"figure-{figure.name}.html"
            yield from (f"figure-{figure.name}.{number}.svg" for number in range(len(options(figure))))
        yield from (f"audit-{number}.html" for number in range(1, len(audits) + 1))

    def _found(self, address: str) -> Page:
        match address.split("/"):
            case [""] | ["index.html"]:
                return self._overview()
            case ["assets", name] if name in _assets():
                return Page(_assets()[name].encode(), MEDIA[name.rsplit(".", 1)[1]])
            case [store, name] if store in self.stores and (match := re.fullmatch(r"task-([0-9a-f]{40})\.html", name)):
                return self._task(store, match[1])
            case [store, key, name] if store in self.stores and KEY.fullmatch(key):
                run = self._run(store, key)
                with run.opened():
                    return self._of_run(run, name)
        raise MissingError("Check the address, or begin at the list of all studies.")

    def _run(self, store: str, key: str) -> Run:
        """The run of a key; the last few are kept, with what was read of them."""
        run = runs_of(self.stores[store]).get(key)
        if run is None:
            raise MissingError("The store holds no finished run of this key; it may still run, or was removed.")
        kept = self._kept.pop((store, key), run)
        self._kept[store, key] = kept
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return kept

    def _of_run(self, run: Run, name: str) -> Page:
        pages: dict[str, Callable[[Run], Page]] = {
            "index.html": self._study,
            "plots.html": lambda run: self._render("plots.html", run=run, up="../../", lasting=True),
            "plots.json": lambda run: _json(encode_cells(run.result)),
        }
        if self.texts and len(run.instances):
            pages["texts.html"] = lambda run: self._render("texts.html", run=run, up="../../", lasting=True)
            pages["texts.json"] = lambda run: _json(encode(run.instances))
        if name in pages:
            return pages[name](run)
        if match := re.fullmatch(r"figure-([a-z0-9-]{1,80})(\.html|\.([0-9]{1,3})\.svg)", name):
            figure = self._figures(run).get(match[1])
            if figure is not None and match[3] is None:
                return self._render(
                    "figure.html", run=run, up="../../", figure=figure, options=options(figure), lasting=True
                )
            if figure is not None and int(match[3]) < len(options(figure)):
                with self._drawing:
                    drawn = options(figure)[int(match[3])][1].drawn("svg")
                return Page(drawn, MEDIA["svg"], lasting=True)
        if (match := re.fullmatch(r"audit-([1-9][0-9]{0,3})\.html", name)) and int(match[1]) <= len(run.audits):
            audit = run.audits[int(match[1]) - 1].model_copy(update={"key": run.key})
            shown = audit if self.texts else audit.model_copy(update={"examples": ()})
            return Page(audit_page.page(shown, assets="../../assets/").encode("utf-8", "replace"), lasting=True)
        raise MissingError("This study has no such page; begin at its own page.")

    def _figures(self, run: Run) -> dict[str, Figure]:
        return {name: figure for name, figure in run.figures.items() if self.texts or not figure.words}

    def _study(self, run: Run) -> Page:
        more: dict[str, Any] = {
            "figures": {name: options(figure) for name, figure in self._figures(run).items()},
            "has_texts": self.texts and len(run.instances) > 0,
            "meta": run.stored.meta,
            "inputs": {
                name: [keys] if isinstance(keys, str) else keys for name, keys in run.stored.meta["inputs"].items()
            },
            "settings": json.dumps(run.record["study"], indent=2),
        }
        return self._render(
            "study.html", run=run, up="../../", lasting=True, **shared(run.study, run.stored, run.result), **more
        )

    def _task(self, store: str, key: str) -> Page:
        place = self.stores[store]
        log = place.read_log(key) if self.live else None
        meta = None
        if place.has(key) and not (place.objects / key).is_symlink():
            meta = place.meta(key)
        if meta is None and log is None:
            raise MissingError("The store knows no task of this key that has finished or failed.")
        return self._render("task.html", up="../", key=key, meta=meta, log=log)

    def _overview(self) -> Page:
        """The first page; the same one as before where all that it shows is the same."""
        told = [
            {
                "name": name,
                "path": "/".join(store.path.resolve().parts[-2:]),
                "runs": self._indexes[name].entries(),
                "progress": _unfinished(read_progress(store)) if self.live else [],
                "failed": store.failed()[:50] if self.live else [],
            }
            for name, store in self.stores.items()
        ]
        kept = self._first
        if kept is None or kept[0] != told:
            kept = self._first = told, self._render("index.html", up="", stores=told)
        return kept[1]

    def _fault(self, status: int, title: str, why: str, address: str) -> Page:
        up = "../" * min(address.count("/"), 8)
        return self._render("fault.html", status=status, up=up, title=title, why=why)

    def _render(self, name: str, *, status: int = 200, lasting: bool = False, **given: Any) -> Page:
        text = self.templates.get_template(name).render(**given)
        return Page(text.encode("utf-8", "replace"), status=status, lasting=lasting)


def _unfinished(told: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Runs that go on, or that ended badly and were not run again since; the newest comes first."""
    seen: set[str] = set()
    found = []
    for one in told:
        if one["state"] == "running" or (one["state"] != "finished" and one["study"] not in seen):
            found.append(one)
        seen.add(one["study"])
    return found


def options(figure: Figure) -> list[tuple[str, Figure]]:
    """A figure as pictures: one for each entry of its menu, or the figure alone."""
    menus = [one for one in figure.spec.get("params", ()) if "bind" in one and "options" in one["bind"]]
    if len(menus) != 1:
        return [("", figure)]
    others = [one for one in figure.spec["params"] if one is not menus[0]]
    name = menus[0]["name"]
    return [
        (str(value), replace(figure, spec={**figure.spec, "params": [*others, {"name": name, "value": value}]}))
        for value in menus[0]["bind"]["options"]
    ]


def _json(value: Any) -> Page:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Page(text.encode("utf-8", "replace"), MEDIA["json"], lasting=True)


def _assets() -> dict[str, str]:
    """Styles and scripts by name."""
    return {
        "site.css": template("report.css")
        + template("words.css")
        + template("instances.css")
        + template("site.css", "trueness.browser"),
        "tables.js": template("tables.js"),
        "instances.js": template("instances.js"),
        **{name: template(name, "trueness.browser") for name in ("plots.js", "live.js")},
        **audit_page.files(),
    }
