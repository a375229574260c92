import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import trueness as tn
from tests.conftest import TINY
from trueness import api
from trueness.engine import Store
from trueness.errors import UserError
from trueness.studies import builtin_studies

KILLED = {"seeds": 6, "data": {"train": 300, "test": 1000}}


def digests(run):
    store = run.stored.store
    return {key: store.meta(key)["payloads"] for key in store.keys()}  # noqa: SIM118  # a store is not a mapping


def test_the_study_confirms_the_paper_under_the_authors_reading(tiny_run):
    def verdicts(reading):
        return {claim.claim.split(" (")[0]: claim.verdict for claim in tiny_run.claims if reading in claim.claim}

    authors, independent = verdicts("roar-synthetic@madsen2022"), verdicts("independent noise")
    identical, chance = (
        "Recursive ROAR is identical to the ground-truth order",
        "Recursive ROAR and the ground-truth order reach chance at step 4",
    )
    assert len(authors) == len(independent) == 4
    assert authors[identical] == authors[chance] == "supported"
    assert authors["Recursive ROAR never lies above the ground-truth order by more than 0.02"] == "supported"
    assert independent[identical] == "not supported"
    assert independent[chance] == "supported"


def test_running_again_is_free_and_the_same(tiny_run):
    again = tn.run("roar-synthetic", store=tiny_run.stored.store.path, workers=1, **TINY)
    assert (again.summary.computed, again.summary.cached) == (0, 51)
    assert again.scores == tiny_run.scores


def test_the_number_of_workers_does_not_change_a_byte(tiny_run, tmp_path):
    alone = tn.run("roar-synthetic", store=tmp_path / "store", workers=1, **TINY)
    assert digests(alone) == digests(tiny_run)


def test_any_executor_runs_a_study(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as threads:
        run = tn.run("roar-synthetic", store=tmp_path / "store", executor=threads, **KILLED)
    assert run.summary.computed == 61


def test_results_show_themselves_in_a_notebook(tiny_run):
    assert repr(tiny_run).startswith("<StudyRun roar-synthetic: 26 scores; claims: ")
    html = tiny_run._repr_html_()
    assert "<svg" in html
    assert "<table" in html
    assert len(tiny_run.to_pandas()) == 2 * 5 * 5 * 17


def test_a_plan_tells_what_is_done_and_how_long_the_rest_takes(tiny_run, tmp_path):
    new = tn.plan("roar-synthetic", store=tmp_path / "none", **TINY)
    assert new.to_json()["cached"] == 0
    assert new.seconds is None
    done = tn.plan("roar-synthetic", store=tiny_run.stored.store.path, **TINY)
    assert done.to_json()["cached"] == done.to_json()["total"] == 51
    assert done.seconds == 0
    more = tn.plan("roar-synthetic", store=tiny_run.stored.store.path, workers=1, **{**TINY, "seeds": 10})
    assert more.tasks["roar-synthetic/curve"] == {"total": 100, "cached": 50, "to_compute": 50}
    spent = sum(
        tiny_run.stored.store.meta(key)["seconds"]
        for key in tiny_run.stored.store.keys()  # noqa: SIM118  # a store is not a mapping
    )
    assert more.seconds == pytest.approx(spent, rel=0.5)
    assert more.guessed == ("roar-synthetic/summary",)
    assert done.guessed == ()
    assert 0 < more.critical_path < more.seconds
    assert not (tmp_path / "none").exists()


def test_reports_and_comparisons_find_the_newest_run(tmp_path):
    first = tn.run("roar-synthetic", store=tmp_path / "s", workers=1, **{**KILLED, "seeds": 1})
    second = tn.run("roar-synthetic", store=tmp_path / "s", workers=1, **{**KILLED, "seeds": 2})
    assert tn.open_run("roar-synthetic", store=tmp_path / "s").stored.key == second.stored.key
    assert tn.open_run("roar-synthetic", store=tmp_path / "s", **{**KILLED, "seeds": 1}).stored.key == first.stored.key
    with pytest.raises(UserError, match="no finished run"):
        tn.open_run("roar-synthetic", store=tmp_path / "s", seeds=7)
    with pytest.raises(UserError, match="no finished run"):
        tn.open_run("roar-synthetic", store=Store.open(tmp_path / "empty", create=True).path)


def test_another_run_than_asked_for_says_in_what_it_differs(tmp_path):
    path = tmp_path / "mine.toml"
    text = (
        builtin_studies()["roar-synthetic"].replace("seeds = 50", "seeds = 1").replace("train = 10000", "train = 300")
    )
    path.write_text(text.replace("test = 20000", "test = 500"))
    done = tn.run(path, store=tmp_path / "s", workers=1)
    assert tn.open_run(path, store=tmp_path / "s").notice == ""
    path.write_text(path.read_text().replace("margin = 0.02", "margin = 0.03").replace("train = 300", "train = 400"))
    newest = tn.open_run(path, store=tmp_path / "s")
    assert newest.stored.key == done.stored.key
    assert newest.notice.endswith("in: data.train, margin")


def test_a_failing_study_says_which_task(tmp_path, monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    monkeypatch.setattr("trueness.papers.roar_synthetic.study.removal_curve", lambda *a, **k: 1 / 0)
    with (
        ThreadPoolExecutor(1) as threads,
        pytest.raises(tn.TasksFailedError, match=r"roar-synthetic/curve.*ZeroDivision"),
    ):
        tn.run("roar-synthetic", store=tmp_path / "s", executor=threads, **{**KILLED, "seeds": 1})


def test_bad_arguments(tmp_path):
    with pytest.raises(UserError, match="workers"):
        tn.run("roar-synthetic", store=tmp_path / "s", workers=-1)
    for devices in ([], ["banana"], ["cuda:99"]):
        with pytest.raises(UserError, match="device"):
            tn.run("roar-synthetic", store=tmp_path / "s", devices=devices)
    with pytest.raises(UserError, match="whole number"):
        tn.run("roar-synthetic", store=tmp_path / "s", workers=1.5)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file"):
        tn.plan("roar-synthetic", store=tmp_path / "file")
    with pytest.raises(UserError, match="loaded already"):
        tn.run(tn.load_study("roar-synthetic"), store=tmp_path / "s", seeds=3)
    with pytest.raises(AttributeError):
        tn.no_such_name  # noqa: B018


def test_datasets_by_name():
    data = tn.load_dataset("roar-synthetic", seed=1, train=20, test=10)
    assert (len(data.train), len(data.test)) == (20, 10)


def test_everything_has_a_name_and_a_description():
    for kind, entries in tn.catalogue().items():
        assert entries, kind
        assert all(entries.values())


def test_the_package_lists_the_names_of_the_api_and_each_is_found():
    functions = {name for names in api._HOME.values() for name in names}
    assert all(callable(getattr(api, name)) for name in functions)
    assert set(tn.__all__) == functions | {
        "__version__",
        "explainers",
        "stats",
        *(name for names in tn._HOME.values() for name in names),
    }
    assert dir(tn) == sorted(tn.__all__), "what is imported for its own use is not shown"
    assert tn.list is tn.catalogue
    everything: dict[str, object] = {}
    exec("from trueness import *", everything)
    assert everything["run"] is api.run
    assert everything["UserError"] is UserError
    assert "list" not in everything, "Python's own stays"
    assert not any(hasattr(tn, name) for name in ("Any", "TYPE_CHECKING", "Sequence"))
    assert set(tn.__all__) <= set(everything)


SCRIPT = """
import sys
import trueness as tn
from tests.test_api import KILLED
tn.run("roar-synthetic", store=sys.argv[1], workers=2, **KILLED)
"""


def test_nothing_heavy_is_loaded_before_it_is_needed():
    """Of every command torch, matplotlib and pandas would be most of the time to its first answer."""
    heavy = "{'torch', 'matplotlib', 'pandas', 'sklearn', 'transformers'} & set(sys.modules)"
    code = f"import sys, trueness.api, trueness.cli.main, trueness.cli.show; print({heavy})"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_sigkill_at_five_random_moments_changes_nothing(tmp_path):
    """Kill the driver five times over the study, running it again each time: same digests, nothing computed twice."""
    undisturbed = tn.run("roar-synthetic", store=tmp_path / "undisturbed", workers=2, **KILLED)
    disturbed = tmp_path / "disturbed"
    objects = disturbed / "objects"
    rng = np.random.default_rng(1)
    kept: dict[str, bytes] = {}
    for target in np.sort(rng.choice(np.arange(undisturbed.summary.total), 5, replace=False)):
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(disturbed)], cwd=Path(__file__).parents[1])
        deadline = time.monotonic() + 60
        while (not objects.is_dir() or sum(1 for _ in objects.iterdir()) < target) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        found = {item.name: (item / "meta.json").read_bytes() for item in objects.iterdir()}
        assert {key: found.get(key) for key in kept} == kept  # nothing was lost or written again
        kept = found
    final = tn.run("roar-synthetic", store=disturbed, workers=2, **KILLED)
    assert final.summary.cached >= len(kept)
    assert final.summary.cached + final.summary.computed + final.summary.found == undisturbed.summary.total
    assert digests(final) == digests(undisturbed)
    metas = {key: (objects / key / "meta.json").read_bytes() for key in kept}
    assert metas == kept
    assert not list((disturbed / "temporary").iterdir())
