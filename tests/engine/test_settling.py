"""What a run makes of each answer, in this process: counts, failures, order, times; whole runs are in test_driver."""

import errno
import json
from concurrent.futures import BrokenExecutor, Executor

import pytest

from tests.engine.fakes import Answers, Clock
from tests.engine.tasks import double, echo, fails, total
from tests.engine.test_store import commit
from tests.inline import Here
from trueness.engine import EngineLostError, Listener, StoreError, Timing, driver, run, survey
from trueness.engine.encoding import bytes_digest, digest
from trueness.engine.worker import Outcome, Request, execute
from trueness.errors import UserError


class Record(Listener):
    """Keeps all it hears, in order."""

    def __init__(self):
        self.heard = []

    def planned(self, total, cached):
        self.heard.append(("planned", total, cached))

    def finished(self, task, seconds_left):
        self.heard.append(("finished", task.key, seconds_left))

    def damaged(self, error):
        self.heard.append(("damaged", error.key))

    def failed(self, failure):
        self.heard.append(("failed", failure))


def done(store, task, seconds=1.0, finished=1.0):
    """Put a result of a task into the store."""
    store.commit(task.key, {"value": 1}, {"task": task.type.name, "seconds": seconds, "finished": finished})


def test_what_travels_to_a_worker_is_the_request_of_the_task(store):
    executor, target = Answers(), double(value=1)
    run([target], store, executor)
    assert executor.asked == [(execute, (Request.of(target, store),), {})]


@pytest.mark.parametrize(
    ("answer", "error", "log"),
    [
        (KeyError("no such"), "KeyError: 'no such'", ""),
        (OSError(errno.EIO, "broken"), "OSError: [Errno 5] broken", ""),
        (Outcome("failed", 1.0, "ValueError: no", "there.log"), "ValueError: no", "there.log"),
    ],
)
def test_an_error_is_a_failure_of_its_task_alone(store, answer, error, log):
    first, second = double(value=1), double(value=2)
    above = total({"parts": [first, second]})
    listener = Record()
    executor = Answers(answer)
    summary = run([above], store, executor, listener=listener)
    (failure,) = summary.failures
    assert (failure.error, failure.log) == (error, log)
    assert failure.task.key in (first.key, second.key)
    assert (summary.total, summary.computed, summary.found, summary.blocked) == (3, 1, 0, [above])
    assert len(executor.asked) == 2
    assert ("failed", failure) in listener.heard
    assert not summary.complete


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_too_few_handles_end_the_run_by_a_sentence(store, number):
    with pytest.raises(StoreError, match=r"^Too many files are open; allow more"):
        run([double(value=1)], store, Answers(OSError(number, "too many")))


def test_what_a_person_can_mend_ends_the_run(store):
    with pytest.raises(UserError, match=r"^the queue is closed$"):
        run([double(value=1)], store, Answers(UserError("the queue is closed")))
    with pytest.raises(StoreError, match=r"^the disk is full$"):
        run([double(value=1)], store, Answers(Outcome("stopped", error="the disk is full")))


class Broken(Executor):
    """Takes no task, and says why when it is looked at."""

    def __init__(self, said=None):
        self.said, self.looks = said, 0

    def submit(self, fn, /, *args, **kwargs):
        raise BrokenExecutor("gone")

    def alive(self):
        self.looks += 1
        if self.said:
            raise self.said
        return False


def test_an_executor_that_takes_no_tasks_is_a_failure_of_each(store):
    executor = Broken()
    summary = run([double(value=1), double(value=2)], store, executor)
    assert [failure.error for failure in summary.failures] == [
        "the executor is broken and takes no more tasks (gone)"
    ] * 2
    assert {failure.log for failure in summary.failures} == {""}
    assert {failure.task.key for failure in summary.failures} == {double(value=1).key, double(value=2).key}
    assert executor.looks == 2


def test_an_engine_that_is_gone_says_so_itself(store):
    lost = EngineLostError("The interchange has ended", "look there")
    with pytest.raises(EngineLostError, match="The interchange has ended"):
        run([double(value=1)], store, Broken(lost))

    class Dying(Answers):
        def alive(self):
            raise lost

    with pytest.raises(EngineLostError, match="The interchange has ended"):
        run([double(value=1)], store, Dying(BrokenExecutor("gone")))


def test_seconds_left_are_learnt_from_each_task_that_finishes(store, monkeypatch):
    monkeypatch.setattr(driver.Timing, "of", lambda measured: Timing(1.0))
    listener = Record()
    tasks = [double(value=number) for number in range(3)]
    summary = run(tasks, store, Answers(*[Outcome("computed", 6.0)] * 3), slots=2, listener=listener)
    assert summary.computed == 3
    # With three, two and one running on two slots they would take 3, 3 and 6 seconds alone.
    assert [entry[2] for entry in listener.heard if entry[0] == "finished"] == [6.0, 3.0, 0.0]
    assert listener.heard[0] == ("planned", 3, 0)


def test_seconds_left_are_shared_by_the_slots_where_tasks_do_not_slow_one_another(store):
    listener = Record()
    tasks = [double(value=number) for number in range(3)]
    run(tasks, store, Answers(*[Outcome("computed", 6.0)] * 3), slots=4, listener=listener)
    assert [entry[2] for entry in listener.heard if entry[0] == "finished"] == [3.0, 1.5, 0.0]


def test_what_is_found_tells_no_time(store):
    listener = Record()
    summary = run([double(value=1)], store, Answers(Outcome("found", 5.0)), listener=listener)
    assert (summary.found, summary.computed) == (1, 0)
    assert listener.heard == [("planned", 1, 0), ("finished", double(value=1).key, None)]
    several = [double(value=number) for number in range(3)]
    assert run(several, store, Answers(*[Outcome("found")] * 3)).found == 3


def test_the_longest_chain_goes_first_and_what_is_ready_next_joins_it(store):
    short = double(value=1)
    chain = total({"parts": [double(value=2)]})
    above = total({"parts": [chain]}, log="above")
    executor = Answers()
    summary = run([short, above], store, executor, slots=1)
    asked = [args[0].key for _, args, _ in executor.asked]
    assert asked[0] == double(value=2).key
    assert set(asked[1:]) == {short.key, chain.key, above.key}
    assert asked.index(chain.key) < asked.index(above.key)
    assert (summary.total, summary.cached, summary.computed, summary.blocked) == (4, 0, 4, [])


def test_a_summary_counts_what_was_there_and_how_long_it_took(store, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(driver, "time", clock)
    parts = [double(value=number) for number in range(3)]
    done(store, parts[0])
    listener = Record()

    class Slow(Answers):
        def submit(self, fn, /, *args, **kwargs):
            clock.now += 2.0
            return super().submit(fn, *args, **kwargs)

    summary = run([total({"parts": parts})], store, Slow(), listener=listener)
    assert (summary.total, summary.cached, summary.computed, summary.seconds) == (4, 1, 3, 6.0)
    assert listener.heard[0] == ("planned", 4, 1)


def test_what_is_rightly_signed_and_cannot_be_read_is_computed_again(store):
    target = total({"parts": [double(value=1)]})
    run([target], store, Here())
    for task in (target, *target.inputs["parts"]):
        (store.objects / task.key / "value.json").write_text("{")
        meta = store.meta(task.key)
        meta["payloads"]["value.json"] = {"digest": bytes_digest(b"{"), "bytes": 1}
        (store.objects / task.key / "meta.json").write_text(json.dumps({**meta, "digest": digest(meta)}))
    assert run([target], store, Here()).computed == 2
    assert store.get(target.key).read("value") == 2


def test_damage_that_somebody_else_sees_to_is_not_told(store, monkeypatch):
    target = double(value=1)
    run([target], store, Here())
    (store.objects / target.key / "value.json").write_text("broken")
    monkeypatch.setattr(type(store), "set_aside", lambda self, key: False)
    listener = Record()
    summary = run([target], store, Answers(Outcome("found")), listener=listener)
    assert [entry[0] for entry in listener.heard] == ["planned", "finished"]
    assert summary.damaged == [target.key]


def test_a_survey_finds_what_is_intact_damaged_and_needed(store):
    parts = [double(value=number) for number in range(4)]
    middle = total({"parts": parts[:3]})
    target = total({"parts": [middle, parts[3]]}, log="target")
    for one in (parts[0], parts[1], middle):
        done(store, one)
    (store.objects / parts[1].key / "value.json").write_text("broken")
    found = survey([target], store)
    assert len(found.tasks) == 6
    assert set(found.intact) == {parts[0].key, middle.key}
    assert found.intact[middle.key] == store.verify(middle.key)
    assert [error.key for error in found.damaged] == [parts[1].key]
    assert found.needed == {target.key: target, parts[3].key: parts[3], parts[1].key: parts[1]}, "not parts[2]"


def test_a_survey_learns_from_the_seconds_of_what_is_there(store):
    parts = [double(value=number) for number in range(3)]
    done(store, parts[0], seconds=2.0, finished=10.0)
    done(store, parts[1], seconds=4.0, finished=20.0)
    timing = survey(parts, store).timing
    assert timing.total({driver.kinds_of(parts[2]): 1}) == 3.0
    assert timing.crowding == 0.0
    assert survey([fails(reason="")], store).timing.total({}) is None


def test_a_run_sees_to_the_store_first(store):
    gone = store.path / "temporary" / f"{'a' * 40}.{'0' * 32}"
    gone.mkdir()
    (store.path / "runs").rmdir()
    commit(store)
    assert run([echo(value=3)], store, Here()).complete
    assert not gone.exists(), "what a killed writer left is removed"
    assert (store.path / "runs").is_dir()


def test_what_is_there_already_is_brought_to_the_disk(store, monkeypatch):
    kept, target = [], total({"parts": [double(value=1)]})
    run([target], store, Here())
    monkeypatch.setattr(type(store), "keep", lambda self, key: kept.append(key))
    run([target], store, Here())
    assert kept == [double(value=1).key, target.key]
