"""Write the tables of docs/results.md from what results/ holds; with --check, only tell whether they are current."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

from trueness.report.compare import shares, shown_rows

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results.md"


def main() -> int:
    """Fill what is between `<!-- end -->` and each of these comments.

    `<!-- table: STUDY -->`, `<!-- methods: STUDY/FILE, MODEL, QUANTITY -->`, `<!-- rationales: STUDY/FILE -->`,
    `<!-- base models -->`.
    """
    text = PAGE.read_text(encoding="utf-8")
    current = re.sub(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", _fill, text, flags=re.DOTALL)
    current = re.sub(
        r"(<!-- methods: (\S+), (\S+), (.+?) -->\n).*?(<!-- end -->)", _fill_methods, current, flags=re.DOTALL
    )
    current = re.sub(r"(<!-- rationales: (\S+) -->\n).*?(<!-- end -->)", _fill_rationales, current, flags=re.DOTALL)
    current = re.sub(r"(<!-- base models -->\n).*?(<!-- end -->)", _fill_models, current, flags=re.DOTALL)
    if current == text:
        return 0
    if "--check" in sys.argv:
        print("docs/results.md does not show what results/ holds; run: python tools/update_docs.py", file=sys.stderr)
        return 1
    PAGE.write_text(current, encoding="utf-8")
    return 0


def _fill(match: re.Match[str]) -> str:
    compared = json.loads((ROOT / "results" / match[2] / "compare.json").read_text(encoding="utf-8"))
    rows, left_out = shown_rows(compared["rows"])
    why = "without a published counterpart or of too few runs to be compared with it"
    more = f"\n{left_out} more values, {why}, are in `compare.json`.\n" if left_out else ""
    words = "".join(f"{sentence} " for sentence in shares(compared["agreement"])).strip()
    return f"{match[1]}{_claims(compared['claims'])}\n{words}\n\n{_rows(rows)}{more}{match[3]}"


def _fill_methods(match: re.Match[str]) -> str:
    """A row for each method, that with the largest values first, and a column for each dataset."""
    compared = json.loads((ROOT / "results" / match[2]).read_text(encoding="utf-8"))
    rows = [row for row in compared["rows"] if row["model"] == match[3] and row["quantity"] == match[4]]
    if not rows:
        raise SystemExit(f"{match[2]} has no {match[4]} of {match[3]}.")
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["method"], {})[row["dataset"]] = row
    lines = [f"| {match[4]} | {' | '.join(datasets)} |", "|---|" + "---|" * len(datasets)]
    for method, cells in sorted(found.items(), key=lambda item: -sum(row["value"] for row in item[1].values())):
        shown = [f"{cells[name]['value']:.2f}{_interval(cells[name])}" if name in cells else "–" for name in datasets]
        lines.append(f"| {method} | {' | '.join(shown)} |")
    return match[1] + "\n".join(lines) + "\n" + match[5]


def _fill_rationales(match: re.Match[str]) -> str:
    """The claims, and a row for each rationale model: its accuracy, and what it selects."""
    compared = json.loads((ROOT / "results" / match[2]).read_text(encoding="utf-8"))
    columns = {
        "accuracy": "accuracy",
        "selected words": "selected of all words",
        "precision of the selection": "evidence, of the selected",
        "decoys in the selection": "decoys, of the selected",
        "recall of the selection": "selected, of the evidence",
        "selected evidence, of the possible": "of the possible",
    }
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in compared["rows"]:
        if row["model"].startswith("rationale-"):
            shown = f"{row['value']:.2f}{_interval(row)}"
            found.setdefault((row["dataset"], row["model"]), {})[row["quantity"]] = shown
    lines = [f"| dataset | model, aim | {' | '.join(columns.values())} |", "|---|---|" + "---|" * len(columns)]
    for key, values in found.items():
        lines.append(f"| {' | '.join(key)} | {' | '.join(values.get(name, '–') for name in columns)} |")
    return f"{match[1]}{_claims(compared['claims'])}\n" + "\n".join(lines) + "\n" + match[3]


def _interval(row: dict[str, Any]) -> str:
    return "" if row["low"] is None else f" ({row['low']:.2f} to {row['high']:.2f})"


def _fill_models(match: re.Match[str]) -> str:
    folder = ROOT / "results" / "base-models"
    trained = [json.loads(line) for line in (folder / "models.jsonl").read_text(encoding="utf-8").splitlines()]
    with (folder / "published.csv").open(encoding="utf-8", newline="") as file:
        published = list(csv.DictReader(file))
    lines = [
        "| dataset | recipe | model | metric | published | ours: mean (least to most) | seeds |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in published:
        key = [row[name] for name in ("dataset", "recipe", "model")]
        values = [
            run[f"test_{row['metric']}"]
            for run in trained
            if [run[name] for name in ("dataset", "recipe", "model")] == key
        ]
        interval = f" ({row['published_low']} to {row['published_high']})" if row["published_low"] else ""
        shown = f"{sum(values) / len(values):.3f} ({min(values):.3f} to {max(values):.3f})"
        lines.append(
            f"| {' | '.join(key)} | {row['metric']} | {row['published']}{interval} | {shown} | {len(values)} |"
        )
    return match[1] + "\n".join(lines) + "\n" + match[2]


def _claims(claims: list[dict[str, Any]]) -> str:
    lines = ["| claim | verdict | evidence |", "|---|---|---|"]
    lines += [f"| {claim['claim']} | **{claim['verdict']}** | {claim['evidence']} |" for claim in claims]
    return "\n".join(lines) + "\n"


def _rows(rows: list[dict[str, Any]]) -> str:
    keys = [tuple(row[name] for name in ("quantity", "dataset", "model", "method")) for row in rows]
    twice = len(set(keys)) < len(keys)  # as published and corrected
    lines = [
        f"| quantity | dataset | model | method |{' variant |' if twice else ''} published | second run | ours "
        "| 95 % interval | n | agrees |",
        f"|---|---|---|---|{'---|' if twice else ''}---|---|---|---|---|---|",
    ]
    for row in rows:
        interval = "–" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}"
        published, again = ("–" if row[name] is None else f"{row[name]:.3g}" for name in ("published", "second_run"))
        agrees = {True: "yes", False: "no", None: "–"}[row["agrees"]]
        variant = f" {row['variant']} |" if twice else ""
        lines.append(
            f"| {row['quantity']} | {row['dataset']} | {row['model']} | {row['method']} |{variant} {published} "
            f"| {again} | {row['value']:.3f} | {interval} | {row['n']} | {agrees} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
