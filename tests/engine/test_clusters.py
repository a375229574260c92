"""The same work on Parsl and on Dask, each on this machine with two worker processes."""

import logging
import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import trueness as tn
from tests.command import separately
from tests.engine.tasks import dies, double, every_payload, total
from trueness.engine import EngineLostError, Listener, LocalExecutor, Store, open_engine, run
from trueness.errors import UserError

PARSL = """
from parsl import Config
from parsl.executors import HighThroughputExecutor
from parsl.providers import LocalProvider

provider = LocalProvider(init_blocks=1, min_blocks=1, max_blocks=1, worker_init={init!r})
executor = HighThroughputExecutor(
    max_workers_per_node=2, cores_per_worker=0.1, provider=provider, address="127.0.0.1", encrypted=False,
    heartbeat_period=1, heartbeat_threshold=10, poll_period=10,
)
config = Config(executors=[executor], run_dir={folder!r}, usage_tracking=0, initialize_logging=False, strategy="none")
"""


@pytest.fixture(scope="module")
def dask():
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0") as cluster:
        yield f"dask:{cluster.scheduler_address}"


@pytest.fixture
def parsl(tmp_path):
    file = tmp_path / "config.py"
    file.write_text(parsl_config(tmp_path / "parsl-runs"))
    return f"parsl:{file}"


def parsl_config(folder):
    """A file that keeps two workers on this machine, which find the tasks of the tests."""
    root = Path(__file__).resolve().parents[2]
    return PARSL.format(folder=str(folder), init=f"export PYTHONPATH={root}:$PYTHONPATH")


def digests(store):
    return {key: store.get(key).meta["payloads"] for key in store.keys()}  # noqa: SIM118  # a store is no mapping


SETTINGS = {
    "seeds": 1,
    "vectors": "none",
    "recipe": "madsen2022",
    "shape": {"hidden": 4, "embedding": 4},
    "explainers": "gradient",
    "steps": [0.4],
    "together": 1,
    "bounded": 0,
    "companion": False,
}


def test_a_study_has_the_same_digests_on_every_engine(folder, dask, parsl, tmp_path):
    stores = {}
    for name, engine in (("local", None), ("dask", dask), ("parsl", parsl)):
        how = {"workers": 2} if engine is None else {"executor": engine}
        finished = tn.run("recursive-roar", store=tmp_path / name, datasets=str(folder), **how, **SETTINGS)
        assert finished.summary.computed == finished.summary.total
        stores[name] = digests(finished.stored.store)
    assert len(stores["local"]) == 9
    assert stores["local"] == stores["dask"]
    assert stores["local"] == stores["parsl"]


@pytest.mark.parametrize("engine", ["dask", "parsl"])
def test_a_worker_that_is_killed_costs_its_task_only(engine, request, tmp_path):
    store = Store.open(tmp_path / "store", create=True)
    killed = dies(flag=str(tmp_path / "flag"), times=1)
    with open_engine(request.getfixturevalue(engine)) as executor:
        assert executor.slots == 2
        work = [total({"parts": [killed, *(double(value=i) for i in range(6))]}), every_payload()]
        summary = run(work, store, executor)
    assert summary.complete
    assert (tmp_path / "flag").read_text() == "xx", "it was killed once, and called once more"
    assert summary.computed + summary.found == 9, "Dask asks again for what the lost worker had finished"
    assert store.get(every_payload().key).read("plain") == {"device": "cpu", "threads": "1"}


def test_a_driver_that_is_killed_resumes(dask, folder, tmp_path):
    settings = [f"{name}={value}" for name, value in (("seeds", 2), ("vectors", "none"), ("recipe", "madsen2022"))]
    settings += ["shape.hidden=4", "shape.embedding=4", "explainers=gradient", "steps=[0.4]", "together=1"]
    settings += ["bounded=0", "companion=false", f"datasets={folder}"]
    command = ["run", "recursive-roar", "--store", str(tmp_path / "store"), "--engine", dask]
    command += [part for setting in settings for part in ("--set", setting)]
    process = subprocess.Popen([sys.executable, "-m", "trueness", *command], stderr=subprocess.DEVNULL)
    objects, deadline = tmp_path / "store" / "objects", time.monotonic() + 60
    while time.monotonic() < deadline and (not objects.is_dir() or len(list(objects.iterdir())) < 3):
        time.sleep(0.05)
    process.kill()
    process.wait()
    done = separately(*command)
    assert done.returncode == 0, done.stderr
    assert "in the store already" in done.stdout
    assert "16 tasks" in done.stdout


class Kill(Listener):
    """Do something once so many tasks have finished."""

    def __init__(self, after, deed):
        self.left, self.deed = after, deed

    def finished(self, task, seconds_left):
        self.left -= 1
        if self.left == 0:
            self.deed()


def slow(n, start=0):
    return total({"parts": [double(value=start + i, seconds=0.5) for i in range(n)]})


def test_parsl_replaces_a_killed_manager_and_a_killed_interchange_ends_the_run(parsl, tmp_path):
    import psutil

    def managers(executor):
        (job,) = executor._inner._config.executors[0].provider.resources.values()
        family = psutil.Process(job["remote_pid"]).children(recursive=True)
        return [process for process in family if any("process_worker_pool" in part for part in process.cmdline())]

    store = Store.open(tmp_path / "store", create=True)
    with open_engine(parsl) as executor:
        kill = Kill(4, lambda: [process.kill() for process in managers(executor)])
        summary = run([slow(12)], store, executor, listener=kill)
        assert kill.left < 0
        assert summary.complete, "another block did what was left"
        assert store.get(slow(12).key).read("value") == 132
    with pytest.raises(
        EngineLostError, match=r"interchange of Parsl.* has ended; .* run the same command again"
    ) as lost:
        _with_a_killed_interchange(parsl, store)
    assert "\n" not in str(lost.value)
    with open_engine(parsl) as executor:
        summary = run([slow(12, start=50)], store, executor)
    assert summary.complete
    assert summary.cached >= 4


def _with_a_killed_interchange(parsl, store):
    with open_engine(parsl) as executor:
        interchange = executor._inner._config.executors[0].interchange_proc
        run([slow(12, start=50)], store, executor, listener=Kill(4, interchange.kill))


def test_a_killed_dask_scheduler_ends_the_run_with_a_sentence(tmp_path, caplog):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    root = Path(__file__).resolve().parents[2]
    how = {"stderr": subprocess.DEVNULL, "cwd": tmp_path}
    how["env"] = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    dask = [sys.executable, "-m", "dask"]
    quiet = ["--no-dashboard", "--no-show"]
    host, port = address.split(":")
    scheduler = subprocess.Popen([*dask, "scheduler", "--host", host, "--port", port, *quiet], **how)
    worker = subprocess.Popen([*dask, "worker", f"tcp://{address}", "--nthreads", "1", "--no-dashboard"], **how)
    store = Store.open(tmp_path / "store", create=True)

    def go():
        deadline = time.monotonic() + 60
        while True:
            try:
                with open_engine(f"dask:tcp://{address}") as executor:
                    run([slow(40)], store, executor, listener=Kill(3, scheduler.kill))
            except EngineLostError:
                raise
            except UserError:  # it is starting
                assert time.monotonic() < deadline

    try:
        with pytest.raises(
            EngineLostError, match=r"scheduler at .* no longer answers; .* run the same command again"
        ) as lost:
            go()
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    assert "\n" not in str(lost.value)
    # asyncio tells of a future nobody waited for whenever the collector finds it, also long after the run.
    told = [record for record in caplog.records if record.levelno >= logging.WARNING and record.exc_info]
    assert not [record for record in told if record.name != "asyncio"], "no traceback beside the sentence"
    kept = len(list(store.keys()))
    assert kept >= 3
    with ThreadPoolExecutor(4) as executor:
        summary = run([slow(40)], store, executor)
    assert summary.complete
    assert summary.cached >= 3


def test_a_long_task_on_this_machine_is_no_dead_worker(store, monkeypatch):
    monkeypatch.setattr("trueness.engine.driver._LOOK", 0.01)
    with LocalExecutor(["cpu"]) as executor:
        executor.submit(abs, -1).result()
        assert executor.alive()
        monkeypatch.setattr("trueness.engine.driver._SILENCE", 0.2)
        assert run([double(value=1, seconds=1.0)], store, executor).complete
    assert not executor.alive()
