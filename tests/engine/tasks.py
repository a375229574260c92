"""Task types for the engine's tests; workers import them from here."""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from trueness.engine import current_device, task


def _note(log, key):
    if log:
        with Path(log).open("a") as file:
            file.write(f"{key} {time.time()}\n")


@task("double", version=1)
def double(inputs, *, value, log="", seconds=0.0):
    """Twice the value."""
    _note(log, f"double-{value}")
    time.sleep(seconds)
    return {"value": 2 * value}


@task("total", version=1)
def total(inputs, *, log="", seconds=0.0):
    """The sum of the inputs."""
    _note(log, "total")
    time.sleep(seconds)
    return {"value": sum(stored.read("value") for stored in inputs["parts"])}


@task("pause", version=1)
def pause(inputs, *, kind, step, seconds):
    """Take its time."""
    time.sleep(seconds)
    return {"value": 0}


@task("every-payload", version=1)
def every_payload(inputs, *, seed=0):
    """One payload of each format."""
    rng = np.random.default_rng(seed)
    return {
        "table": pd.DataFrame({"x": rng.standard_normal(5), "name": list("abcde")}),
        "arrays": {"w": rng.standard_normal((2, 3)).astype(np.float32), "i": np.arange(4)},
        "plain": {"device": current_device(), "threads": os.environ.get("OMP_NUM_THREADS")},
    }


@task("fails", version=1)
def fails(inputs, *, reason):
    """Raise."""
    raise ValueError(reason)


@task("dies", version=1)
def dies(inputs, *, flag, times):
    """Kill its own process the first `times` times."""
    if _count(flag) < times:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"value": 1}


def _count(flag):
    """How often it was called before with this file."""
    path = Path(flag)
    seen = len(path.read_text()) if path.exists() else 0
    path.write_text("x" * (seen + 1))
    return seen


class OutOfMemoryError(RuntimeError):
    """As torch calls it."""


@task("crowded", version=1)
def crowded(inputs, *, flag, times):
    """Find no room on its device the first `times` times."""
    seen = _count(flag)
    if seen < times:
        if seen % 2:
            raise RuntimeError("capture failed") from RuntimeError("CUBLAS_STATUS_ALLOC_FAILED")
        raise OutOfMemoryError("CUDA out of memory")
    return {"value": 1}


@task("unstorable", version=1)
def unstorable(inputs):
    """Return what JSON cannot hold."""
    return {"value": float("nan")}


@task("leaves", version=1)
def leaves(inputs):
    """Leave the interpreter."""
    sys.exit(0)


@task("speaks-oddly", version=1)
def speaks_oddly(inputs):
    """Raise with text that is not valid Unicode."""
    raise ValueError("bad file " + os.fsdecode(b"caf\xe9"))


class Unspeakable(Exception):
    def __str__(self):
        raise TypeError("no words")


@task("unspeakable", version=1)
def unspeakable(inputs):
    """Raise what cannot be shown."""
    raise Unspeakable


@task("named-meta", version=1)
def named_meta(inputs):
    """Return a payload under a reserved name."""
    return {"meta": {}}


@task("echo", version=1)
def echo(inputs, *, value):
    """The value as it arrived."""
    return {"value": value}
