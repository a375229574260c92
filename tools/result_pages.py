"""What the pages of results show of `results/<study>/`: verdicts, agreement with the paper, causes, cells, a figure."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS, DOCS = ROOT / "results", ROOT / "docs"
STUDIES = {
    "attention-is-not-explanation": "Attention is not explanation (Jain and Wallace 2019)",
    "attefa": "AtteFa (2022)",
    "agreement": "Order in the Court (2022)",
    "recursive-roar": "Recursive ROAR (Madsen et al. 2022)",
    "ground-truth-text": "Planted evidence (Zhou et al. 2022)",
    "ground-truth-images": "Planted artefacts in images (Zhou et al. 2022, section 5)",
    "roar-synthetic": "ROAR on synthetic vectors (Madsen et al. 2022, section 3.3)",
}
ALSO = {
    "recursive-roar": {"minilm.json": "MiniLM"},
    "ground-truth-text": {"rationales.json": "rationale models"},
    "ground-truth-images": {"pretrained.json": "a pretrained network"},
}
"""Other files of a study whose claims and cells count, beside compare.json, and what they are about."""
UNKNOWN = "unknown"
_SMALL = 40


def read(file: str) -> dict[str, Any]:
    """A file of results, which must be of today's form."""
    from trueness.report.compare import SCHEMA

    found: dict[str, Any] = json.loads((RESULTS / file).read_text(encoding="utf-8"))
    if found.get("schema") != SCHEMA:
        raise SystemExit(f"results/{file} is of another form; make it again with the commands of its README.md.")
    return found


def files(study: str) -> list[str]:
    """All of a study's files that count."""
    return [f"{study}/{file}" for file in ("compare.json", *ALSO.get(study, ()))]


def table(header: list[str], rows: list[list[str]]) -> str:
    """In Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def totals() -> str:
    """How many published cells agree, differ and cannot be told: in all, and of each study."""
    names = ("agrees", "differs", "cannot tell")
    found = {study: counts(study) for study in STUDIES}
    sums = {name: sum(one[name] for one in found.values()) for name in (*names, "compared", "not measured")}
    unknown = sum(cause == UNKNOWN for study in STUDIES for _, cause, _ in differing(study))
    text = (
        f"**Of {sums['compared']} published values {sums['agrees']} agree, {sums['differs']} differ, and of "
        f"{sums['cannot tell']} it cannot be told.** Of those that differ, the cause is unknown for {unknown}. "
        f"{sums['not measured']} more were not measured.\n\n"
    )
    rows = [
        [f"[{STUDIES[study]}](results/{study}.md)", *(str(one[name]) for name in (*names, "not measured"))]
        for study, one in found.items()
        if one["compared"]
    ]
    return text + table(["paper", "agree", "differ", "cannot tell", "not measured"], rows)


def counts(study: str) -> dict[str, int]:
    """The published cells of a study, over its files, none of which has a cell of another."""
    parts = [read(file)["agreement"] for file in files(study)]
    found = {name: sum(part[name] for part in parts) for name in ("agrees", "differs", "cannot tell", "compared")}
    return {**found, "not measured": parts[0]["not measured"] - sum(part["compared"] for part in parts[1:])}


def verdicts() -> str:
    """Every claim of every study: verdict, what decides, link."""
    parts = []
    for study, title in STUDIES.items():
        more = " and ".join(f"of {what}" for what in ALSO.get(study, {}).values())
        link = f"[More{', and claims ' if more else ''}{more}](results/{study}.md)"
        rows = [
            [_short(one["claim"]), f"**{one['verdict']}**", _short(one_number(one))]
            for one in read(f"{study}/compare.json")["claims"]
        ]
        parts.append(f"## {title}\n\n{table(['claim', 'verdict', 'one number'], rows)}\n{link}\n")
    return "\n".join(parts)


def _short(words: str) -> str:
    """Without what all places of a study have in common, or its page says."""
    common = r"birds with |, resnet-34|: roar-synthetic[^)]*| \(rank correlation of 0\.5\)| over 50 draws"
    return re.sub(common, "", words).replace("the mean difference is largest at", "largest mean difference, at")


def in_short(evidence: str) -> str:
    """How often it holds, or why that cannot be told, and the first place's number with its interval."""
    told, first = _parted(evidence)
    return f"{told}; {first}" if first else told


def one_number(claim: dict[str, Any]) -> str:
    """The first place's number with its interval; how often it holds where places differ and most decide."""
    told, first = _parted(claim["evidence"])
    runs = re.search(r"\d+ of \d+ runs", claim["evidence"])
    counts = re.match(r"(\d+) of (\d+)", told)
    if claim["verdict"] == "supported" and counts and counts[1] != counts[2]:
        return told
    return runs[0] if runs else first or re.sub(r", ground-truth.*", "", told)


def _parted(evidence: str) -> tuple[str, str]:
    """How often it holds, and of the first place what was measured, the number."""
    lead, _, places = evidence.partition(". ")
    counts = re.search(r"\d[\d,]* of \d[\d,]* [a-z]+(?: and models)?", lead)
    told = counts[0] if counts else lead.partition(":")[0] if places else lead.partition("; ")[0]
    first = re.match(r"([^:;]+): ([^;]*?)([-+]?\d+\.\d+(?![\de])(?: \([-\d.]+ to [-\d.]+\))?)", places)
    if not first:
        return told, ""
    return told, " ".join(f"{first[1]}: {first[2]}{first[3]}".split())


def claims(file: str) -> str:
    """Claims, verdicts, and what they rest on in short."""
    rows = [[claim["claim"], f"**{claim['verdict']}**", in_short(claim["evidence"])] for claim in read(file)["claims"]]
    return table(["claim", "verdict", "in short"], rows)


def evidence(study: str) -> str:
    """Claims, verdicts and all evidence, of every file of a study."""
    about = {f"{study}/{file}": f" ({what})" for file, what in ALSO.get(study, {}).items()}
    rows = [
        [claim["claim"] + about.get(file, ""), f"**{claim['verdict']}**", claim["evidence"]]
        for file in files(study)
        for claim in read(file)["claims"]
    ]
    return table(["claim", "verdict", "evidence"], rows)


def agreement(file: str) -> str:
    """Beside the published values, by kind of quantity."""
    from trueness.report.compare import sentences

    found = read(file)["agreement"]
    first = next(sentences(found), "No published value has a spread that a margin could be taken from.")
    rows = []
    for part in found["quantities"]:
        tau = part["rank correlation"]
        numbers = [part["agrees"], part["differs"], part["cannot tell"]]
        far = [f"{part['mean absolute error']:.3g}", "–" if tau is None else f"{tau:.2f}"]
        rows.append([part["group"], f"{part['margin']:.3g}", *map(str, numbers), *far, part["from"]])
    header = ["quantity", "margin", "agree", "differ", "cannot tell", "mean absolute error", "rank correlation"]
    return f"{first}\n" + (f"\n{table([*header, 'margin from'], rows)}" if rows else "")


def differing(study: str) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Each published cell that differs, with its tested cause or the word unknown, and how it was tested."""
    known = RESULTS / study / "causes.csv"
    causes = list(csv.DictReader(known.read_text(encoding="utf-8").splitlines())) if known.exists() else []
    for row in (row for file in files(study) for row in read(file)["rows"]):
        if row["outcome"] == "differs":
            fits = (
                one
                for one in causes
                if all(fnmatchcase(row[name], one[name]) for name in ("quantity", "dataset", "model", "method"))
            )
            one = next(fits, {"cause": "", "tested": ""})
            yield (row, one["cause"], one["tested"]) if one["tested"] else (row, UNKNOWN, one["cause"])


def causes(study: str) -> str:
    """Cells that differ, by place and cause."""
    found: dict[tuple[str, str, str, str, str], int] = {}
    for row, cause, about in differing(study):
        key = (row["dataset"], row["model"], row["group"], cause, about)
        found[key] = found.get(key, 0) + 1
    rows = []
    for (dataset, model, group, cause, about), number in found.items():
        why = [f"**{cause}**", f"not shown: {about}" if cause == UNKNOWN and about else about]
        rows.append([dataset, model, group, str(number), *why])
    if not rows:
        return "No published value surely differs.\n"
    return table(["dataset", "model", "quantity", "cells", "cause", "test"], rows[:_SMALL]) + (
        f"\n{len(rows) - _SMALL} more kinds of cells are in the list of all cells.\n" if len(rows) > _SMALL else ""
    )


def cells(study: str) -> str:
    """A page of the evidence for every claim, and of every published cell beside ours."""
    named = {_key(row): cause for row, cause, _ in differing(study)}
    rows = []
    for row in (row for file in files(study) for row in read(file)["rows"]):
        if row["outcome"] is None:
            continue
        interval = "–" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}"
        place = [row[name] for name in ("quantity", "dataset", "model", "method")]
        numbers = [
            f"{row['compared_with']:.3g}",
            f"{row['value']:.3f}",
            interval,
            str(row["n"]),
            f"{row['margin']:.3g}",
        ]
        rows.append([*place, *numbers, row["outcome"], named.get(_key(row), "")])
    header = ["quantity", "dataset", "model", "method", "published", "ours", "95 % interval", "n", "margin", "outcome"]
    made = f"Made by `tools/update_docs.py` from `results/{study}/`. [Back]({study}.md)"
    text = f"# All evidence: {STUDIES[study]}\n\n{made}\n\n## Claims\n\n{evidence(study)}\n"
    return text + (f"## Published cells\n\n{table([*header, 'cause'], rows)}" if rows else "")


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("quantity", "dataset", "model", "method", "variant"))


def draw(study: str) -> None:
    """Ours against the published values, one panel for each kind of quantity."""
    import pandas as pd

    from trueness.report.figure import GREEN, GREY, VERMILION, Figure, all_at_once, layer, names_to, numbers, panels

    every = (row for file in files(study) for row in read(file)["rows"])
    rows = pd.DataFrame([row for row in every if row["outcome"] is not None])
    if not len(rows):
        return
    rows = rows[["group", "compared_with", "value", "low", "high", "outcome", "margin"]]
    shown = [name for name, some in rows.groupby("group", sort=False) if len(some) > 2] or list(rows["group"].unique())
    rows = rows[rows["group"].isin(shown)]
    colour = names_to("outcome", {"agrees": GREEN, "differs": VERMILION, "cannot tell": GREY})
    rows = rows.assign(lower=rows["compared_with"] - rows["margin"], upper=rows["compared_with"] + rows["margin"])
    here = {
        "x": numbers(
            "compared_with", title="published", scale={"zero": False}, axis={"tickCount": 4, "labelFlush": False}
        )
    }
    value = numbers("value", title="ours", scale={"zero": False})
    within = {**here, "y": numbers("lower", title="ours"), "y2": {"field": "upper"}}
    interval = {**here, "y": numbers("low"), "y2": {"field": "high"}, "color": colour}
    layers = [
        layer("area", within, color="#DDDDDD", opacity=0.6),
        layer("rule", interval, only="datum.low !== null", opacity=0.4),
        layer("point", {**here, "y": value, "color": colour}, filled=True, size=28, opacity=0.9),
    ]
    spec = all_at_once(
        rows,
        columns=3,
        facet=panels(rows, "group"),
        spec={"width": 230, "height": 200, "layer": layers},
        resolve={"scale": {"x": "independent", "y": "independent"}},
    )
    figure = Figure(f"published-{study}", "", "", spec)
    (DOCS / "images" / f"published-{study}.png").write_bytes(figure.drawn("png"))


def draw_pairs() -> None:
    """Agreement of all pairs of methods on SST, a figure for each model."""
    import pandas as pd

    from trueness.papers.agreement.figures import figures
    from trueness.protocols.agreement.measures import TAU
    from trueness.protocols.result import Result

    means = pd.read_csv(RESULTS / "agreement" / "seeds.csv").rename(columns={"mean": TAU})
    here = means[(means["dataset"] == "sst@court2022") & (means["variant"] == "corrected")]
    for model, some in here.groupby("model"):
        (figure,) = figures(Result(some))
        (DOCS / "images" / f"agreement-sst-{model}.png").write_bytes(figure.drawn("png"))
