"""The kept results are of today's form, and their pages show them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from tools import attefa_again, judge_again, result_pages

from trueness.report.compare import SCHEMA
from trueness.stats.equivalence import equivalence

ROOT = Path(__file__).resolve().parent.parent
KEPT = sorted(
    path
    for path in (ROOT / "results").glob("*/*.json")
    if path.parent.name not in ("audit", "robustness", "benchmarks", "finding")
)
PAGES = [ROOT / "docs" / "results.md", *(ROOT / "docs" / "results").glob("*.md")]
WRITTEN = [page for page in PAGES if not page.stem.endswith("-cells")]


@pytest.mark.parametrize("file", KEPT, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_kept_results_have_one_form(file):
    found = json.loads(file.read_text(encoding="utf-8"))
    assert set(found) == {"schema", "study", "agreement", "rows", "claims", "warnings", "abstentions", "vectors"}
    assert found["schema"] == SCHEMA
    assert all(len(claim["evidence"]) <= 300 for claim in found["claims"])
    agreement = found["agreement"]
    for part, stands_in in ((agreement, False), (agreement["stand-ins"], True)):
        counted = [row["outcome"] for row in found["rows"] if row["outcome"] and bool(row["stand_in"]) == stands_in]
        assert part["compared"] == len(counted)
        assert all(part[outcome] == counted.count(outcome) for outcome in ("agrees", "differs", "cannot tell"))
    cells = [
        tuple(row[name] for name in ("quantity", "dataset", "model", "method"))
        for row in found["rows"]
        if row["outcome"]
    ]
    assert len(set(cells)) == len(cells), "each published cell once"


@pytest.mark.parametrize("file", KEPT, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_kept_outcomes_are_those_of_todays_margins(file):
    found = json.loads(file.read_text(encoding="utf-8"))
    assert judge_again.again(found) == found


def test_kept_conclusions_about_attefa_are_those_of_todays_rule():
    folder = ROOT / "results" / "attefa"
    found = json.loads((folder / "compare.json").read_text(encoding="utf-8"))
    assert attefa_again.again(found, pd.read_csv(folder / "runs.csv")) == found


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_links_of_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target


@pytest.mark.slow
def test_pages_show_what_is_kept():
    found = subprocess.run(
        [sys.executable, ROOT / "tools" / "update_docs.py", "--check"], check=False, capture_output=True
    )
    assert found.returncode == 0, found.stderr.decode()


@pytest.mark.parametrize(
    ("published", "second", "expected"),
    [(0.40, 0.30, True), (0.40, 0.34, False), (0.40, 0.36, False), (0.40, None, False), (None, 0.30, False)],
)
def test_the_authors_runs_are_the_cause_if_they_lie_apart_and_ours_lies_at_the_second(published, second, expected):
    row = {"published": published, "second_run": second, "value": 0.26, "margin": 0.05}
    assert result_pages.between_runs(row) == expected


def test_what_perfect_replication_gives_is_what_drawing_gives():
    """Ours and theirs are drawn from one distribution, often, and judged by the rule itself."""
    row = {"low": 0.28, "high": 0.36, "n": 5, "margin": 0.08, "outcome": "agrees"}
    ours = 0.04 / scipy.stats.t.ppf(0.975, 4)
    rng = np.random.default_rng(0)
    found = dict.fromkeys(result_pages.OUTCOMES, 0)
    for theirs, mean in rng.normal(0, [0.08 / 2**0.5, ours], (4000, 2)):
        found[equivalence(mean - 0.04, mean + 0.04, theirs, 0.08)] += 1
    told = result_pages.expected([row] * 4000)
    assert sum(told.values()) == pytest.approx(4000)
    for name, number in found.items():
        assert told[name] == pytest.approx(number, abs=100), name
    wide = result_pages.expected([{**row, "low": 0.0, "high": 0.9}])
    assert wide["agrees"] == 0.0
