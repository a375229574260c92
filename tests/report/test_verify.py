"""A report that can be held against its store: it matches, differs, or cannot be told."""

import json

import pytest

from tests.command import trueness
from trueness.api import verify
from trueness.errors import UserError


@pytest.fixture(scope="module")
def report(tiny_run, tmp_path_factory):
    return tiny_run.report(tmp_path_factory.mktemp("report") / "page.html")[0]


def test_a_report_matches_its_store_and_comes_out_again(tiny_run, report):
    found = verify(report, store=tiny_run.stored.store.path, deep=1)
    assert found.outcome == "matches", found
    assert [one.what for one in found.looked][:2] == ["the stored result", "26 numbers as the store has them"]
    assert any("roar-synthetic/summary" in one.what for one in found.looked)
    assert any("roar-synthetic/curve" in one.what for one in found.looked)
    some = verify(report, store=tiny_run.stored.store.path, cells=["madsen2022", "recursive-roar"])
    assert some.outcome == "matches"
    assert some.looked[1].what.split()[0] != "26"


def test_a_changed_number_is_found(tiny_run, report, tmp_path):
    text = report.read_text(encoding="utf-8")
    value = json.dumps(tiny_run.result.scores[3].value)
    begin = text.index('id="trueness-cells"')
    changed = tmp_path / "changed.html"
    changed.write_text(text[:begin] + text[begin:].replace(value, "0.123456", 1), encoding="utf-8")
    done = trueness("verify", changed, "--store", tiny_run.stored.store.path)
    assert done.returncode == 1
    assert "the report shows 0.123456" in " ".join(done.stdout.split())
    assert verify(changed, store=tiny_run.stored.store.path, cells=["no such quantity"]).outcome == "cannot tell"


def test_another_store_cannot_tell(report, tmp_path):
    from trueness.engine import Store

    Store.open(tmp_path / "other", create=True)
    found = verify(report, store=tmp_path / "other")
    assert found.outcome == "cannot tell"
    assert "another store" in found.looked[0].why


@pytest.mark.parametrize(
    "content", ["", "<html>", '<script type="application/json" id="trueness-cells">{"a": 1}</script>']
)
def test_what_is_no_report_is_refused(tiny_run, tmp_path, content):
    (tmp_path / "no.html").write_text(content)
    with pytest.raises(UserError, match="no cells to verify"):
        verify(tmp_path / "no.html", store=tiny_run.stored.store.path)
    with pytest.raises(UserError, match="cannot be read"):
        verify(tmp_path / "none.html", store=tiny_run.stored.store.path)
