"""The kept results are of today's form, and their pages are short and current."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trueness.report.compare import SCHEMA

ROOT = Path(__file__).resolve().parent.parent
KEPT = sorted(
    path
    for path in (ROOT / "results").glob("*/*.json")
    if path.parent.name not in ("audit", "robustness", "benchmarks")
)
PAGES = [ROOT / "docs" / "results.md", *(ROOT / "docs" / "results").glob("*.md")]
WRITTEN = [page for page in PAGES if not page.stem.endswith("-cells")]


@pytest.mark.parametrize("file", KEPT, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_kept_results_have_one_form(file):
    found = json.loads(file.read_text(encoding="utf-8"))
    # Words without a vector were not counted when the oldest of these were made.
    assert set(found) - {"vectors"} == {"schema", "study", "agreement", "rows", "claims", "warnings", "abstentions"}
    assert found["schema"] == SCHEMA
    assert all(len(claim["evidence"]) <= 300 for claim in found["claims"])
    counted = [row["outcome"] for row in found["rows"] if row["outcome"]]
    agreement = found["agreement"]
    assert agreement["compared"] == len(counted)
    assert all(agreement[outcome] == counted.count(outcome) for outcome in ("agrees", "differs", "cannot tell"))
    cells = [
        tuple(row[name] for name in ("quantity", "dataset", "model", "method"))
        for row in found["rows"]
        if row["outcome"]
    ]
    assert len(set(cells)) == len(cells), "each published cell once"


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_pages_can_be_read(page):
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"<!-- .*?<!-- end -->", "", text, flags=re.DOTALL)
    assert len(prose.split()) < 1500
    assert max(table.count("\n") - 2 for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)) <= 40
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target


@pytest.mark.slow
def test_pages_show_what_is_kept():
    found = subprocess.run(
        [sys.executable, ROOT / "tools" / "update_docs.py", "--check"], check=False, capture_output=True
    )
    assert found.returncode == 0, found.stderr.decode()
