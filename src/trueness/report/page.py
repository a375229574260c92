"""The one-file HTML report and the figures beside it."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from trueness.engine import Stored, disk, write_atomically
from trueness.errors import UserError
from trueness.protocols.result import Result
from trueness.report import vectors
from trueness.report.compare import compare
from trueness.report.figure import Figure
from trueness.report.heatmap import coloured
from trueness.report.strips import strips
from trueness.report.table import number
from trueness.studies import KINDS, Study
from trueness.version import __version__


def read_result(study: Study, stored: Stored) -> Result:
    """The result that a study left in the store, and warnings of words without vectors."""
    found = Result.from_payloads(stored.everything(), KINDS[study.kind].beside(stored))
    return replace(found, warnings=(*found.warnings, *vectors.warnings(vectors.coverage(stored))))


def write_report(study: Study, stored: Stored, out: Path) -> list[Path]:
    """Write `out` (HTML, complete in itself) and each figure as PNG and PDF beside it; returns the files."""
    if out.suffix not in (".html", ".htm"):
        raise UserError(f"The report is an HTML file: give a name that ends in .html, not {out}.")
    result = read_result(study, stored)
    drawn = list(KINDS[study.kind].figures(result))
    files = {out: _page(study, stored, result, drawn).encode("utf-8")}
    for figure in drawn:
        name = out.stem if len(drawn) == 1 else f"{out.stem}-{figure.name}"
        for form in ("png", "pdf"):
            files[out.with_name(f"{name}.{form}")] = figure_bytes(figure, form)
    with disk(f"the report {out}", full="free some space", refused="choose another place with --out"):
        out.parent.mkdir(parents=True, exist_ok=True)
        for path, content in files.items():
            write_atomically(path, content)
    return list(files)


def figure_bytes(figure: Figure, form: str) -> bytes:
    """The figure as png, svg or pdf."""
    convert = _converter()
    if form == "png":
        return bytes(convert.vegalite_to_png(figure.spec, scale=2))
    if form == "pdf":
        return bytes(convert.vegalite_to_pdf(figure.spec))
    return str(convert.vegalite_to_svg(figure.spec)).encode("utf-8")


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise UserError("Reports need the report extra: pip install 'trueness[report]'.") from error
    return vl_convert


@functools.cache
def _javascript() -> str:
    bundle = str(_converter().javascript_bundle())
    return bundle.replace("</script", "<\\/script")


def _page(study: Study, stored: Stored, result: Result, drawn: list[Figure]) -> str:
    _converter()
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("trueness.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["number"] = _number
    environment.filters["script_json"] = lambda value: Markup(json.dumps(value).replace("<", "\\u003c"))
    comparison, kind = compare(study, result), KINDS[study.kind]
    return environment.get_template("report.html").render(
        study=study,
        settings=json.dumps(study.model_dump(), indent=2),
        result=result,
        figures=drawn,
        tables=[table.without_paper() for table in kind.tables(result, kind.published())],
        intervals=kind.intervals,
        vectors=vectors.told(vectors.coverage(stored)),
        heatmaps=list(heatmaps(result)),
        strips=strips(result),
        rows=[
            {"where": f"{score.dataset}, {score.model}", "score": score, "row": row}
            for score, row in zip(result.scores, comparison["rows"], strict=True)
        ],
        meta=stored.meta,
        version=__version__,
        javascript=Markup(_javascript()),
        style=Markup((resources.files("trueness.report") / "templates" / "report.css").read_text(encoding="utf-8")),
    )


def heatmaps(result: Result) -> Iterator[dict[str, Any]]:
    """Instances that were kept with their words: the observed and the adversarial attention, as coloured text."""
    from markupsafe import Markup

    examples = result.tables.get("examples")
    for row in [] if examples is None else examples.to_dict(orient="records"):
        # Made by `coloured`, which escapes every word.
        shown = {name: Markup(coloured(row["words"], row[name])) for name in ("attention", "adversarial")}
        yield {**{str(name): value for name, value in row.items()}, **shown}


def _number(value: float | None) -> str:
    return number(value).replace("-", "−")
