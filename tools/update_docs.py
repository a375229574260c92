"""Write the pages of measured results from what results/ holds; with --check, only tell whether they are current.

    python tools/update_docs.py

In docs/results.md and docs/results/*.md it fills what is between `<!-- end -->` and each of these comments:
`<!-- totals -->`, `<!-- verdicts -->`, `<!-- claims: FILE -->`, `<!-- agreement: FILE -->`,
`<!-- causes: STUDY -->`, `<!-- methods: FILE, MODEL, QUANTITY -->`, `<!-- rationales: FILE -->`,
`<!-- base models: STUDY -->`, `<!-- lengths: FILE, QUANTITY -->`, `<!-- leads: FILE, ... -->`,
`<!-- decays: FILE, QUANTITY -->` and `<!-- vectors: STUDY -->`. It also writes docs/results/STUDY-cells.md and
docs/images/published-STUDY.png. Files are named as within results/.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pandas as pd
from result_pages import (
    DOCS,
    RESULTS,
    STUDIES,
    agreement,
    causes,
    cells,
    claims,
    draw,
    draw_lengths,
    draw_pairs,
    read,
    table,
    totals,
    vectors,
    verdicts,
)


def main() -> int:
    """Fill every page; draw every figure."""
    pages = [
        DOCS / "results.md",
        *(page for page in sorted((DOCS / "results").glob("*.md")) if not _made(page)),
    ]
    wanted = {page: _filled(page.read_text(encoding="utf-8")) for page in pages}
    wanted |= {DOCS / "results" / f"{study}-cells.md": cells(study) for study in STUDIES}
    stale = [page for page, text in wanted.items() if not page.exists() or page.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv:
        for page in stale:
            name = page.relative_to(DOCS.parent)
            print(f"{name} does not show what results/ holds; run: python tools/update_docs.py", file=sys.stderr)
        return 1 if stale else 0
    for page in stale:
        page.write_text(wanted[page], encoding="utf-8")
    for study in STUDIES:
        draw(study)
    draw_pairs()
    draw_lengths()
    return 0


def _made(page: Path) -> bool:
    return page.stem.endswith("-cells")


def _filled(text: str) -> str:
    return re.sub(r"(<!-- ([a-z ]+?)(?:: (.+?))? -->\n).*?(<!-- end -->)", _fill, text, flags=re.DOTALL)


def _fill(match: re.Match[str]) -> str:
    given = match[3].split(", ") if match[3] else []
    return match[1] + BLOCKS[match[2]](*given) + match[4]


def methods(file: str, model: str, quantity: str) -> str:
    """A row for each method, that with the largest values first, and a column for each dataset."""
    rows = [row for row in read(file)["rows"] if row["model"] == model and row["quantity"] == quantity]
    if not rows:
        raise SystemExit(f"{file} has no {quantity} of {model}.")
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["method"], {})[row["dataset"]] = row
    lines = [
        [method, *(_value(of[name]) if name in of else "–" for name in datasets)]
        for method, of in sorted(found.items(), key=lambda item: -sum(row["value"] for row in item[1].values()))
    ]
    return table([quantity, *datasets], lines)


def rationales(file: str) -> str:
    """A row for each rationale model: its accuracy, and what it selects."""
    columns = {
        "accuracy": "accuracy",
        "selected words": "selected of all words",
        "precision of the selection": "evidence, of the selected",
        "decoys in the selection": "decoys, of the selected",
        "recall of the selection": "selected, of the evidence",
        "selected evidence, of the possible": "of the possible",
    }
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in read(file)["rows"]:
        if row["model"].startswith("rationale-"):
            found.setdefault((row["dataset"], row["model"]), {})[row["quantity"]] = _value(row)
    lines = [[*key, *(values.get(name, "–") for name in columns)] for key, values in found.items()]
    return table(["dataset", "model, aim", *columns.values()], lines)


def _value(row: dict[str, Any]) -> str:
    interval = "" if row["low"] is None else f" ({row['low']:.2f} to {row['high']:.2f})"
    return f"{row['value']:.2f}{interval}"


EXPLAINED = ("learned attention", "base model", "the model")
"""What the studies call the models that they explain, where they say how good those are."""


def base_models(study: str) -> str:
    """The models that a study explains, beside the paper's tables: what it measured of them."""
    content = read(f"{study}/compare.json")
    bare = {name: f"{100 * one['without']:.1f} %" for name, one in content.get("vectors", {}).items()}
    lines = []
    for row in content["rows"]:
        metric = re.search(r"(macro-)?f1|accuracy", row["quantity"].lower())
        if row["method"] not in EXPLAINED or row["outcome"] is None or metric is None:
            continue
        interval = "" if row["low"] is None else f" ({row['low']:.3f} to {row['high']:.3f})"
        known = f"{row['compared_with']:.3g}" + (", second run" if row["published"] is None else "")
        shown = [
            metric[0],
            known,
            f"{row['value']:.3f}{interval}",
            str(row["n"]),
            row["outcome"],
            "–" if row["model"] == "transformer" else bare.get(row["dataset"], "–"),
        ]
        lines.append([row["dataset"], row["model"], *shown])
    return table(["dataset", "model", "metric", "published", "ours", "models", "outcome", "no vector"], lines)


def lengths(file: str, quantity: str) -> str:
    """A row for each model and method, a column for each scale of the word vectors; bold: surely not GloVe's."""
    from benchmarks.experiments.shown import lengths as by_arm

    every = _experiment(file)
    rows = by_arm(every[every["quantity"] == quantity])
    return _arms(rows[~rows["method"].str.contains("full-gradient")], ["model", "method"])


def decays(file: str, quantity: str) -> str:
    """A row for each model and method: with weight decay and without; bold: without surely differs from with."""
    from benchmarks.experiments.shown import decays as by_decay

    every = by_decay(_experiment(file))
    rows = every[(every["quantity"] == quantity) & ~every["method"].str.contains("full-gradient")]
    lines = []
    for (model, method), some in rows.groupby(["model", "method"], sort=False):
        line = [str(model), str(method)]
        for row in some.to_dict(orient="records"):
            shown = [f"{row[name]:.2f} ({row[f'{name}, low']:.2f} to {row[f'{name}, high']:.2f})" for name in _DECAY]
            line += [shown[0], f"**{shown[1]}**" if row["p"] < 0.05 else shown[1]]
        lines.append(line)
    header = [f"{arm}, {'1e-5' if name == 'with' else 'none'}" for arm in rows["arm"].unique() for name in _DECAY]
    return table(["model", "method", *header], lines)


_DECAY = "with", "without"


def leads(*files: str) -> str:
    """A row for each corpus and model: attention's faithfulness less gradients'; bold: surely not 0."""
    from benchmarks.experiments.shown import leads as by_arm

    return _arms(by_arm(pd.concat([_experiment(file) for file in files])), ["dataset", "model"])


def trained(file: str) -> str:
    """A row for each corpus and model: tau with gradients, how far attention has formed, and agreement, by epochs."""
    from trueness.stats.equivalence import equivalence

    every = _experiment(file)
    every = every[every["value"].notna() & every["n"].notna()]
    known = {_cell(row, row["epochs"]): row for row in every.to_dict(orient="records")}
    rows = [row for row in read("attention-is-not-explanation/compare.json")["rows"] if row["outcome"] is not None]
    numbers = sorted(every["epochs"].unique())
    lines = []
    for (dataset, model), _ in every.groupby(["dataset", "model"], sort=False):
        line = [str(dataset).partition("@")[0], str(model)]
        here = [row for row in rows if (row["dataset"], row["model"]) == (dataset, model)]
        tau = next(row for row in here if (row["quantity"], row["method"]) == _WITH_GRADIENTS)
        outcomes = [row["outcome"] for row in here]
        line.append(f"{tau['compared_with']:.2f}")
        line.append(f"{tau['value']:.2f}; {outcomes.count('agrees')}, {outcomes.count('differs')}")
        for number in numbers:
            found = [(known.get(_cell(row, number)), row) for row in here]
            outcomes = [
                equivalence(one["low"], one["high"], row["compared_with"], row["margin"]) for one, row in found if one
            ]
            formed = known["largest weight times length", dataset, model, "learned attention", number]["value"]
            reached = known[_cell(tau, number)]["value"]
            told = f"{outcomes.count('agrees')}, {outcomes.count('differs')}"
            line.append(f"{reached:.2f} ({formed:.1f}); {told}")
        lines.append(line)
    return table(["corpus", "model", "published", "the study", *(f"{number} epochs" for number in numbers)], lines)


def vector_lengths(file: str) -> str:
    """A row for each pair of methods: published, and ours with GloVe's vectors and with vectors of length 1."""
    from trueness.stats.equivalence import equivalence

    every = _experiment(file)
    every = every[(every["quantity"] == "Kendall tau") & (every["variant"] == "as-published")]
    lines = []
    for row in read("agreement/compare.json")["rows"]:
        about = {name: row[name] for name in ("dataset", "model", "method", "quantity", "variant")}
        some = every[(every[list(about)] == pd.Series(about)).all(axis=1)]
        if row["outcome"] is None or not len(some):
            continue
        shown = []
        for arm in some.to_dict(orient="records"):
            outcome = equivalence(arm["low"], arm["high"], row["compared_with"], row["margin"])
            shown.append(f"{_value(arm)} {outcome}")
        lines.append([row["dataset"].partition("@")[0], row["method"], f"{row['compared_with']:.2f}", *shown])
    return table(["corpus", "methods", "published", *(f"vectors: {arm}" for arm in every["arm"].unique())], lines)


_WITH_GRADIENTS = "Kendall tau", "attention, gradient@jw2019"


def _cell(row: dict[str, Any], number: Any) -> tuple[Any, ...]:
    return *(row[name] for name in ("quantity", "dataset", "model", "method")), number


def _experiment(file: str) -> Any:
    return pd.DataFrame(json.loads(gzip.decompress((RESULTS / file).read_bytes()))["rows"])


def _arms(rows: Any, by: list[str]) -> str:
    """A column for each arm."""
    arms = list(rows["arm"].unique())
    lines = []
    for names, some in rows.groupby(by, sort=False):
        shown = {}
        for row in some.to_dict(orient="records"):
            value = f"{row['mean']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
            shown[row["arm"]] = f"**{value}**" if row["p"] < 0.05 else value
        lines.append([*map(str, names), *(shown.get(arm, "–") for arm in arms)])
    return table([*by, *arms], lines)


BLOCKS: dict[str, Callable[..., str]] = {
    "totals": totals,
    "verdicts": verdicts,
    "claims": claims,
    "agreement": agreement,
    "causes": causes,
    "methods": methods,
    "rationales": rationales,
    "base models": base_models,
    "lengths": lengths,
    "leads": leads,
    "vectors": vectors,
    "decays": decays,
    "epochs": trained,
    "vector lengths": vector_lengths,
}


if __name__ == "__main__":
    sys.exit(main())
