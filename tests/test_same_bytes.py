"""Every built-in study gives the same bytes again: whatever Python's sets order, killed or not, on every engine."""

import pytest

from tests.kills import Kills
from tests.miniatures import MINIATURES, audits, digests, finish, start
from trueness import api


@pytest.fixture(scope="module")
def twice(folder, tmp_path_factory):
    """The digests of two undisturbed runs."""
    stores = [tmp_path_factory.mktemp("undisturbed") / "store" for _ in range(2)]
    processes = [start(store, folder, PYTHONHASHSEED=str(seed)) for seed, store in enumerate(stores, start=1)]
    for process, store in zip(processes, stores, strict=True):
        finish(process, store)
    return [digests(store) for store in stores]


def test_every_built_in_study_has_a_miniature():
    assert sorted(MINIATURES) == sorted(api.catalogue()["study"])


def test_every_built_in_study_gives_the_same_bytes_twice(twice):
    first, second = twice
    differ = {task for key, (task, found) in first.items() if second.get(key, [task, None])[1] != found}
    assert not differ
    assert first == second
    assert "attention/seeds" in {task for task, _ in first.values()}


@pytest.mark.long
def test_a_killed_driver_of_all_studies_gives_the_same_bytes(twice, folder, tmp_path):
    """Once, with a local pool; `make kill-test` kills a hundred, on Dask and Parsl too."""
    kills = Kills(folder, {"local": "local"}, twice[0], seed=1)
    kills.one_store(tmp_path / "store", 1)
    assert kills.wrong() == []
    assert sum(kills.killed.values()) == 1


@pytest.mark.long
def test_a_killed_driver_of_audits_of_all_kinds_gives_the_same_bytes(folder, tmp_path):
    work = {"studies": {}, "audits": audits(tmp_path / "audits")}
    finish(start(tmp_path / "undisturbed", folder, PYTHONHASHSEED="1", **work), tmp_path / "undisturbed")
    kills = Kills(folder, {"local": "local"}, digests(tmp_path / "undisturbed"), seed=1, work=work)
    kills.one_store(tmp_path / "store", 2)
    assert kills.wrong() == []
    assert sum(kills.killed.values()) == 2
