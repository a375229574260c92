"""The engine Dask with a client in its place, and the contract behind which other engines lie; nothing is started."""

import logging
import sys
import types
from concurrent.futures import BrokenExecutor, CancelledError

import pytest

from tests.engine.fakes import Answers, settled
from trueness.engine import EngineLostError, cluster_executor, clusters, open_engine
from trueness.engine.cluster_executor import ClusterExecutor, on_one_thread
from trueness.errors import UserError, install

ADDRESS = "tcp://host:8786"


class Client:
    """Stands for distributed.Client."""

    def __init__(self, threads, error=None):
        self.threads, self.error, self.did = threads, error, []
        self.executor = Answers("done")

    def __call__(self, address, **how):
        self.did.append((address, how))
        if self.error is not None:
            raise self.error
        return self

    def nthreads(self):
        if isinstance(self.threads, Exception):
            raise self.threads
        return self.threads

    def get_executor(self, **how):
        self.did.append(how)
        return self.executor

    def __enter__(self):
        self.levels = [logging.getLogger(name).level for name in ("distributed.client", "asyncio")]
        return self

    def __exit__(self, *_):
        self.did.append("closed")


@pytest.fixture
def client(monkeypatch):
    """A scheduler with two workers of one thread each."""
    client = Client({"tcp://a": 1, "tcp://b": 1})
    monkeypatch.setitem(sys.modules, "distributed", types.SimpleNamespace(Client=client))
    return client


def opened(name):
    with open_engine(name) as executor:
        return executor


def refused(name):
    with pytest.raises(UserError) as told:
        opened(name)
    return str(told.value)


def test_an_engine_is_named_by_its_kind_and_where_it_is():
    way_out = "give parsl:FILE or dask:ADDRESS, or none for this machine."
    for name in ("slurm", "slurm:here", "dask", "dask:", "parsl:"):
        assert refused(name) == f"There is no engine {name!r}; {way_out}"


def test_a_file_or_an_address_is_all_after_the_first_colon(client, monkeypatch):
    opened(f"dask:{ADDRESS}")
    assert client.did[0] == (ADDRESS, {"timeout": "5s", "set_as_default": False})
    seen = []

    def note(file):
        seen.append(file)
        raise UserError("no")

    monkeypatch.setattr(clusters, "open_parsl", note)
    assert refused("parsl:c:/config.py") == "no"
    assert [str(file) for file in seen] == ["c:/config.py"]


def test_dask_works_with_one_task_per_worker_while_it_is_open(client):
    with open_engine(f"dask:{ADDRESS}") as executor:
        assert executor.slots == 2
        assert executor.alive() is True
        client.threads = {}
        assert executor.slots == 1, "at least one, so that a run goes on when workers come back"
        assert executor.alive() is False
        assert executor.submit(abs, -1).result() == "done"
        assert "closed" not in client.did
    assert client.did[1:] == [{"pure": False}, "closed"], "a task that is asked for twice is computed twice"


def test_what_is_raised_as_a_sentence_is_not_logged_as_well(client):
    loggers = [logging.getLogger(name) for name in ("distributed.client", "asyncio")]
    before = [logger.level for logger in loggers]
    loggers[0].setLevel(logging.INFO)
    try:
        with open_engine(f"dask:{ADDRESS}"):
            assert [logger.level for logger in loggers] == [logging.CRITICAL] * 2
        assert client.levels == [logging.CRITICAL] * 2
        assert [logger.level for logger in loggers] == [logging.INFO, before[1]]
    finally:
        loggers[0].setLevel(before[0])


def test_a_scheduler_without_fit_workers_is_refused(client):
    client.threads = {}
    assert refused(f"dask:{ADDRESS}") == (
        f"The Dask scheduler at {ADDRESS} has no workers; start some: dask worker --nthreads 1."
    )
    client.threads = {"tcp://a": 1, "tcp://b": 2}
    assert refused(f"dask:{ADDRESS}") == (
        "Dask workers must have one thread each: dask worker --nthreads 1 (and --nworkers N)."
    )
    assert client.did[-1] == "closed"


@pytest.mark.parametrize("error", [OSError("refused"), ValueError("no address")])
def test_where_no_scheduler_answers_the_address_is_named(client, error):
    client.error = error
    assert refused(f"dask:{ADDRESS}") == (
        f"There is no Dask scheduler at {ADDRESS}; start one, for example: dask scheduler."
    )


@pytest.mark.parametrize("address", ["localhost", "localhost:", "tcp://host:80a", "tcp://host:80/"])
def test_an_address_needs_a_port(client, address):
    assert refused(f"dask:{address}") == (
        f"dask:{address} has no port: give the scheduler's address, such as dask:tcp://HOST:8786."
    )
    assert client.did == []


@pytest.mark.parametrize("error", [OSError(), ValueError(), TypeError()])
def test_a_scheduler_that_no_longer_answers_is_a_lost_engine(client, error):
    with open_engine(f"dask:{ADDRESS}") as executor:
        client.threads = error
        for look in (executor.alive, lambda: executor.slots):
            with pytest.raises(EngineLostError) as lost:
                look()
            assert str(lost.value) == (
                f"The Dask scheduler at {ADDRESS} no longer answers; start it and its workers and run the same command "
                "again: finished tasks are kept."
            )


@pytest.mark.parametrize("name", ["dask", "parsl"])
def test_an_engine_that_is_not_installed_is_named(monkeypatch, tmp_path, name):
    for module in ("distributed", "parsl.concurrent"):
        monkeypatch.setitem(sys.modules, module, None)
    assert refused(f"{name}:{tmp_path}/x:1") == f"The engine {name} needs a package: {install(name)}."


def test_a_task_travels_with_all_its_arguments_and_results_are_counted():
    inner = Answers("one", KeyError("no"), "two")
    executor = ClusterExecutor(inner, lambda: 3, lambda: True)
    assert executor.finished == 0
    assert executor.submit(int, "11", base=3).result() == "one"
    assert inner.asked == [(on_one_thread, (int, ("11",), {"base": 3}), {})]
    with pytest.raises(KeyError):
        executor.submit(abs, -1).result()
    assert executor.finished == 1
    executor.submit(abs, -1)
    assert executor.finished == 2


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (CancelledError(), "the engine gave the task up; is it still running?"),
        (ZeroDivisionError("node 7"), "a worker was lost: node 7"),
    ],
)
def test_a_lost_worker_reads_like_a_broken_process(error, said):
    executor = ClusterExecutor(Answers(error), lambda: 1, lambda: True, (ZeroDivisionError,))
    with pytest.raises(BrokenExecutor) as told:
        executor.submit(abs, -1).result()
    assert str(told.value) == said


def test_whatever_else_is_raised_comes_back_as_it_is():
    executor = ClusterExecutor(Answers(SystemExit(3)), lambda: 1, lambda: True)
    assert isinstance(executor.submit(abs, -1).exception(), SystemExit)


def test_an_engine_that_takes_no_tasks_is_broken():
    class Closed(Answers):
        def submit(self, fn, /, *args, **kwargs):
            raise RuntimeError("closed")

    with pytest.raises(BrokenExecutor) as told:
        ClusterExecutor(Closed(), lambda: 1, lambda: True).submit(abs, -1)
    assert str(told.value) == "the engine takes no tasks: closed"


def test_an_answer_may_come_later():
    class Later(Answers):
        def submit(self, fn, /, *args, **kwargs):
            self.future = type(settled(1))()
            return self.future

    inner = Later()
    waiting = ClusterExecutor(inner, lambda: 1, lambda: True).submit(abs, -1)
    assert not waiting.done()
    inner.future.set_result(5)
    assert waiting.result(0) == 5


def test_a_worker_elsewhere_computes_with_one_thread(monkeypatch):
    threads = []
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(set_num_threads=threads.append))
    environment = {"MKL_NUM_THREADS": "2"}
    monkeypatch.setattr(cluster_executor, "os", types.SimpleNamespace(environ=environment))
    assert on_one_thread(int, ("11",), {"base": 3}) == 4
    assert environment == {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
    assert threads == [1]
    environment.clear()
    monkeypatch.delitem(sys.modules, "torch")
    assert on_one_thread(abs, (-2,), {}) == 2
    assert environment == dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
