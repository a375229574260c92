"""A plan of a study that never ran: tried for some seconds, what it finishes is kept."""

import trueness as tn
from tests.command import trueness

SMALL = {"seeds": 2, "data": {"train": 200, "test": 200}}


def test_a_probe_tells_how_long_it_takes_and_keeps_what_it_did(tmp_path):
    store = tmp_path / "store"
    before = tn.plan("roar-synthetic", store=store, workers=1, **SMALL)
    assert (before.seconds, before.in_vain) == (None, None)
    assert not store.exists(), "a plan alone changes nothing"
    found = tn.plan("roar-synthetic", store=store, workers=1, probe=120, **SMALL)
    assert found.in_vain is None
    assert sum(row["cached"] for row in found.tasks.values()) > 0
    assert found.seconds is not None
    again = tn.plan("roar-synthetic", store=store, workers=1, probe=120, seeds=3, data=SMALL["data"])
    assert sum(row["to_compute"] for row in again.tasks.values()) > 0, "tasks have run: nothing is tried again"


def test_a_probe_that_sees_no_end_says_so(tmp_path):
    slow = {"seeds": 4, "data": {"train": 400_000, "test": 1000}}
    found = tn.plan("roar-synthetic", store=tmp_path / "store", workers=1, probe=1, **slow)
    assert found.seconds is None
    assert found.in_vain == 1


def test_the_command_says_so(tmp_path):
    done = trueness("plan", "roar-synthetic", "--store", tmp_path / "store")
    assert "No estimate" in done.stdout
    assert "--probe 20" in done.stdout
