"""The engine Parsl with stand-ins for its pool, executors and processes; a real one is in test_clusters."""

import os
import sysconfig
from types import SimpleNamespace

import pytest
from parsl.executors.errors import BadStateException
from parsl.executors.high_throughput.errors import ManagerLost, WorkerLost
from parsl.jobs.states import JobState, JobStatus

from tests.engine.fakes import Answers
from trueness.engine import EngineLostError, open_engine
from trueness.engine.parsl_engine import _Parts, _slots
from trueness.errors import UserError

CONFIG = """
from parsl import Config
from parsl.executors import HighThroughputExecutor, ThreadPoolExecutor
from parsl.providers import LocalProvider

provider = LocalProvider(init_blocks=1, min_blocks=1, max_blocks=2, nodes_per_block=3)
workers = HighThroughputExecutor(
    label="nodes", max_workers_per_node=4, provider=provider, address="127.0.0.1", encrypted=False
)
threads = ThreadPoolExecutor(label="threads", max_threads=5)
config = Config(executors=[{executors}], run_dir={folder!r}, usage_tracking=0, initialize_logging=False)
"""


class Interchange:
    """Stands for the process of an interchange: it lives while there is no exit status."""

    def __init__(self, status=None):
        self.status = status

    def poll(self):
        return self.status


class Pool(Answers):
    """Stands for ParslPoolExecutor."""

    def __init__(self, config):
        super().__init__()
        self.config, self.ended = config, []
        self._dfk = SimpleNamespace(run_dir="runs/007")
        for executor in config.executors:
            executor.interchange_proc = Interchange()

    def shutdown(self, **how):
        self.ended.append(how)


@pytest.fixture
def pools(monkeypatch):
    """The pools that are opened."""
    made = []

    def make(config):
        made.append(Pool(config))
        return made[-1]

    monkeypatch.setattr("parsl.concurrent.ParslPoolExecutor", make)
    return made


def configured(folder, executors="workers, threads", runs=None):
    file = folder / "config.py"
    file.write_text(CONFIG.format(executors=executors, folder=str(runs or folder / "runs")))
    return f"parsl:{file}"


def refused(name):
    with pytest.raises(UserError) as told, open_engine(name):
        pass
    return str(told.value)


def test_a_file_must_define_a_configuration(tmp_path):
    file = tmp_path / "config.py"
    assert refused(f"parsl:{file}") == f"There is no file {file}; it must define config, a parsl.Config."
    file.write_text("config = 3")
    assert refused(f"parsl:{file}") == f"{file} must define config, a parsl.Config."
    file.write_text("")
    assert refused(f"parsl:{file}") == f"{file} must define config, a parsl.Config."


def test_workers_cannot_start_in_a_folder_with_a_space_and_threads_can(tmp_path, pools):
    runs = tmp_path / "my runs"
    assert refused(configured(tmp_path, runs=runs)) == (
        f"Parsl cannot start workers from {runs}: set run_dir in {tmp_path / 'config.py'} to a path without spaces."
    )
    with open_engine(configured(tmp_path, "threads", runs=runs)):
        assert len(pools) == 1


def test_parsl_is_open_while_it_is_used_and_all_its_executors_count(tmp_path, pools):
    with open_engine(configured(tmp_path)) as executor:
        (pool,) = pools
        assert [item.label for item in pool.config.executors] == ["nodes", "threads"]
        assert executor.slots == 4 * 2 * 3 + 5
        assert executor._inner is pool
        assert executor._lost == (ManagerLost, WorkerLost, BadStateException)
        pool.config.executors[0].interchange_proc.status = -9
        with pytest.raises(EngineLostError, match=r"executor nodes has ended; look for the reason in runs/007 and run"):
            executor.alive()
        pool.config.executors[0].interchange_proc.status = None
        assert pool.ended == []
    assert pool.ended == [{}], "it waits for its end"


@pytest.mark.parametrize("status", [None, -9])
def test_an_interruption_or_a_dead_interchange_is_not_waited_for(tmp_path, pools, monkeypatch, status):
    ended = []
    monkeypatch.setattr(_Parts, "end", lambda self, pool: ended.append(pool))
    name = configured(tmp_path)
    if status is None:
        with pytest.raises(KeyboardInterrupt), open_engine(name):
            raise KeyboardInterrupt
    else:
        with open_engine(name):
            pools[0].config.executors[0].interchange_proc.status = status
    assert ended == pools
    assert pools[0].ended == []


@pytest.mark.parametrize("path", ["/bin", None, "there"])
def test_programs_of_parsl_are_found_beside_this_python(tmp_path, pools, monkeypatch, path):
    scripts = sysconfig.get_path("scripts")
    given = os.pathsep.join(["/bin", scripts]) if path == "there" else path
    if given is None:
        monkeypatch.setenv("PATH", "")
        monkeypatch.delenv("PATH")
    else:
        monkeypatch.setenv("PATH", given)
    with open_engine(configured(tmp_path, "threads")):
        expected = {"/bin": f"{scripts}:/bin", None: f"{scripts}:", "there": f"/bin:{scripts}"}
        assert os.environ["PATH"] == expected[path]


def test_blocks_are_replaced_once_tasks_come_back(tmp_path, pools):
    with open_engine(configured(tmp_path)) as executor:
        nodes, threads = pools[0].config.executors
        grown = []
        nodes.scale_out_facade = grown.append
        lost = {"0": JobStatus(JobState.FAILED)}
        nodes.block_error_handler(nodes, lost)
        assert grown == [1], "the first time there is nothing to compare with"
        executor.submit(abs, -1)
        nodes.block_error_handler(nodes, lost)
        assert grown == [1, 1]
        assert not hasattr(threads, "block_error_handler")


@pytest.mark.parametrize(
    ("facts", "slots"),
    [
        ({"max_workers_per_node": 4}, 4),
        ({"max_threads": 5}, 5),
        ({"max_workers_per_node": 4, "max_threads": 5}, 4),
        ({"max_workers_per_node": 4, "provider": SimpleNamespace(max_blocks=2)}, 8),
        ({"max_workers_per_node": 4, "provider": SimpleNamespace(nodes_per_block=3)}, 12),
        ({"max_workers_per_node": 4, "provider": SimpleNamespace(max_blocks=2, nodes_per_block=3)}, 24),
        ({"max_workers_per_node": 4, "provider": SimpleNamespace(max_blocks=0)}, 1),
        ({"max_workers_per_node": float("inf")}, 64),
        ({}, 64),
    ],
)
def test_slots_are_counted_as_far_as_an_executor_tells(facts, slots):
    assert _slots(SimpleNamespace(**facts)) == slots
