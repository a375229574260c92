"""Whether the parts of Parsl live, how their end is waited for, and blocks in the place of lost ones; all stand-ins."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from parsl.jobs.error_handlers import simple_error_handler
from parsl.jobs.states import JobState, JobStatus
from parsl.providers import LocalProvider

from tests.engine.test_parsl_engine import Interchange, Pool
from trueness.engine import EngineLostError, parsl_engine
from trueness.engine.parsl_engine import _Parts, _replace_lost_blocks


def manager(label="nodes", managers=(), states=(), provider=None, **facts):
    """Stands for an executor that has managers, with its blocks in such states."""
    return SimpleNamespace(
        label=label,
        connected_managers=lambda: list(managers),
        status_facade={str(number): JobStatus(state) for number, state in enumerate(states)},
        provider=provider,
        **facts,
    )


@pytest.mark.parametrize(
    ("executors", "alive"),
    [
        ([manager(managers=["one"])], True),
        ([manager()], False),
        ([manager(states=[JobState.RUNNING])], False),
        ([manager(states=[JobState.PENDING])], True),
        ([manager(states=[JobState.FAILED, JobState.HELD])], True),
        ([manager(states=[JobState.PENDING], provider=LocalProvider())], False),
        ([manager(states=[JobState.PENDING], provider=LocalProvider(), managers=["one"])], True),
        ([manager("a"), manager("b", managers=["one"])], True),
        ([manager("a", managers=["one"]), manager("b")], True),
        ([SimpleNamespace(label="threads")], True),
        ([], False),
    ],
)
def test_parsl_lives_while_a_manager_is_connected_or_a_block_waits_for_its_turn(executors, alive):
    assert _Parts(executors, "runs/007").alive() is alive


def test_a_dead_interchange_and_an_executor_given_up_are_lost_engines():
    parts = _Parts([manager(managers=["one"]), manager("b", interchange_proc=Interchange(1))], "runs/007")
    with pytest.raises(EngineLostError) as lost:
        parts.alive()
    assert str(lost.value) == (
        "The interchange of Parsl's executor b has ended; look for the reason in runs/007 and run the same command "
        "again: finished tasks are kept."
    )
    living = manager(managers=["one"], interchange_proc=Interchange(), bad_state_is_set=False)
    assert _Parts([living], "runs/007").alive()
    given_up = manager(bad_state_is_set=True, executor_exception=RuntimeError("no\n\tnode " + "x" * 300))
    with pytest.raises(EngineLostError) as lost:
        _Parts([living, given_up], "runs/007").alive()
    said = "no node " + "x" * 192
    assert str(lost.value) == (
        f"Parsl gave up its executor nodes ({said}); look for the reason in runs/007 and run the same command again: "
        "finished tasks are kept."
    )


def test_an_interchange_that_does_not_answer_is_asked_by_one_thread_at_a_time(monkeypatch):
    monkeypatch.setattr(parsl_engine, "_ANSWER", 0.0)
    begun, answer, asked = threading.Event(), threading.Event(), []

    def connected():
        asked.append(threading.current_thread())
        begun.set()
        answer.wait(60)
        return ["one"]

    executor = manager()
    executor.connected_managers = connected
    parts = _Parts([executor], "runs/007")
    assert not parts.alive()
    assert begun.wait(60)
    assert not parts.alive()
    assert len(asked) == 1, "it was still being asked"
    assert asked[0].daemon
    answer.set()
    asked[0].join()
    monkeypatch.setattr(parsl_engine, "_ANSWER", 60.0)
    assert parts.alive()
    assert len(asked) == 2, "asked anew"
    executor.connected_managers = list
    assert not parts.alive(), "what was said before counts no more"


class Ending:
    """Stands for threading.Thread: notes how long an end is waited for; it comes or not."""

    def __init__(self, comes):
        self.comes, self.did = comes, []

    def __call__(self, target, kwargs, daemon):
        self.did += [(target.__self__, kwargs), daemon]
        return self

    def start(self):
        self.did.append("started")

    def join(self, seconds):
        self.did.append(seconds)

    def is_alive(self):
        return not self.comes


@pytest.mark.parametrize("comes", [True, False])
@pytest.mark.parametrize("dead", [True, False])
def test_an_end_is_waited_for_less_long_where_the_interchange_is_gone(monkeypatch, dead, comes):
    ending, cleared, given_up, cancelled = Ending(comes), [], [], []
    monkeypatch.setattr(parsl_engine, "threading", SimpleNamespace(Thread=ending))
    monkeypatch.setattr("parsl.clear", lambda: cleared.append(True))
    provider = SimpleNamespace(cancel=cancelled.append)
    executors = [
        manager(label, interchange_proc=Interchange(status), provider=own, blocks_to_job_id={"0": f"job {label}"})
        for label, status, own in (("a", 1 if dead else None, provider), ("b", 1 if dead else None, None))
    ]
    for executor in executors:
        executor.set_bad_state_and_fail_all = lambda error: given_up.append(error) or Path("/nowhere").unlink()
    pool = Pool(SimpleNamespace(executors=[]))
    _Parts(executors, "runs/007").end(pool)
    assert ending.did == [(pool, {"wait": False}), True, "started", 5.0 if dead else 60.0]
    assert cleared == ([] if comes else [True]), "so that another engine can be opened"
    assert cancelled == ([["job a"]] if dead else [])
    assert [(type(error), str(error)) for error in given_up] == [(RuntimeError, "the interchange has ended")] * (
        2 if dead else 0
    )


def test_lost_blocks_are_replaced_while_tasks_finish_and_given_up_where_none_does():
    grown, given_up, finished = [], [], [0]
    nodes = manager(
        provider=SimpleNamespace(init_blocks=1),
        block_error_handler=simple_error_handler,
        scale_out_facade=grown.append,
        set_bad_state_and_fail_all=given_up.append,
    )
    chosen = manager("chosen", block_error_handler=print)
    _replace_lost_blocks([nodes, chosen, SimpleNamespace(label="threads")], lambda: finished[0])
    assert chosen.block_error_handler is print, "what the user chose stands"

    def blocks(*states):
        nodes.block_error_handler(nodes, {str(number): JobStatus(state) for number, state in enumerate(states)})
        return len(grown), len(given_up)

    assert blocks() == (0, 0)
    assert blocks(JobState.RUNNING, JobState.FAILED) == (0, 0), "one is left"
    assert blocks(JobState.COMPLETED) == (0, 0)
    assert blocks(JobState.FAILED, JobState.MISSING) == (1, 0)
    assert blocks(JobState.FAILED) == (1, 1), "no task has finished since"
    finished[0] = 1
    assert blocks(JobState.MISSING) == (2, 1)
    assert grown == [1, 1]
