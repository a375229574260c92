"""The one-file HTML report and the figures beside it."""

from __future__ import annotations

import functools
import json
from importlib import resources
from pathlib import Path
from typing import Any

from trueness.engine import Stored, disk, write_atomically
from trueness.errors import UserError
from trueness.protocols.result import Result
from trueness.report.compare import compare
from trueness.report.figures import Figure, figures
from trueness.studies import Study
from trueness.version import __version__


def read_result(stored: Stored) -> Result:
    """The result that a study left in the store."""
    names = [file.rsplit(".", 1)[0] for file in stored.meta["payloads"]]
    return Result.from_payloads({name: stored.read(name) for name in names})


def write_report(study: Study, stored: Stored, out: Path) -> list[Path]:
    """Write `out` (HTML, complete in itself) and each figure as PNG beside it; returns the files."""
    if out.suffix not in (".html", ".htm"):
        raise UserError(f"The report is an HTML file: give a name that ends in .html, not {out}.")
    result = read_result(stored)
    drawn = figures(study.kind, result)
    files = {out: _page(study, stored, result, drawn).encode("utf-8")}
    for figure in drawn:
        name = f"{out.stem}.png" if len(drawn) == 1 else f"{out.stem}-{figure.name}.png"
        files[out.with_name(name)] = figure_bytes(figure, "png")
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
    comparison = compare(study, result)
    meta = stored.meta
    return environment.get_template("report.html").render(
        study=study,
        settings=json.dumps(study.model_dump(), indent=2),
        result=result,
        figures=drawn,
        rows=[
            {"where": f"{score.dataset}, {score.model}", "score": score, "row": row}
            for score, row in zip(result.scores, comparison["rows"], strict=True)
        ],
        meta=meta,
        version=__version__,
        javascript=Markup(_javascript()),
        style=Markup((resources.files("trueness.report") / "templates" / "report.css").read_text(encoding="utf-8")),
    )


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}".replace("-", "−")
