"""The one-file HTML report and the figures beside it."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.engine import Stored, disk, write_atomically
from trueness.errors import UserError
from trueness.protocols.result import Result
from trueness.report.compare import compare
from trueness.report.figure import Figure
from trueness.report.figures import figures
from trueness.report.heatmap import coloured
from trueness.report.strips import strips
from trueness.report.tables import tables
from trueness.studies import Study
from trueness.version import __version__

if TYPE_CHECKING:
    import pandas as pd

_INTERVALS = {
    "roar-synthetic": "bias-corrected and accelerated bootstrap of a mean, exact (Clopper–Pearson) of a share",
    "attention-is-not-explanation": "Student's over seeds and normal over instances, in quadrature; n counts seeds",
    "agreement": "bias-corrected and accelerated bootstrap over texts with all their seeds; of accuracy Student's",
    "ground-truth": "Student's over models (seeds) that used the evidence; n counts them",
    "attefa": "Student's over seeds; n counts them",
    "recursive-roar": "Student's over seeds; as published: bias-corrected and accelerated bootstrap; n counts seeds",
}


def read_result(stored: Stored) -> Result:
    """The result that a study left in the store."""
    names = [file.rsplit(".", 1)[0] for file in stored.meta["payloads"]]
    costs = {"costs": _costs(stored)} if "steps" in stored.meta["inputs"] else {}
    return Result.from_payloads({**{name: stored.read(name) for name in names}, **costs})


def _costs(stored: Stored) -> pd.DataFrame:
    """The seconds of the tasks that a result was made from, as far as they are still there; no part of the result.

    Of a task with several parts each has its own seconds, and an equal share of the others.
    """
    import pandas as pd

    places, keys = stored.meta["parameters"].get("at") or [], stored.meta["inputs"].get("steps") or []
    rows = []
    for place, key in zip(places, keys, strict=True):
        if not stored.store.has(key):
            continue
        meta, part = stored.store.get(key).meta, place.get("part")
        if part is None:  # also before tasks had parts
            seconds = float(meta["seconds"])
        else:
            own = meta.get("parts", {})
            shared = (float(meta["seconds"]) - sum(own.values())) / max(len(own), 1)
            seconds = shared + own[str(part)] if str(part) in own else 0.0  # a part that a model refused took nothing
        rows.append({**place, "seconds": seconds})
    return pd.DataFrame(rows)


def write_report(study: Study, stored: Stored, out: Path) -> list[Path]:
    """Write `out` (HTML, complete in itself) and each figure as PNG and PDF beside it; returns the files."""
    if out.suffix not in (".html", ".htm"):
        raise UserError(f"The report is an HTML file: give a name that ends in .html, not {out}.")
    result = read_result(stored)
    drawn = figures(study.kind, result)
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
    comparison = compare(study, result)
    meta = stored.meta
    return environment.get_template("report.html").render(
        study=study,
        settings=json.dumps(study.model_dump(), indent=2),
        result=result,
        figures=drawn,
        tables=tables(study.kind, result),
        intervals=_INTERVALS[study.kind],
        heatmaps=list(heatmaps(result)),
        strips=strips(result),
        rows=[
            {"where": f"{score.dataset}, {score.model}", "score": score, "row": row}
            for score, row in zip(result.scores, comparison["rows"], strict=True)
        ],
        meta=meta,
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
    if value is None:
        return "–"
    return f"{value:.3f}".replace("-", "−")
