"""Results that another version left, or somebody: they open or are refused in one sentence, and the others work."""

import contextlib
import json
import os
import signal

import pytest

import trueness as tn
from tests.audit.fixtures import example_audit
from tests.browser.stores import audit_store, commit, strips
from trueness.audits.leaderboard import result_of
from trueness.browser.export import export
from trueness.browser.site import Site
from trueness.engine import DamagedObjectError
from trueness.errors import UserError


def with_verdict(audit, verdict):
    audit["explainers"][0]["decision"] = verdict
    return audit


AUDITS = {
    "a field more": lambda audit: {**audit, "new": 1},
    "a field less": lambda audit: {name: value for name, value in audit.items() if name != "explainers"},
    "an unknown verdict": lambda audit: with_verdict(audit, "may be shown at night"),
    "a verdict that is a list": lambda audit: with_verdict(audit, ["may be shown"]),
    "inputs null": lambda audit: {**audit, "inputs": None},
    "texts in words": lambda audit: {**audit, "texts": "many"},
    "a newer version": lambda audit: {**audit, "schema_version": 999},
    "a version of 5,000 digits": lambda audit: {**audit, "schema_version": 1, "texts": int("9" * 4000)},
    "no version": lambda audit: {name: value for name, value in audit.items() if name != "schema_version"},
    "a list": lambda audit: [audit],
    "nothing": lambda _: None,
}
RESULTS = {
    "a newer result": {"schema": 999},
    "no schema": {"schema": None},
    "a list of tables that are not there": {"tables": ["more"]},
    "tables in words": {"tables": 7},
    "a score more": {"scores": [{"new": 1}]},
    "scores as a mapping": {"scores": {"a": 1}},
    "claims of nothing": {"claims": None},
}
OPEN = {"a field with a default less": lambda audit: {k: v for k, v in audit.items() if k not in ("curves", "cost")}}


def add(store, change, title):
    """A newer run whose result was changed before it was signed."""
    plain = json.loads(example_audit().model_dump_json())
    payloads = result_of([({}, plain)]).payloads()
    change(payloads, plain)
    examples = commit(store, "audit/examples", {"examples": [], "strips": strips(5)})
    verdict = commit(store, "audit/verdict", {"audit": plain}, examples=[examples])
    key = commit(store, "audit/summary", payloads, audits=[verdict])
    about = {"kind": "audit", "name": "audit", "title": title, "question": "Which?", "paper": "trueness"}
    store.record_run("audit", key, about)
    return key


def audit_change(change):
    def changed(payloads, plain):
        payloads["audits"].loc[0, "audit"] = json.dumps(change(plain))

    return changed


def result_change(change):
    return lambda payloads, _: payloads["result"].update(change)


def no_table(payloads, _):
    payloads["audits"] = [1]


def other_columns(payloads, _):
    payloads["audits"] = payloads["audits"].rename(columns={"audit": "other"})


def records_of_nothing(payloads, _):
    payloads["records"] = []


CHANGES = {
    **{f"an audit with {name}": audit_change(change) for name, change in AUDITS.items()},
    **{f"a result with {name}": result_change(change) for name, change in RESULTS.items()},
    **{one.__name__: one for one in (no_table, other_columns, records_of_nothing)},
}


@pytest.fixture
def skewed(tmp_path):
    """A store of one good run, and what it takes to add another."""
    return audit_store(tmp_path / "s", strips(12), title="A good run")


@pytest.mark.parametrize("what", CHANGES)
def test_a_run_that_cannot_be_opened_is_told_and_the_others_work(skewed, tmp_path, what):
    store, good = skewed
    bad = add(store, CHANGES[what], "A strange run")
    site = Site({"s": store})
    first = site.page("index.html")
    assert first.status == 200
    shown = first.content.decode()
    assert "A good run" in shown
    assert "A strange run" in shown
    audits_are_strange = not what.startswith("a result") and what != "records_of_nothing"
    assert ("This cannot be shown: " in shown) == audits_are_strange
    for name in ("index.html", "plots.json", "texts.json", "audit-1.html"):
        assert site.page(f"s/{good}/{name}").status == 200
        page = site.page(f"s/{bad}/{name}")
        assert page.status in (200, 404, 410, 422)
        assert page.status != 404 or name == "texts.json"
    page = site.page(f"s/{bad}/index.html")
    assert page.status in (410, 422)
    told = (b"version", b"is not an audit", b"as trueness", b"cannot be read", b"is not valid JSON")
    assert any(words in page.content for words in told)
    assert export({"s": store}, tmp_path / "out") > 10
    assert (tmp_path / "out" / "s" / good / "audit-1.html").exists()
    run, session = tn.rating("audit", store=store.path, items=3)
    assert run.key == good
    assert session.next("0" * 16)["total"] >= 3


@pytest.mark.parametrize("what", OPEN)
def test_an_older_audit_opens(skewed, what):
    store, _ = skewed
    key = add(store, audit_change(OPEN[what]), "An older run")
    site = Site({"s": store})
    assert "This cannot be shown" not in site.page("index.html").content.decode()
    assert site.page(f"s/{key}/index.html").status == 200


def test_where_no_run_can_be_rated_the_reason_is_told(tmp_path, skewed):
    store, good = skewed
    os.rename(store.objects / good, tmp_path / "away")
    add(store, audit_change(AUDITS["a newer version"]), "Another")
    with pytest.raises(UserError, match=r"keeps texts.*999"):
        tn.rating("audit", store=store.path)


def test_looking_at_a_rating_writes_nothing(skewed):
    store, _ = skewed
    before = sorted(store.path.rglob("*"))
    with pytest.raises(UserError, match=r"No pairwise rating of .* was begun"):
        tn.rating("audit", store=store.path, begin=False)
    assert sorted(store.path.rglob("*")) == before
    _, begun = tn.rating("audit", store=store.path, items=3)
    assert tn.rating("audit", store=store.path, begin=False)[1].design == begun.design


def report(tmp_path, key, scores=()):
    path = tmp_path / "report.html"
    cells = json.dumps({"result": key, "digests": {}, "scores": list(scores)})
    path.write_text(f'<script type="application/json" id="trueness-cells">{cells}</script>')
    return path


@pytest.mark.parametrize("what", CHANGES)
def test_verifying_such_a_result_ends_in_a_sentence(skewed, tmp_path, what):
    store, _ = skewed
    key = add(store, CHANGES[what], "A strange run")
    with contextlib.suppress(UserError, DamagedObjectError):
        assert tn.verify(report(tmp_path, key), store=store.path).outcome == "cannot tell"


@pytest.mark.parametrize("scores", [[1], [[]], [["a"]], {"a": 1}])
def test_a_report_whose_cells_are_none_is_refused(skewed, tmp_path, scores):
    path = report(tmp_path, skewed[1])
    path.write_text(path.read_text().replace('"scores": []', f'"scores": {json.dumps(scores)}'))
    with pytest.raises(UserError, match="holds no cells"):
        tn.verify(path, store=skewed[0].path)


@contextlib.contextmanager
def at_most(seconds):
    """Fails what waits for ever, as the opening of a pipe does."""

    def ring(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def link(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [os.mkfifo, link])
@pytest.mark.parametrize("place", ["runs/zz.json", "progress/zz.json", "logs/{key}.log", "objects/{key}"])
def test_pipes_and_links_in_a_store_stop_nothing(skewed, tmp_path, make, place):
    store, good = skewed
    path = store.path / place.format(key="0" * 40)
    path.parent.mkdir(exist_ok=True)
    make(path)
    site = Site({"s": store})
    with at_most(60):
        assert site.page("index.html").status == 200
        assert site.page(f"s/task-{'0' * 40}.html").status in (404, 410)
        assert export({"s": store}, tmp_path / "out") > 10
        assert tn.rating("audit", store=store.path, items=3)[0].key == good
        assert tn.verify(report(tmp_path, good), store=store.path).outcome == "cannot tell"


@pytest.mark.parametrize("make", [os.mkfifo, link])
@pytest.mark.parametrize("name", ["design.json", "answers.jsonl"])
def test_a_rating_that_is_a_pipe_is_refused(skewed, make, name):
    store, _ = skewed
    _, session = tn.rating("audit", store=store.path, items=3)
    (session.folder / name).unlink(missing_ok=True)
    make(session.folder / name)
    with at_most(30), pytest.raises(UserError, match=name):
        tn.rating("audit", store=store.path, items=3)


@pytest.mark.parametrize("make", [os.mkfifo, link])
def test_a_report_that_is_a_pipe_is_refused(skewed, tmp_path, make):
    make(tmp_path / "report.html")
    with at_most(30), pytest.raises(UserError, match="no ordinary file"):
        tn.verify(tmp_path / "report.html", store=skewed[0].path)


def test_a_marker_that_is_a_pipe_is_refused(skewed):
    marker = skewed[0].path / "trueness-store.json"
    marker.unlink()
    os.mkfifo(marker)
    with at_most(30), pytest.raises(UserError, match="no ordinary file"):
        tn.rating("audit", store=skewed[0].path)
