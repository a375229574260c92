import enum
import shutil
import signal
import subprocess
import sys
import time
import types
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.engine.tasks import double, echo, every_payload, pause, total
from trueness.engine import LocalExecutor, Store, run, survey, walk
from trueness.engine.timing import ends_after


def values(n, **options):
    return total({"parts": [double(value=i, **options) for i in range(n)]})


@pytest.mark.parametrize(
    "make", [lambda: ThreadPoolExecutor(3), lambda: ProcessPoolExecutor(2), lambda: LocalExecutor(["cpu"])]
)
def test_any_executor_gives_the_same_objects(store, make):
    with make() as executor:
        summary = run([values(5), every_payload()], store, executor)
    assert (summary.total, summary.cached, summary.computed) == (7, 0, 7)
    assert store.get(values(5).key).read("value") == 20


def test_only_what_the_targets_need_is_computed(store, local):
    run([values(3)], store, local)
    for part in values(3).upstream():
        shutil.rmtree(store.objects / part.key)
    assert run([values(3)], store, local).computed == 0


def test_workers_know_their_device_and_use_one_thread(store):
    with LocalExecutor(["cuda:7"]) as executor:
        run([every_payload()], store, executor)
    assert store.get(every_payload().key).read("plain") == {"device": "cuda:7", "threads": "1"}
    assert store.get(every_payload().key).meta["device"] == "cuda:7"


def test_parameters_travel_as_plain_values(store, local):
    class Colour(enum.Enum):
        RED = "red"

    given = {"colour": Colour.RED, "sizes": (1.0, np.int64(2))}
    target = echo(value=types.MappingProxyType(given))
    given["sizes"] = ()  # a change after binding changes nothing
    assert run([target], store, local).complete
    assert store.get(target.key).read("value") == {"colour": "red", "sizes": [1, 2]}


def test_half_a_run_predicts_the_rest(store, local):
    """Tasks of two kinds of length in chains: predicted within a half, on a machine that others use too."""

    def plan(numbers):
        ends = []
        for number in numbers:
            chain = double(value=number, log="", seconds=0.1)
            for step in range(3):
                kind = ("a", "b")[number % 2]
                chain = pause({"before": [chain]}, kind=kind, step=step, seconds=0.25 if kind == "a" else 0.6)
            ends.append(chain)
        return ends

    run(plan(range(4)), store, local)
    whole = plan(range(8))
    found = survey(whole, store)
    predicted = ends_after(found.tasks, found.timing, found.needed, 2)
    begin = time.monotonic()
    run(whole, store, local)
    assert predicted == pytest.approx(time.monotonic() - begin, rel=0.5)


def test_a_plan_is_walked_once_whatever_its_shape():
    shared = double(value=0)
    layer = [shared]
    for depth in range(30):
        layer = [total({"parts": layer}, log=f"{depth}-{i}") for i in range(2)]
    tasks = walk(layer)
    assert len(tasks) == len({task.key for task in tasks}) == 61
    position = {task.key: index for index, task in enumerate(tasks)}
    assert all(position[up.key] < position[task.key] for task in tasks for up in task.upstream())


SCRIPT = """
import sys
from tests.engine.test_driver import values
from trueness.engine import LocalExecutor, Store, run
path, log, n, seconds = sys.argv[1:]
with LocalExecutor(["cpu", "cpu"]) as executor:
    summary = run([values(int(n), log=log, seconds=float(seconds))], Store.open(path, create=True), executor)
print(summary.complete, summary.computed, summary.found)
"""


def start(path, log, n, seconds):
    command = [sys.executable, "-c", SCRIPT, str(path), str(log), str(n), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])


def test_two_runs_on_one_store_compute_each_task_once(tmp_path):
    n, log = 30, tmp_path / "log"
    runs = [start(tmp_path / "store", log, n, 0.05) for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0].split() for process in runs]
    assert [output[0] for output in outputs] == ["True", "True"]
    assert sum(int(output[1]) for output in outputs) == n + 1
    counted = Counter(line.split()[0] for line in log.read_text().splitlines())
    assert len(counted) == n  # the total has no log of its own here
    assert set(counted.values()) == {1}
    assert not list((tmp_path / "store" / "temporary").iterdir())


def test_a_killed_driver_loses_no_finished_task_and_repeats_none(tmp_path):
    """SIGKILL at 20 random moments; afterwards no task may have started after it was committed."""
    n, log, path = 120, tmp_path / "log", tmp_path / "store"
    rng = np.random.default_rng(0)
    objects = path / "objects"
    kept: dict[str, bytes] = {}
    for target in np.sort(rng.choice(np.arange(1, n), 20, replace=False)):
        process = start(path, log, n, 0.01)
        deadline = time.monotonic() + 60
        while (not objects.is_dir() or sum(1 for _ in objects.iterdir()) < target) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        for key, meta in kept.items():
            assert (objects / key / "meta.json").read_bytes() == meta
        kept = {item.name: (item / "meta.json").read_bytes() for item in objects.iterdir()}
    output, _ = start(path, log, n, 0.01).communicate(timeout=60)
    assert output.split()[0] == "True"

    committed = {}
    store = Store.open(path)
    for key in store.keys():  # noqa: SIM118  # a store is not a mapping
        meta = store.verify(key)
        if meta["task"] == "double":
            committed[f"double-{meta['parameters']['value']}"] = meta["finished"]
    assert len(committed) == n
    for line in log.read_text().splitlines():
        name, started = line.split()
        assert float(started) <= committed[name] + 0.001
    with LocalExecutor(["cpu"]) as executor:
        assert run([values(n, log=str(log), seconds=0.01)], store, executor).computed == 0
    assert not list((path / "temporary").iterdir())
