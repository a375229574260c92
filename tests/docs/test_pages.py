"""Pages that people read are short; long lists are appendices that a tool makes."""

import re
from pathlib import Path

import pytest

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


def test_lists_are_made_by_the_tool():
    lists = sorted(DOCS.rglob("*-cells.md"))
    assert lists
    assert all("Made by `tools/update_docs.py`" in page.read_text(encoding="utf-8") for page in lists)


def test_words_and_rows_are_counted():
    text = "# One two\n\n| a | b |\n|---|---|\n| 1 | – |\n| 2 | 3 |\n"
    assert words(text) == 7
    assert rows(text) == 2
