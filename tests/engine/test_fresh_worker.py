"""How many workers a machine may have, and how one begins and ends, without starting any."""

import os
import signal
import types

from trueness.engine import cores, local
from trueness.engine.local import _start, _wait_for_parent


def test_cores_are_counted_where_a_system_tells_no_affinity(monkeypatch):
    assert cores() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert cores() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1


def test_a_fresh_worker_has_its_device_and_one_thread_and_ends_with_its_parent(monkeypatch):
    made, signals, environment = [], [], {"OMP_NUM_THREADS": "8"}

    class Thread:
        def __init__(self, target, daemon):
            made.append((target, daemon))

        def start(self):
            made.append("started")

    monkeypatch.setattr(local, "os", types.SimpleNamespace(environ=environment, dup2=lambda *_: None, getpid=os.getpid))
    monkeypatch.setattr(local, "threading", types.SimpleNamespace(Thread=Thread))
    monkeypatch.setattr(signal, "signal", lambda *args: signals.append(args))
    _start("cuda:1", {})
    assert environment == {
        "TRUENESS_DEVICE": "cuda:1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    }
    assert signals == [(signal.SIGINT, signal.SIG_IGN)]
    assert made == [(_wait_for_parent, True), "started"]
    environment["PYTORCH_CUDA_ALLOC_CONF"] = "mine"
    _start("cuda:1", {})
    assert environment["PYTORCH_CUDA_ALLOC_CONF"] == "mine", "what a person chose stands"


def test_a_worker_leaves_once_its_parent_is_gone(monkeypatch):
    seen = []
    monkeypatch.setattr(local, "wait", lambda sentinels: seen.append(sentinels))
    monkeypatch.setattr(local, "os", types.SimpleNamespace(_exit=seen.append))
    monkeypatch.setattr(local.multiprocessing, "parent_process", lambda: None)
    _wait_for_parent()
    assert seen == [], "a process that was not spawned has none"
    monkeypatch.setattr(local.multiprocessing, "parent_process", lambda: types.SimpleNamespace(sentinel=17))
    _wait_for_parent()
    assert seen == [[17], 1]
