"""How long a run waits for what: for workers that answer, for other processes, for room on a device, for its end."""

from concurrent.futures import FIRST_COMPLETED, BrokenExecutor

import pytest

from tests.engine.fakes import Answers, Clock, Deaf
from tests.engine.tasks import double
from trueness.engine import EngineLostError, Listener, TimeUpError, driver, run
from trueness.engine.worker import Outcome


@pytest.fixture
def clock(monkeypatch):
    """The driver's clock."""
    clock = Clock()
    monkeypatch.setattr(driver, "time", clock)
    return clock


class Waits:
    """Stands for `concurrent.futures.wait`: time passes as asked for, and what is done comes back."""

    def __init__(self, clock, at_most=1000):
        self.clock, self.seen, self.at_most = clock, [], at_most

    def __call__(self, futures, timeout, return_when):
        assert return_when == FIRST_COMPLETED
        done = {future for future in futures if future.done()}
        self.seen.append((len(futures), timeout))
        assert len(self.seen) <= self.at_most, "it waits for ever"
        if not done:
            self.clock.now += timeout
        return done, set(futures) - done


@pytest.fixture
def waits(clock, monkeypatch):
    waits = Waits(clock)
    monkeypatch.setattr(driver, "wait", waits)
    return waits


def many(n):
    return [double(value=number) for number in range(n)]


@pytest.mark.parametrize(
    ("slots", "facts", "most"),
    [
        (3, {"slots": 2, "_max_workers": 5}, 6),
        (None, {"slots": 2, "_max_workers": 5}, 4),
        (None, {"_max_workers": 5}, 10),
        (None, {}, 16),
    ],
)
def test_twice_as_many_tasks_are_given_out_as_there_are_slots(store, waits, slots, facts, most):
    with pytest.raises(EngineLostError):
        run(many(20), store, Deaf(**facts), slots=slots)
    assert {number for number, _ in waits.seen} == {most}


def test_workers_are_looked_at_every_five_seconds_and_given_up_after_five_minutes(store, waits):
    executor = Deaf()
    with pytest.raises(EngineLostError) as lost:
        run(many(1), store, executor)
    assert str(lost.value) == (
        "No worker has been alive for 300 seconds; see that workers can start (with Parsl, look into the logs of its "
        "run folder) and run the same command again: finished tasks are kept."
    )
    assert executor.looks == 60
    assert set(waits.seen) == {(1, 5.0)}


def test_with_an_end_the_clock_is_looked_at_more_often_than_the_workers(store, waits):
    executor = Deaf()
    with pytest.raises(EngineLostError, match="for 300 seconds"):
        run(many(1), store, executor, seconds=1000.0)
    assert executor.looks == 60
    assert set(waits.seen) == {(1, 0.5)}
    assert len(waits.seen) == 600


def test_a_worker_that_lives_starts_the_five_minutes_anew(store, waits):
    executor = Deaf(*[False] * 59, True)
    with pytest.raises(EngineLostError, match="for 300 seconds"):
        run(many(1), store, executor)
    assert executor.looks == 120


def test_a_task_that_comes_back_starts_the_five_minutes_anew(store, waits, clock):
    class Once(Deaf):
        def alive(self):
            if self.looks == 39:
                self.futures[0].set_result(Outcome("computed", 1.0))
            return super().alive()

    executor = Once()
    with pytest.raises(EngineLostError, match="for 300 seconds"):
        run(many(2), store, executor)
    assert clock.now == 100.0 + 200.0 + 300.0


def test_an_executor_that_does_not_tell_of_its_workers_is_waited_for(store, waits, clock, monkeypatch):
    class Silent(Deaf):
        alive = None

    waits.at_most = 200
    with pytest.raises(AssertionError, match="it waits for ever"):
        run(many(1), store, Silent())
    assert clock.now == 100.0 + 200 * 5.0


def test_a_run_ends_once_its_seconds_are_over_and_not_before(store, waits, clock):
    with pytest.raises(TimeUpError):
        run(many(1), store, Deaf(), seconds=2.0)
    assert waits.seen == [(1, 0.5)] * 5, "after exactly two seconds they are not over"


def test_a_run_without_work_has_time_enough(store, clock):
    target = double(value=1)
    run([target], store, Answers())
    with pytest.raises(TimeUpError):
        run([target], store, Answers(Outcome("busy"), clock=clock), seconds=0.0)
    store.commit(target.key, {"value": 2}, {"seconds": 1.0, "finished": 1.0})
    assert run([target], store, Deaf(), seconds=0.0).cached == 1


def test_a_task_that_another_process_computes_is_asked_for_again_after_a_while(store, clock, monkeypatch):
    monkeypatch.setattr(driver, "_PATIENCE", 0.25)
    executor = Answers(Outcome("busy"), Outcome("busy"), clock=clock)
    summary = run([double(value=1)], store, executor)
    assert executor.times == [100.0, 100.25, 100.5]
    assert clock.slept == [0.25, 0.25]
    assert (summary.computed, summary.found, summary.seconds) == (1, 0, 0.5)


def test_what_another_process_has_finished_is_found(store, clock, monkeypatch):
    target, kept = double(value=1), []
    monkeypatch.setattr(driver, "_PATIENCE", 0.25)
    monkeypatch.setattr(type(store), "keep", lambda self, key: kept.append(key))

    def commit(seconds):
        clock.now += seconds
        store.commit(target.key, {"value": 2}, {"seconds": 1.0, "finished": 1.0})

    monkeypatch.setattr(clock, "sleep", commit)
    executor = Answers(Outcome("busy"))
    summary = run([target], store, executor)
    assert (summary.found, summary.computed, len(executor.asked)) == (1, 0, 1)
    assert kept == [target.key], "in a durable store it is brought to the disk"


def test_while_another_process_computes_no_worker_is_missed(store, waits, clock, monkeypatch):
    monkeypatch.setattr(driver, "_PATIENCE", 100.0)

    class Later(Deaf):
        def submit(self, fn, /, *args, **kwargs):
            future = super().submit(fn, *args, **kwargs)
            if len(self.futures) <= 4:
                future.set_result(Outcome("busy"))
            return future

    with pytest.raises(EngineLostError, match="for 300 seconds"):
        run(many(1), store, Later())
    assert clock.now == 100.0 + 4 * 100.0 + 300.0


def test_beside_a_task_of_another_process_the_others_are_waited_for_shortly(store, waits):
    class One(Deaf):
        def submit(self, fn, /, *args, **kwargs):
            future = super().submit(fn, *args, **kwargs)
            if len(self.futures) == 1:
                future.set_result(Outcome("busy"))
            return future

    with pytest.raises(TimeUpError):
        run(many(2), store, One(), slots=1, seconds=1.0)
    assert waits.seen[:3] == [(2, 0.5), (1, 0.05), (2, 0.5)]


def test_a_task_without_room_is_tried_six_times_each_time_later(store, clock, monkeypatch):
    monkeypatch.setattr(driver, "_PATIENCE", 2.5)
    executor = Answers(*[Outcome("crowded", error="CUDA out of memory", log="a.log")] * 6, clock=clock)
    target = double(value=1)
    summary = run([target], store, executor)
    assert [moment - 100.0 for moment in executor.times] == [0, 10, 30, 60, 100, 150]
    (failure,) = summary.failures
    assert (failure.task, failure.error, failure.log) == (target, "CUDA out of memory", "a.log")


def test_a_task_whose_worker_died_is_tried_once_more(store, clock):
    executor = Answers(BrokenExecutor("gone"))
    assert run([double(value=1)], store, executor).computed == 1
    executor = Answers(BrokenExecutor("gone"), BrokenExecutor("gone"))
    heard = []
    listener = Listener()
    listener.failed = heard.append
    target = double(value=2)
    summary = run([target], store, executor, listener=listener)
    (failure,) = summary.failures
    assert heard == [failure]
    assert failure.task is target
    assert (failure.error, failure.log) == (
        "its worker process died twice (killed, out of memory, or ended by code that it ran)",
        "",
    )
    assert len(executor.asked) == 2


def test_each_task_may_lose_a_worker(store, clock):
    executor = Answers(BrokenExecutor("gone"), BrokenExecutor("gone"))
    summary = run(many(2), store, executor, slots=1)
    assert summary.complete
    assert len(executor.asked) == 4
