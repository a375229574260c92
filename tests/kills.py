"""Drivers of all built-in studies and of audits of all kinds killed at random: nothing may be lost, or differ.

`python -m tests.kills [FILE]`: KILLS (100) and KILL_SEED (0) say how many and which; the outcome goes to FILE as JSON.
KILL_STUDIES names the studies, separated by commas, where not all of them are to run.
"""

import contextlib
import json
import os
import platform
import signal
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path

import numpy as np
import psutil

from tests.engine.test_clusters import PARSL
from tests.miniatures import MINIATURES, audits, digests, finish, one_word, start, stderr_of

AT_ONCE = 9
"""Kills over one store."""
PATIENCE = 900
MARK = "TRUENESS_KILLS"
"""The name in the environment by which a driver's processes are known, but for those that overwrite theirs."""


@contextlib.contextmanager
def engines(folder):
    """Names of a local pool, Dask and Parsl, one worker each; the Dask cluster lives on when a driver is killed."""
    from distributed import LocalCluster

    root = Path(__file__).resolve().parents[1]
    file = folder / "config.py"
    text = PARSL.format(folder=str(folder / "parsl-runs"), init=f"export PYTHONPATH={root}:$PYTHONPATH")
    # On a busy machine a heartbeat may come late.
    text = text.replace("max_workers_per_node=2", "max_workers_per_node=1")
    file.write_text(text.replace("heartbeat_threshold=10", "heartbeat_threshold=120"))
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0") as cluster:
        yield {"local": "local", "dask": f"dask:{cluster.scheduler_address}", "parsl": f"parsl:{file}"}


class Driver:
    """A process that runs all studies, and what is known of those that it starts."""

    def __init__(self, store, folder, engine, work):
        self.mark = uuid.uuid4().hex
        self.process = start(store, folder, engine, **work, **{MARK: self.mark})


class Kills:
    """Kills drivers, and counts what came of it."""

    def __init__(self, folder, names, undisturbed, seed, work=None):
        self.folder, self.names, self.undisturbed, self.work = folder, names, undisturbed, work or {}
        self.rng = np.random.default_rng(seed)
        self.killed, self.finished = Counter(), Counter()
        self.lost, self.rewritten, self.different, self.failed, self.left = [], [], [], [], []

    def wrong(self):
        """Everything that should not have been."""
        return [*self.lost, *self.rewritten, *self.different, *self.failed, *self.left]

    def one_store(self, store, number):
        """Kill so many drivers, engine after engine, while they fill one store; then let one finish."""
        kept, drivers = {}, []
        try:
            for target in np.sort(self.rng.choice(len(self.undisturbed), number)):
                engine = self._next()
                drivers.append(Driver(store, self.folder, self.names[engine], self.work))
                kept = self._kill(drivers[-1], engine, store, target, kept)
                # What a killed driver leaves running is there while the next one works, and ended after it.
                for earlier in drivers[:-1]:
                    end(earlier)
                drivers = drivers[-1:]
            engine = self._next()
            drivers.append(Driver(store, self.folder, self.names[engine], self.work))
            finish(drivers[-1].process, store)
            self.finished[engine] += 1
        except AssertionError as error:
            self.failed.append(f"{engine}: {error}")
        finally:
            for driver in drivers:
                end(driver)
        found = digests(store)
        self.different += [key for key in found | self.undisturbed if found.get(key) != self.undisturbed.get(key)]
        self.left += [str(path) for path in (store / "temporary").iterdir()]

    def _kill(self, driver, engine, store, target, kept):
        """Kill it once so many objects are there; what is then kept, of which nothing may have changed."""
        process = driver.process
        process.stdout.readline()
        self._wait(process, store, target)
        ended = process.poll()
        if ended is None:
            process.send_signal(signal.SIGKILL)
            self.killed[engine] += 1
        process.wait()
        process.stdout.close()
        assert not ended, stderr_of(store).read_text()
        found = metas(store)
        self.lost += [key for key in kept if key not in found]
        self.rewritten += [key for key in kept if found.get(key, kept[key]) != kept[key]]
        return found

    def _next(self):
        """Engines take turns."""
        made = sum(self.killed.values()) + sum(self.finished.values())
        return list(self.names)[made % len(self.names)]

    def _wait(self, driver, store, target):
        """Until so many objects are there, and a random moment longer."""
        deadline = time.monotonic() + PATIENCE
        while (
            sum(1 for _ in (store / "objects").glob("*")) < target
            and driver.poll() is None
            and time.monotonic() < deadline
        ):
            time.sleep(0.01)
        if time.monotonic() >= deadline:
            self.failed.append(f"{target} objects were not there after {PATIENCE} s")
        time.sleep(self.rng.uniform(0, 1))


def metas(store):
    """What is kept about every object."""
    return {path.parent.name: path.read_bytes() for path in (store / "objects").glob("*/meta.json")}


def end(driver):
    """Kill every process that a driver left: all of its session, and those elsewhere that carry its mark."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if os.getsid(process.pid) == driver.process.pid or process.environ().get(MARK) == driver.mark:
                process.kill()


def main():
    """0 where nothing was lost."""
    number, seed = int(os.environ.get("KILLS", "100")), int(os.environ.get("KILL_SEED", "0"))
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary, engines(Path(temporary)) as names:
        place = Path(temporary)
        folder = one_word(place / "one-word")
        named = [name for name in os.environ.get("KILL_STUDIES", "").split(",") if name] or list(MINIATURES)
        work = {"studies": {name: MINIATURES[name] for name in named}, "audits": audits(place / "audits")}
        finish(start(place / "undisturbed", folder, **work), place / "undisturbed")
        kills = Kills(folder, names, digests(place / "undisturbed"), seed, work)
        stores = 0
        while (done := sum(kills.killed.values())) < number and not kills.wrong():
            kills.one_store(place / f"store-{stores}", min(AT_ONCE, number - done))
            stores += 1
            print(f"{sum(kills.killed.values())} kills, {time.monotonic() - begin:.0f} s", flush=True)
    outcome = {
        "command": f"KILLS={number} KILL_SEED={seed} KILL_STUDIES={','.join(named)} python -m tests.kills",
        "kills": dict(kills.killed),
        "stores": stores,
        "completed on": dict(kills.finished),
        "studies": named,
        "audits": ["text", "vector", "image"],
        "objects in each store": len(kills.undisturbed),
        **{name: len(getattr(kills, name)) for name in ("lost", "rewritten", "different", "failed", "left")},
        "seconds": round(time.monotonic() - begin),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
    }
    text = json.dumps(outcome, indent=1)
    print(text, *kills.wrong(), sep="\n")
    for file in sys.argv[1:]:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(text + "\n")
    return int(bool(kills.wrong()))


if __name__ == "__main__":
    sys.exit(main())
