"""The slots of the local executor, with a pool in place of processes; real ones are in test_local."""

import os
import sys
import threading
import types
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import ClassVar

import pytest

from tests.engine.fakes import settled
from trueness.engine import LocalExecutor, local
from trueness.engine.local import _main_not_imported, _Slot, _start


class Process:
    """Lives until it is killed; its sentinel is a pipe, as that of a real one."""

    def __init__(self):
        self.sentinel, self._alive = os.pipe()

    def kill(self):
        if self._alive is not None:
            os.close(self._alive)
            self._alive = None


class Pool:
    """Stands for ProcessPoolExecutor: computes in this process, or answers as told."""

    made: ClassVar[list["Pool"]] = []
    answers: ClassVar[list[object]] = []

    def __init__(self, workers, mp_context, initializer, initargs):
        self.how = (workers, mp_context.get_start_method(), initializer, initargs)
        self._processes, self.closed, self.main = None, [], None
        self.made.append(self)

    def submit(self, fn, *args, **kwargs):
        self.main = sys.modules["__main__"]
        if self._processes is None:
            self._processes = {1: Process()}
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, OSError):
                raise answer
            return answer if isinstance(answer, Future) else settled(answer)
        later = Future()
        later.result = lambda: fn(*args, **kwargs)  # in the thread that waits for it
        return later

    def shutdown(self, wait):
        self.closed.append(wait)


@pytest.fixture
def pools(monkeypatch):
    """The pools that are made."""
    monkeypatch.setattr(Pool, "made", [])
    monkeypatch.setattr(Pool, "answers", [])
    monkeypatch.setattr(local, "ProcessPoolExecutor", Pool)
    yield Pool.made
    for pool in Pool.made:
        for process in (pool._processes or {}).values():
            process.kill()
            os.close(process.sentinel)


def test_an_executor_without_slots_is_refused():
    with pytest.raises(ValueError, match=r"^a local executor needs at least one slot$"):
        LocalExecutor([])


def test_a_slot_is_one_spawned_process_with_its_device_made_when_first_used(pools):
    slot = _Slot("cuda:3")
    assert pools == []
    assert not slot.alive()
    assert slot.run(int, ("11",), {"base": 3}) == 4
    assert slot.run(abs, (-2,), {}) == 2
    (pool,) = pools
    assert pool.how == (1, "spawn", _start, ("cuda:3", {}, None))
    assert slot.alive()


def test_a_spawned_process_does_not_run_the_users_script(pools):
    before = sys.modules["__main__"]
    _Slot("cpu").run(abs, (-1,), {})
    (pool,) = pools
    assert pool.main is not before
    assert isinstance(pool.main, types.ModuleType)
    assert pool.main.__name__ == "__main__"
    assert not hasattr(pool.main, "__file__")
    assert sys.modules["__main__"] is before
    with pytest.raises(ValueError, match="inside"), _main_not_imported():
        raise ValueError("inside")
    assert sys.modules["__main__"] is before


def test_a_dead_process_is_replaced(pools):
    slot = _Slot("cpu")
    Pool.answers.append(BrokenProcessPool("died"))
    with pytest.raises(BrokenProcessPool, match="died"):
        slot.run(abs, (-1,), {})
    assert pools[0].closed == [True]
    assert slot.run(abs, (-1,), {}) == 1
    assert len(pools) == 2


def test_an_error_of_the_task_costs_no_process(pools):
    slot = _Slot("cpu")
    Pool.answers.append(KeyError("no"))
    with pytest.raises(KeyError):
        slot.run(abs, (-1,), {})
    slot.run(abs, (-1,), {})
    assert len(pools) == 1
    assert pools[0].closed == []


def test_where_no_process_can_be_started_the_next_task_tries_again(pools):
    slot = _Slot("cpu")
    Pool.answers.append(OSError(11, "no process"))
    with pytest.raises(OSError, match="no process"):
        slot.run(abs, (-1,), {})
    assert not slot.alive()
    assert slot.run(abs, (-1,), {}) == 1
    assert len(pools) == 2


def test_a_slot_that_was_killed_takes_no_more(pools):
    slot = _Slot("cpu")
    slot.run(abs, (-1,), {})
    slot.kill()
    assert not slot.alive()
    with pytest.raises(BrokenProcessPool, match=r"^the executor was shut down$"):
        slot.run(abs, (-1,), {})
    assert len(pools) == 1


def test_a_slot_that_is_closed_waits_for_its_process_and_can_be_closed_again(pools):
    slot = _Slot("cpu")
    slot.close()
    slot.run(abs, (-1,), {})
    slot.close()
    slot.close()
    assert pools[0].closed == [True]
    assert not slot.alive()


def test_a_slot_lives_while_one_of_its_processes_does(pools):
    slot = _Slot("cpu")
    slot.run(abs, (-1,), {})
    pools[0]._processes[2] = Process()
    pools[0]._processes[1].kill()
    assert slot.alive()
    pools[0]._processes[2].kill()
    assert not slot.alive()


def test_each_slot_has_its_device_and_a_thread_and_they_work_side_by_side(pools):
    both = threading.Barrier(2, timeout=10)

    def name():
        both.wait()
        return threading.current_thread().name

    with LocalExecutor(("cuda:0", "cuda:1")) as executor:
        assert executor.slots == 2
        assert not executor.alive()
        names = {future.result() for future in [executor.submit(name) for _ in range(2)]}
        assert executor.alive()
        assert executor.submit(int, "11", base=5).result() == 6
    assert {pool.how[3][0] for pool in pools} == {"cuda:0", "cuda:1"}
    assert len(names) == 2
    assert all(one.startswith("trueness-slot") for one in names)
    assert [pool.closed for pool in pools] == [[True], [True]]


@pytest.mark.parametrize(("kind", "cancel"), [(None, False), (KeyboardInterrupt, True)])
def test_leaving_by_an_exception_ends_what_is_running(monkeypatch, kind, cancel):
    seen = []
    executor = LocalExecutor()
    monkeypatch.setattr(executor, "shutdown", lambda **how: seen.append(how))
    executor.__exit__(kind, None, None)
    assert seen == [{"cancel_futures": cancel}]


def held(executor):
    """A task that runs until its future is settled, and one that waits behind it."""
    running = Future()
    begun = threading.Event()
    running.result = lambda: (begun.set(), Future.result(running))[1]
    Pool.answers.append(running)
    futures = [executor.submit(abs, -1), executor.submit(abs, -2)]
    assert begun.wait(60)
    return running, futures


def test_a_shutdown_waits_for_what_was_submitted_unless_told_not_to(pools):
    executor = LocalExecutor()
    running, futures = held(executor)
    executor.shutdown(wait=False)
    assert pools[0].closed == []
    running.set_result(1)
    assert [future.result(60) for future in futures] == [1, 2], "what was submitted is completed"
    executor.shutdown()
    assert pools[0].closed == [True]
    with pytest.raises(RuntimeError, match="shutdown"):
        executor.submit(abs, -1)


def test_a_shutdown_that_cancels_kills_what_runs_and_what_waits_never_begins(pools):
    executor = LocalExecutor()
    running, (first, second) = held(executor)
    killed = pools[0]._processes[1]
    die = killed.kill
    killed.kill = lambda: (die(), running.set_exception(BrokenProcessPool("killed")))
    executor.shutdown(cancel_futures=True)
    del killed.kill
    assert isinstance(first.exception(), BrokenProcessPool)
    assert second.cancelled()
    assert pools[0].closed == [True], "it was waited for"


def test_a_shutdown_ends_with_the_program(monkeypatch):
    made = []

    class Thread:
        def __init__(self, target, daemon):
            self.did = [target.__name__, daemon]
            made.append(self)

        def start(self):
            self.did.append("start")

        def join(self):
            self.did.append("join")

    executor = LocalExecutor()
    monkeypatch.setattr(local, "threading", types.SimpleNamespace(Thread=Thread))
    executor.shutdown(wait=False)
    executor.shutdown()
    assert [thread.did for thread in made] == [["_close", True, "start"], ["_close", True, "start", "join"]]
