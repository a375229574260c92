"""The reference has every public name, and none that is gone."""

import re
from pathlib import Path

import pytest

import trueness as tn
from trueness import stats

PAGES = Path(__file__).parents[2] / "docs" / "reference"


def named(prefix):
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    return set(re.findall(rf"auto\w+:: {prefix}\.(\w+)$", text, re.MULTILINE))


@pytest.mark.parametrize(
    ("prefix", "module", "apart"),
    [
        ("trueness", tn, {"__version__", "explainers", "stats"}),
        (r"trueness\.stats", stats, {"Outcome", "of_pairs"}),
    ],
)
def test_every_public_name_has_its_place(prefix, module, apart):
    assert named(prefix) - {"stats", "explainers"} == set(module.__all__) - apart


def test_every_function_is_on_the_first_page():
    page = (PAGES / "index.md").read_text(encoding="utf-8")
    functions = {name for name in tn.__all__ if name[0].islower()}
    assert functions - set(re.findall(r"tn\.(\w+)", page)) == set()
