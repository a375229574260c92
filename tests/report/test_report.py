import json
import re
from dataclasses import replace

import pytest

from trueness import report
from trueness.api import open_run
from trueness.errors import UserError
from trueness.protocols.result import Abstention, Result, ResultWarning
from trueness.report.compare import compare
from trueness.report.page import _page
from trueness.studies import KINDS


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"audit", "dry-run"}))
def test_published_files_hold_numbers(kind):
    rows = KINDS[kind].published().values()
    assert rows
    for row in rows:
        assert {"published", "note"} <= row.keys()
        float(row["published"] or row["second_run"])


def test_compare_has_the_agreed_form(tiny_run):
    compared = tiny_run.compare()
    assert set(compared) == {"schema", "study", "agreement", "rows", "claims", "warnings", "abstentions", "vectors"}
    nothing = dict.fromkeys(("compared", "agrees", "differs", "cannot tell"), 0)
    empty = {**nothing, "stand-ins": nothing, "not measured": 0, "quantities": []}
    assert compared["agreement"] == empty, "the paper's one draw has no spread"
    keys = {
        "quantity", "dataset", "model", "method", "variant", "published", "published_low", "published_high",
        "second_run", "value", "low", "high", "n", "direction", "null", "best", "compared_with", "margin", "group",
        "outcome", "note", "stand_in",
    }  # fmt: skip
    assert all(set(row) == keys for row in compared["rows"])
    assert all(set(claim) == {"claim", "verdict", "evidence"} for claim in compared["claims"])
    assert {row["variant"] for row in compared["rows"]} == {"corrected", "as-published"}
    json.dumps(compared, allow_nan=False)


def test_the_report_is_one_file_that_asks_for_nothing(tiny_run, tmp_path):
    page, figure, printable = tiny_run.report(tmp_path / "out" / "page.html")
    assert printable.read_bytes().startswith(b"%PDF")
    html = page.read_text(encoding="utf-8")
    assert "default-src 'none'" in html
    without_scripts = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", without_scripts)
    for claim in tiny_run.claims:
        assert claim.claim in html
    assert "study settings" in html.lower()
    assert tiny_run.stored.key in html
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert len(html) < 1_300_000


def test_a_report_is_an_html_file(tiny_run, tmp_path):
    with pytest.raises(UserError, match=r"ends in \.html"):
        tiny_run.report(tmp_path / "page.png")


def test_report_text_is_escaped(tiny_run, tmp_path):
    study = tiny_run.study.model_copy(update={"title": "<script>alert(1)</script>"})
    (page, *_) = report.write_report(study, tiny_run.stored, tmp_path / "page.html")
    html = page.read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)" in html
    assert "<script>alert(1)" not in html


@pytest.mark.parametrize(("form", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")])
def test_figures_in_every_form(tiny_run, form, start):
    (figure,) = KINDS[tiny_run.study.kind].figures(tiny_run.result)
    assert figure.drawn(form).startswith(start)


def test_the_figure_shows_both_readings(tiny_run):
    (figure,) = KINDS[tiny_run.study.kind].figures(tiny_run.result)
    panels = {row["panel"] for row in figure.spec["data"]["values"]}
    assert len(panels) == 2
    assert figure.spec["facet"]["sort"][0].startswith("one noise value")


def test_the_report_reads_the_store_only(tiny_run, tmp_path):
    """The page of the stored result equals that of the run, and the store has nothing that it had not before."""
    store = tiny_run.stored.store
    before = sorted(store.keys())
    again = open_run("roar-synthetic", store=store.path)
    assert again.compare() == tiny_run.compare()
    pages = [run.report(tmp_path / name)[0].read_bytes() for run, name in ((again, "a.html"), (tiny_run, "b.html"))]
    assert pages[0] == pages[1]
    assert sorted(store.keys()) == before


def test_a_result_without_scores_is_reported(tiny_run):
    empty = Result(records=tiny_run.to_pandas(), tables=tiny_run.result.tables)
    assert compare(tiny_run.study, empty)["rows"] == []
    assert "Target: –." in _page(tiny_run.study, tiny_run.stored, empty, [])


def test_values_of_a_paper_have_columns_only_where_there_are_some(tiny_run):
    """A table of the user's own data does not speak of a paper."""
    columns = ('<th scope="col" class="number">published</th>', '<th scope="col">outcome</th>')
    page = _page(tiny_run.study, tiny_run.stored, tiny_run.result, [])
    tables = page.split('<table id="score-table-')[1:]
    assert len(tables) == 2
    assert all(column in table for table in tables for column in columns)
    scores = tuple(score.model_copy(update={"dataset": "mine"}) for score in tiny_run.result.scores)
    page = _page(tiny_run.study, tiny_run.stored, replace(tiny_run.result, scores=scores), [])
    assert not any(column in page for column in columns)
    scores = page.split('<table id="score-table-')[1]
    (header, row) = (re.search(f"<{part}>.*?</tr>", scores, re.DOTALL)[0] for part in ("thead", "tbody"))
    assert header.count("</th>") == row.count("</td>") == 8


def test_what_could_not_be_measured_is_said(tiny_run):
    abstention = Abstention(quantity="AUROC", where="mine, net", reason="no evidence")
    page = _page(tiny_run.study, tiny_run.stored, replace(tiny_run.result, abstentions=(abstention,)), [])
    assert "could not be measured</span><span>mine, net: AUROC: no evidence." in page
    assert ">random explanation</th>" in page
    assert "useless" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_warnings_of_one_kind_are_listed_once(tiny_run):
    many = [ResultWarning(code="leak", where=f"place {number}", message="too much") for number in range(7)]
    other = ResultWarning(code="few", where="here", message="too little")
    result = replace(tiny_run.result, warnings=(*many, other))
    page = _page(tiny_run.study, tiny_run.stored, result, [])
    assert page.count(">leak</span>") == page.count(">few</span>") == 1
    assert "4 more of this kind" in page
    assert page.count("more of this kind") == 1
    assert all(page.count(f"place {number}: too much.") == 1 for number in range(7))


def test_a_report_that_cannot_be_written_is_a_sentence(tiny_run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"report .* cannot be written"):
        tiny_run.report(tmp_path / "file" / "page.html")
