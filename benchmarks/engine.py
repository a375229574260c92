"""Driver overhead at 1,000 trivial tasks, a fully cached run of them, and opening a store of 20,000 objects."""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.report import line
from trueness.engine import LocalExecutor, Store, run, task

TASKS = 1000
OBJECTS = 20_000


@task("trivial", version=1)
def trivial(inputs: Mapping[str, Any], *, number: int) -> dict[str, Any]:  # noqa: ARG001
    """Its number."""
    return {"value": number}


@task("gather", version=1)
def gather(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """How many there were."""
    return {"value": len(inputs["parts"])}


def main() -> None:
    target = gather({"parts": [trivial(number=number) for number in range(TASKS)]})
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "store", create=True)
        with LocalExecutor(["cpu"]) as executor:
            executor.submit(abs, 1).result()  # the worker's own start is not the driver's
            begin = time.perf_counter()
            run([target], store, executor)
            each = (time.perf_counter() - begin) / TASKS
            line(f"driver, {TASKS} trivial tasks, one worker, per task", 1000 * each, "ms", 10, at_least=False)
            begin = time.perf_counter()
            summary = run([target], Store.open(store.path), executor)
            assert summary.computed == 0
            line(f"driver, the same {TASKS} tasks fully cached", time.perf_counter() - begin, "s", 2, at_least=False)
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "store", create=True)
        for number in range(OBJECTS):
            store.commit(f"{number:040x}", {"value": number}, {"task": "t", "seconds": 0.0})
        begin = time.perf_counter()
        opened = Store.open(store.path)
        assert opened.has(f"{OBJECTS - 1:040x}")
        assert sum(1 for _ in opened.keys()) == OBJECTS  # noqa: SIM118  # a store is not a mapping
        assert opened.get(f"{7:040x}").read("value") == 7
        line(f"store, open and list {OBJECTS} objects, read one", time.perf_counter() - begin, "s", 1, at_least=False)
