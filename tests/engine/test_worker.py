"""What a worker does with a request, called in this process."""

import contextlib
import errno
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.engine.fakes import Clock
from tests.engine.tasks import crowded, double, echo, every_payload, fails, leaves, speaks_oddly, total
from trueness import plugins
from trueness.engine import Store, StoreError, current_device, task, worker
from trueness.engine.store import machine
from trueness.engine.worker import Outcome, Request, execute, part_of_task
from trueness.errors import UserError


@pytest.fixture
def clock(monkeypatch):
    """The worker's clock, at 100 seconds."""
    clock = Clock()
    monkeypatch.setattr(worker, "time", clock)
    return clock


@task("in-parts", version=3)
def in_parts(inputs):
    """Take 1 second for itself, 2 and 4 for part 7, and 8.2500004 for part 8."""
    worker.time.now += 1.0
    for part, seconds in ((7, 2.0), (8, 8.2500004), (7, 4.0)):
        with part_of_task(part):
            worker.time.now += seconds
    return {"value": 1}


@task("interrupted", version=1)
def interrupted(inputs):
    """Be interrupted by a person."""
    raise KeyboardInterrupt


@task("no-handles", version=1)
def no_handles(inputs):
    """Find no file handle."""
    raise OSError(errno.EMFILE, "Too many open files")


def test_a_request_holds_names_and_keys_only(store):
    part = double(value=1)
    target = total({"parts": [part]}, log="here")
    request = Request.of(target, store)
    assert request.store == str(store.path.resolve())
    assert request.key == target.key
    assert request.address == "tests.engine.tasks:total"
    assert request.parameters == {"log": "here"}
    assert request.content == {"parameters": {"log": "here"}, "inputs": {"parts": [part.key]}}
    assert request.shown == "total(log='here')"
    assert {source.name for source in request.sources} == {"tests.engine.tasks:total", "tests.engine.tasks:double"}
    assert not request.durable
    assert Request.of(target, Store(store.path, durable=True)).durable


def test_a_task_is_computed_once_with_its_inputs(store, clock):
    parts = [double(value=1), double(value=2)]
    target = total({"parts": parts})
    for one in (*parts, target):
        assert execute(Request.of(one, store)) == Outcome("computed", 0.0)
    assert store.get(target.key).read("value") == 6
    assert execute(Request.of(target, store)) == Outcome("found")


def test_a_single_input_comes_as_it_is_and_not_as_a_list(store):
    first = double(value=2)
    execute(Request.of(first, store))
    above = only({"one": first})
    assert execute(Request.of(above, store)).status == "computed"
    assert store.get(above.key).read("value") == 5


@task("only", version=1)
def only(inputs):
    """One more than its input."""
    return {"value": inputs["one"].read("value") + 1}


def test_what_is_kept_beside_a_result(store, clock, monkeypatch):
    monkeypatch.setenv("TRUENESS_DEVICE", "cuda:5")
    target = in_parts()
    assert execute(Request.of(target, store)) == Outcome("computed", pytest.approx(15.2500004, abs=1e-12))
    meta = store.verify(target.key)
    payloads = meta.pop("payloads")
    assert list(payloads) == ["value.json"]
    assert meta == {
        "key": target.key,
        "task": "in-parts",
        "version": 3,
        "parameters": {},
        "inputs": {},
        "device": "cuda:5",
        "seconds": 15.25,
        "parts": {"7": 6.0, "8": 8.25},
        "finished": 1_000_000_115.25,
        "versions": machine(),
    }


def test_seconds_are_kept_to_a_millionth(store, clock, monkeypatch):
    @contextlib.contextmanager
    def slow():
        yield
        clock.now += 1.23456789

    monkeypatch.setattr(worker, "handles", slow)
    monkeypatch.setattr(clock, "time", lambda: 5.67891234)
    target = double(value=1)
    outcome = execute(Request.of(target, store))
    assert outcome.seconds == pytest.approx(1.23456789, abs=1e-12)
    assert store.get(target.key).meta["seconds"] == 1.234568
    assert store.get(target.key).meta["finished"] == 5.679


def test_the_seconds_of_a_part_are_added_up_also_where_it_fails(clock, monkeypatch):
    worker_parts = {}
    monkeypatch.setattr(worker, "_parts", worker_parts)
    with part_of_task(1):
        clock.now += 0.123456789
    assert worker_parts["1"] == pytest.approx(0.123456789, abs=1e-12)
    with contextlib.suppress(ValueError), part_of_task(1):
        clock.now += 1.0
        raise ValueError
    assert worker_parts["1"] == pytest.approx(1.123456789, abs=1e-12)


def test_a_failure_comes_back_with_its_last_line_and_the_log(store, clock):
    target = fails(reason="no\nsuch thing")
    outcome = execute(Request.of(target, store))
    log = store.path.resolve() / "logs" / f"{target.key}.log"
    assert outcome == Outcome("failed", 0.0, "ValueError: no\nsuch thing", str(log))
    begin = f"task: {target}\nkey: {target.key}\nparameters: {{'reason': 'no\\nsuch thing'}}\n\nTraceback (most recent"
    assert log.read_text().startswith(begin)
    assert log.read_text().endswith("ValueError: no\nsuch thing\n")
    assert not store.has(target.key)


def test_a_failure_tells_its_seconds(store, clock, monkeypatch):
    @contextlib.contextmanager
    def slow():
        clock.now += 2.5
        yield

    monkeypatch.setattr(worker, "handles", slow)
    assert execute(Request.of(fails(reason=""), store)).seconds == 2.5


def test_text_that_is_no_unicode_is_written_as_escapes(store):
    outcome = execute(Request.of(speaks_oddly(), store))
    assert (outcome.status, outcome.error) == ("failed", "ValueError: bad file caf\\udce9")


def test_what_a_person_can_mend_is_told_in_its_own_words(store, monkeypatch):
    def refused():
        raise UserError("mine.py failed.")

    monkeypatch.setattr(worker, "handles", refused)
    outcome = execute(Request.of(fails(reason=""), store))
    assert (outcome.status, outcome.error, outcome.mendable) == ("failed", "mine.py failed.", True)


def test_a_task_that_leaves_the_interpreter_has_failed(store):
    assert execute(Request.of(leaves(), store)).error == "SystemExit: 0"


def test_a_task_without_room_says_so(store, tmp_path):
    outcome = execute(Request.of(crowded(flag=str(tmp_path / "flag"), times=1), store))
    assert (outcome.status, outcome.error) == ("crowded", "tests.engine.tasks.OutOfMemoryError: CUDA out of memory")


def test_an_interruption_is_not_kept_as_a_failure(store):
    with pytest.raises(KeyboardInterrupt):
        execute(Request.of(interrupted(), store))
    assert store.failed() == []


def test_a_lack_of_handles_stops_the_run(store):
    outcome = execute(Request.of(no_handles(), store))
    assert (outcome.status, outcome.seconds, outcome.log) == ("stopped", 0.0, "")
    assert outcome.error.startswith("Too many files are open; ")
    assert store.failed() == []


def test_a_store_that_refuses_stops_the_run(store, monkeypatch):
    def refuse(*args):
        raise StoreError("The disk is full.")

    monkeypatch.setattr(Store, "commit", refuse)
    assert execute(Request.of(double(value=1), store)) == Outcome("stopped", error="The disk is full.")


def test_a_task_that_another_process_computes_is_left_to_it(store):
    target = double(value=1)
    with store.lock(target.key):
        assert execute(Request.of(target, store)) == Outcome("busy")
    assert not store.has(target.key)


def test_a_task_finds_what_was_named_outside_where_it_was_found(store):
    def asked():
        source = plugins.Source("mine.py:size", "/there/mine.py:size", "", "0" * 40, "")
        plugins.remembered.set({"before.py:f": source})
        request = Request.of(double(value=1), store)
        execute(Request(**{**vars(request), "sources": (source,)}))
        return dict(plugins.remembered.get()), source

    with ThreadPoolExecutor(1) as thread:  # what is remembered is a thread's own
        found, source = thread.submit(asked).result()
    assert found == {"before.py:f": source, "mine.py:size": source}


def test_a_durable_store_is_durable_in_the_worker_too(store, monkeypatch):
    seen = []
    monkeypatch.setattr(Store, "commit", lambda self, *args: seen.append((self.path, self.durable)))
    for durable in (False, True):
        execute(Request.of(double(value=1), Store(store.path, durable=durable)))
    assert seen == [(store.path.resolve(), False), (store.path.resolve(), True)]


@pytest.mark.parametrize(
    ("device", "held", "emptied"),
    [("cuda:0", 2 << 30, 1), ("cuda:0", 1 << 20, 0), ("cpu", 2 << 30, 0), (None, 2 << 30, 0)],
)
@pytest.mark.parametrize("broken", [False, True])
def test_much_memory_of_a_gpu_is_given_back_after_a_task(store, monkeypatch, device, held, emptied, broken):
    calls = []

    def empty_cache():
        calls.append("emptied")
        if broken:
            raise RuntimeError("the device is gone")

    import torch

    monkeypatch.setattr(torch.cuda, "empty_cache", empty_cache)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: held)
    monkeypatch.setattr(worker.gc, "collect", lambda: calls.append("collected"))
    monkeypatch.delenv("TRUENESS_DEVICE", raising=False)
    if device:
        monkeypatch.setenv("TRUENESS_DEVICE", device)
    execute(Request.of(echo(value=1), store))
    assert calls == ["collected", "emptied"] * emptied, "nothing is done without a GPU"


def test_without_torch_there_is_no_memory_to_give_back(store, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setenv("TRUENESS_DEVICE", "cuda:0")
    assert execute(Request.of(echo(value=1), store)).status == "computed"


def test_a_worker_that_was_given_no_device_computes_on_the_processor(store, monkeypatch):
    monkeypatch.delenv("TRUENESS_DEVICE", raising=False)
    assert current_device() == "cpu"
    execute(Request.of(every_payload(), store))
    assert store.get(every_payload().key).meta["device"] == "cpu"
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", store.get(every_payload().key).meta["versions"]["numpy"])
