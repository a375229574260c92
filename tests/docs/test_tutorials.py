from pathlib import Path

import pytest

from tests.docs.tutorials import alike, run

PAGES = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block, printed in run(page):
        assert alike(printed, block["said"] or ""), f"{page.name} prints:\n{printed}"


def test_other_words_and_far_numbers_are_noticed():
    assert alike("may be shown 0.52\n", "may be  shown 0.55")
    assert not alike("may be shown 0.52", "cannot tell 0.52")
    assert not alike("tau 0.52", "tau 0.92")
    assert not alike("5 tasks", "6 tasks")
