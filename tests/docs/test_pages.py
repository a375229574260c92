"""Pages that people read are short; long lists are appendices that a tool makes."""

import inspect
import re
import tomllib
from pathlib import Path

import pytest

from trueness.cli.demo import demo_command
from trueness.errors import install

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [page for page in sorted([*DOCS.rglob("*.md"), DOCS.parent / "README.md"]) if not page.stem.endswith("-cells")]
WORDS, ROWS = 1500, 40


def words(text: str) -> int:
    """Of a page: what has a letter or a digit, between spaces."""
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def rows(text: str) -> int:
    """Of the longest table, without its head."""
    return max(
        (len(table.splitlines()) - 2 for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)), default=0
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_are_short(page):
    text = page.read_text(encoding="utf-8")
    assert words(text) <= WORDS
    assert rows(text) <= ROWS


ROOT = DOCS.parent
TOLD = [*PAGES, *sorted((ROOT / "src").rglob("*.py")), *sorted(ROOT.glob("*.md"))]


def test_what_is_on_no_registry_is_installed_from_the_repository():
    there = [file for file in TOLD if re.search(r"pip install '?trueness", file.read_text(encoding="utf-8"))]
    assert there == []
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = [name for file in TOLD for name in re.findall(r"'\.\[([a-z,]+)\]'", file.read_text(encoding="utf-8"))]
    assert {name for one in named for name in one.split(",")} <= set(extras)
    assert install("data") == (
        "in the repository of trueness run pip install --constraint constraints.txt '.[data]'"
    ), "as the pages say"


def test_the_readme_names_what_the_demo_makes():
    readme, makefile = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile"))
    named = set(re.findall(r"trueness (?:explain|agreement|adversarial-attention) (\S+)", readme))
    assert named == {"demo/model"}
    assert "trueness demo\n" in makefile
    assert inspect.signature(demo_command).parameters["out"].default == Path("demo"), "demo/model is made"
    assert "BIN := .venv/bin" in makefile
    assert "source .venv/bin/activate" in readme


def test_lists_are_made_by_the_tool():
    lists = sorted(DOCS.rglob("*-cells.md"))
    assert lists
    assert all("Made by `tools/update_docs.py`" in page.read_text(encoding="utf-8") for page in lists)


def test_words_and_rows_are_counted():
    text = "# One two\n\n| a | b |\n|---|---|\n| 1 | – |\n| 2 | 3 |\n"
    assert words(text) == 7
    assert rows(text) == 2
