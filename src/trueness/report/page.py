"""The one-file HTML report and the figures beside it."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from trueness.engine import Stored, disk, write_atomically
from trueness.errors import UserError, install
from trueness.protocols.result import Result
from trueness.report import vectors
from trueness.report.compare import compare
from trueness.report.figure import Figure, converter
from trueness.report.instances import encode, instances_of
from trueness.report.matrix import matrix
from trueness.report.table import number
from trueness.studies import KINDS, Study
from trueness.version import __version__


def read_result(study: Study, stored: Stored) -> Result:
    """The result that a study left in the store, and warnings of words without vectors."""
    found = Result.from_payloads(stored.everything(), KINDS[study.kind].beside(stored))
    return replace(found, warnings=(*found.warnings, *vectors.warnings(vectors.coverage(stored))))


def write_report(study: Study, stored: Stored, out: Path, *, no_text: bool = False) -> list[Path]:
    """Write `out` (HTML, complete in itself) and each figure as PNG and PDF beside it; returns the files.

    With `no_text` none of the data's words are in it.
    """
    if out.suffix not in (".html", ".htm"):
        raise UserError(f"The report is an HTML file: give a name that ends in .html, not {out}.")
    result = read_result(study, stored)
    drawn = [figure for figure in KINDS[study.kind].figures(result) if not (no_text and figure.words)]
    page = _page(study, stored, result, drawn, no_text=no_text)
    files = {out: page.encode("utf-8", errors="replace")}
    for figure in drawn:
        name = out.stem if len(drawn) == 1 else f"{out.stem}-{figure.name}"
        for form in ("png", "pdf"):
            files[out.with_name(f"{name}.{form}")] = figure.drawn(form)
    with disk(f"the report {out}", full="free some space", refused="choose another place with --out"):
        out.parent.mkdir(parents=True, exist_ok=True)
        for path, content in files.items():
            write_atomically(path, content)
    return list(files)


@functools.cache
def _javascript() -> str:
    bundle = str(converter().javascript_bundle())
    return bundle.replace("</script", "<\\/script")


def environment(*packages: str) -> Any:
    """What fills templates: those of the named packages, then the ones that all reports share."""
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise UserError(f"Pages need the report extra: {install('report')}.") from error
    made = Environment(
        loader=ChoiceLoader([PackageLoader(name, "templates") for name in (*packages, "trueness.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    made.filters["number"] = _number
    made.filters["breakable"] = breakable
    made.filters["script_json"] = lambda value: Markup(json.dumps(value).replace("<", "\\u003c"))
    return made


def breakable(name: str) -> str:
    """A method's name that breaks between its parts, where a line is too short: lime, [n_samples, =200]."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"(?=[\[(=@])|(?<=, )", "<wbr>", str(escape(name))))


def render(name: str, styles: Sequence[str], **given: Any) -> str:
    """A page that is complete in itself."""
    made = environment()
    from markupsafe import Markup

    style = "".join(map(template, styles))
    return str(
        made.get_template(name).render(
            style=Markup(style), tables_script=Markup(template("tables.js")), version=__version__, **given
        )
    )


def shared(study: Study, stored: Stored, result: Result) -> dict[str, Any]:
    """What every page of a study shows: conclusions, the matrix, tables, scores."""
    comparison, kind = compare(study, result), KINDS[study.kind]
    return {
        "study": study,
        "result": result,
        "matrix": matrix(result, kind.headlines),
        "tables": [table.without_paper() for table in kind.tables(result, kind.published())],
        "intervals": kind.intervals,
        "vectors": vectors.told(vectors.coverage(stored)),
        "rows": [
            {"where": f"{score.dataset}, {score.model}", "score": score, "row": row}
            for score, row in zip(result.scores, comparison["rows"], strict=True)
        ],
    }


def cells(stored: Stored, result: Result) -> dict[str, Any]:
    """What `verify` looks for in a report: the result's key and digests, and every number that the report shows."""
    meta = stored.meta
    return {
        "result": stored.key,
        "digests": {file: recorded["digest"] for file, recorded in meta["payloads"].items()},
        "scores": [
            [
                score.quantity,
                score.dataset,
                score.model,
                score.method,
                score.variant,
                score.value,
                score.low,
                score.high,
            ]
            for score in result.scores
        ],
    }


def template(name: str, package: str = "trueness.report") -> str:
    """A style or script of pages."""
    return (resources.files(package) / "templates" / name).read_text(encoding="utf-8")


def _page(study: Study, stored: Stored, result: Result, drawn: list[Figure], *, no_text: bool = False) -> str:
    converter()
    from markupsafe import Markup

    kept = instances_of(result)
    inputs: Mapping[str, Any] = stored.meta["inputs"]
    return str(
        environment()
        .get_template("report.html")
        .render(
            **shared(study, stored, result),
            settings=json.dumps(study.model_dump(), indent=2),
            figures=drawn,
            no_text=no_text and len(kept) > 0,
            instances=None if no_text or not len(kept) else encode(kept),
            cells=cells(stored, result),
            inputs={name: [keys] if isinstance(keys, str) else keys for name, keys in inputs.items()},
            meta=stored.meta,
            version=__version__,
            javascript=Markup(_javascript()),
            tables_script=Markup(template("tables.js")),
            instances_script=Markup(template("instances.js")),
            style=Markup(template("report.css") + template("words.css") + template("instances.css")),
        )
    )


def _number(value: float | None) -> str:
    return number(value).replace("-", "−")
