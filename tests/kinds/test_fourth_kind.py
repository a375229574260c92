"""A kind of input from one folder outside the package: every function works on it, in worker processes too."""

import re

import numpy as np
import pytest

import trueness as tn
from tests.browser.conftest import Running
from trueness.browser.site import Site
from trueness.engine import Store
from trueness.kinds import KINDS, kind_of, kind_of_data
from trueness.server.app import named

SIZES = {
    **{"examples": 60, "repeat_examples": 40, "edit_examples": 40, "alone_examples": 16, "shuffled_examples": 40},
    **{"shuffles": 3, "hidden_shares": [0.2, 0.5], "training_examples": 300, "planted_models": 2},
    **{"planted_examples": 40, "companion_examples": 40, "relative_examples": 40, "shown_examples": 2},
}
QUICK = "default[epochs=3, learning_rate=0.02]"
NAMES = ["input-x-gradient", "leave-one-out"]


@pytest.fixture(scope="module", autouse=True)
def notes():
    """The kind, known as long as these tests run."""
    from tests.kinds.notes import kind

    if "notes" not in list(KINDS):
        KINDS.add("notes", kind.NOTES, "melodies", maker=kind.NotesData)
    yield kind
    del KINDS._entries["notes"]


@pytest.fixture(scope="module")
def model(notes):
    return tn.train("ear", "tunes")


def test_explain(model):
    assert kind_of(model) is kind_of_data("tunes") is KINDS["notes"]
    (found,) = tn.explain(model, ["CDEFGDBC"], "leave-one-out")
    assert found.tokens == tuple("CDEFGDBC")
    assert (found.predicted, int(np.argmax(found.scores))) == ("glad", 6)
    assert len(tn.explain(model, tn.load_dataset("tunes")["test"].pick([0, 1]))) == 2


def test_agreement_and_faithfulness(model):
    assert tn.agreement(model, "tunes", NAMES, instances=20).scores
    cost = {score.method: score.value for score in tn.faithfulness(model, "tunes", instances=20).scores}
    assert cost["leave-one-out"] > cost["random"]


@pytest.fixture(scope="module")
def audit(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("notes")
    model.save(folder / "model")
    return folder, tn.audit(folder / "model", "tunes", store=folder / "store", explainers=NAMES, workers=1, **SIZES)


def test_audit_in_a_worker_process(audit):
    _, found = audit
    assert (found.kind, found.words.units, found.accuracy > 0.9) == ("notes", "notes", True)
    assert found["leave-one-out"].trial("finds planted evidence").checks[0].value > 0.9
    assert found["random"].foil
    assert set(found.examples[0].units) <= set("CDEFGAB")


def test_a_report_and_the_browser_show_melodies(audit, tmp_path):
    folder, found = audit
    page = found.report(tmp_path / "audit.html").read_text()
    seen = re.sub(r"<style.*?</style>|<script.*?</script>|<[^>]+>", " ", page, flags=re.DOTALL)
    assert "60 melodies" in seen
    assert not re.search(r"\b(texts?|words?|images?|squares?|pixels?|features?)\b", seen)
    site = Site(named([Store.open(folder / "store")]))
    pages = {address: site.page(address) for address in site.addresses()}
    assert {page.status for page in pages.values()} == {200}
    (texts,) = [page.content.decode() for address, page in pages.items() if address.endswith("/texts.json")]
    assert "leave-one-out" in texts
    running = Running([Store.open(folder / "store")])
    try:
        address = next(address for address in pages if address.endswith("/audit-1.html"))
        status, _, content = running.ask(address)
        assert (status, b"60 melodies" in content) == (200, True)
    finally:
        running.stop()


def test_recursive_roar(model):
    found = tn.recursive_roar("ear", "tunes", ["leave-one-out"], seeds=1, steps=[0.2, 0.5], leak=False, recipe=QUICK)
    assert {score.method for score in found.scores} >= {"leave-one-out"}
    curve = found.tables["curves"]
    assert len(curve)


def test_dry_run_in_a_worker_process(model, tmp_path):
    found = tn.dry_run("tunes", explainers=[*NAMES, "random"], seeds=2, store=tmp_path / "store", workers=1)
    measured = {score.method: score.value for score in found.scores if score.quantity == "AUROC"}
    assert measured["leave-one-out"] > 0.9 > 0.7 > measured["random"]
    page, *_ = found.report(tmp_path / "dry.html")
    assert "leave-one-out" in page.read_text()
