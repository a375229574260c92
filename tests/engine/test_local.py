import os
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from trueness.engine import LocalExecutor


def test_slots_run_side_by_side_in_processes_of_their_own():
    with LocalExecutor(["cpu", "cpu"]) as executor:
        list(executor.map(time.sleep, [0.2] * 2))  # both processes are up
        pids = set(executor.map(_pid_after, [0.2] * 2))
    assert len(pids) == 2
    assert os.getpid() not in pids


def _pid_after(seconds):
    time.sleep(seconds)
    return os.getpid()


def test_cancelling_ends_running_tasks_at_once():
    executor = LocalExecutor(["cpu"])
    executor.submit(os.getpid).result()
    future = executor.submit(time.sleep, 60)
    time.sleep(0.2)
    begin = time.monotonic()
    executor.shutdown(cancel_futures=True)
    assert time.monotonic() - begin < 10
    with pytest.raises(BrokenProcessPool):
        future.result()


def test_cancelling_while_a_process_starts_ends_it_too():
    executor = LocalExecutor(["cpu"])
    future = executor.submit(time.sleep, 60)
    begin = time.monotonic()
    executor.shutdown(cancel_futures=True)
    assert time.monotonic() - begin < 10
    assert future.cancelled() or isinstance(future.exception(), BrokenProcessPool)


def test_a_dead_process_breaks_only_its_own_task():
    with LocalExecutor(["cpu"]) as executor:
        with pytest.raises(BrokenProcessPool):
            executor.submit(os._exit, 1).result()
        assert executor.submit(abs, -1).result() == 1


def test_a_script_needs_no_main_guard_and_workers_end_with_a_killed_parent(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, time\n"
        "from trueness.engine import LocalExecutor\n"
        "executor = LocalExecutor(['cpu'])\n"
        "print(executor.submit(os.getpid).result(), flush=True)\n"
        "executor.submit(time.sleep, 600)\n"
        "time.sleep(0.3)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    output = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    ).stdout
    (worker,) = output.split()
    for _ in range(100):
        if not Path(f"/proc/{worker}").exists():
            return
        time.sleep(0.1)
    pytest.fail("the worker outlived its parent")


TRACKED = """
import os, signal, time
from multiprocessing import resource_tracker
from trueness.engine import LocalExecutor

with LocalExecutor(["cpu"]) as executor:
    for _ in range(2):
        executor.submit(os.getpid).result()
        os.kill(resource_tracker._resource_tracker._pid, signal.SIGKILL)
        time.sleep(0.3)
"""


def test_a_killed_resource_tracker_prints_nothing():
    ended = subprocess.run([sys.executable, "-c", TRACKED], capture_output=True, text=True, timeout=120, check=True)
    assert (ended.stdout, ended.stderr) == ("", "")
