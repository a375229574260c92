"""Audits, studies, `serve` and `rate` on one store for hours, with random kills and full disks, by several drivers.

`python tools/soak.py [--minutes 240] [--drivers 2] [--seed 0] [--disk FOLDER] [FILE]`: the store lies in the folder, by
default a temporary one. Where it is a small file system of its own, such as a tmpfs of 200 MB, it is filled to the brim
now and then; otherwise disks are never full. The outcome goes to FILE as JSON. Fails where something is lost or
different, where anything but a sentence comes, or where a server's memory or handles grow.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from trueness.engine import DamagedObjectError, Store

SIZES = (
    *("examples=30", "repeat_examples=30", "edit_examples=30", "alone_examples=16", "shuffled_examples=30"),
    *("shuffles=1", "layerwise_examples=0", "noise_draws=0", "hidden_shares=[0.5]", "searched_examples=0"),
    *("training_examples=0", "planted_models=1", "companion_examples=0", "relative_examples=0", "shown_examples=6"),
)
KINDS = ("rows", "study", "texts")
"""Of commands; audits of texts come last, since the newest audit is rated."""
CODE = """
import math
def of_texts(texts):
    good = [text.split().count("good") + 1 for text in texts]
    return [[1 / (1 + some), some / (1 + some)] for some in good]
def of_rows(rows):
    yes = [1 / (1 + math.exp(-float(row[0]))) for row in rows]
    return [[1 - one, one] for one in yes]
of_rows.n_features_in_ = 3
"""
ROUND = 90
"""Seconds after which new data come, so that there is always something to compute."""
TOLD = {0: "finished", 2: "refused"}


class Soak:
    """One store and all who use it."""

    def __init__(self, place: Path, disk: Path, own_disk: bool, drivers: int, seed: int) -> None:
        self.place, self.disk, self.own_disk, self.drivers = place, disk, own_disk, drivers
        self.store, self.seed = disk / "store", seed
        self.counts: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.samples: dict[str, list[tuple[int, int]]] = {"serve": [], "rate": []}
        self.wrong: list[str] = []
        self.over, self.full = threading.Event(), threading.Event()
        self.filled = 0.0
        (place / "soaked.py").write_text(CODE)

    def command(self, kind: str, turn: int) -> list[str]:
        """A command of a kind on the data of a turn."""
        store = ["--store", str(self.store), "--workers", "1"]
        if kind == "study":
            some = ("seeds=2", f"data.train={60 + turn}", "data.test=60")
            return ["run", "roar-synthetic", *store, *(part for one in some for part in ("--set", one))]
        data, sizes = self.data(kind, turn), [part for one in SIZES for part in ("--set", one)]
        out = self.place / f"{kind}-{threading.get_ident()}.html"
        return ["audit", f"{self.place}/soaked.py:of_{kind}", str(data), "--explainer", "leave-one-out", *store, *sizes,
                "--out", str(out), "--json"]  # fmt: skip

    def data(self, kind: str, turn: int) -> Path:
        """A file of that kind; the same for the same turn."""
        path, draw = self.place / f"{kind}-{turn}.csv", random.Random(f"{self.seed} {kind} {turn}")
        if not path.exists():
            if kind == "texts":
                rows = [
                    f"{' '.join(draw.choices(['x', 'y', ('bad', 'good')[row % 2]], k=6))},{row % 2}"
                    for row in range(60)
                ]
                text = "\n".join(["text,label", *rows])
            else:
                numbers = [[draw.gauss(0, 1) for _ in range(3)] for _ in range(60)]
                rows = [",".join(f"{one:.4f}" for one in row) + f",{int(row[0] > 0)}" for row in numbers]
                text = "\n".join(["a,b,c,label", *rows])
            beside = path.with_suffix(f".{threading.get_ident()}")
            beside.write_text(text + "\n")
            beside.replace(path)
        return path

    def drive(self, number: int, end: float) -> None:
        """Commands one after the other; some are killed."""
        draw = random.Random(f"{self.seed} driver {number}")
        while time.monotonic() < end:
            turn, kind = int(time.monotonic() // ROUND), draw.choice(KINDS)
            begin = time.monotonic()
            process = start(self.command(kind, turn))
            patience = draw.uniform(1, 20) if draw.random() < 0.4 else 900
            try:
                said = process.communicate(timeout=patience)[1]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                self.counts["killed"] += 1
                if patience == 900:
                    self.wrong.append(f"{kind} hung")
                continue
            self.counts[TOLD.get(process.returncode, f"status {process.returncode}")] += 1
            excused = process.returncode == 2 and self.filled > begin
            if "Traceback" in said or "error of trueness" in said or (process.returncode and not excused):
                self.wrong.append(f"{kind} ended with {process.returncode}: {said[-600:]}")

    def fill(self, end: float) -> None:
        """Now and then leave no byte free."""
        draw, filler = random.Random(f"{self.seed} disk"), self.disk / "filler"
        while self.own_disk and not self.over.wait(draw.uniform(20, 60)) and time.monotonic() < end:
            self.filled = time.monotonic() + 30  # what fails shortly after is excused, too
            with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 16))
            self.counts["disk filled"] += 1
            self.over.wait(draw.uniform(1, 6))
            with contextlib.suppress(OSError):
                filler.unlink()

    def serve(self, name: str, command: list[str], end: float) -> None:
        """A server that somebody looks at, and what it takes of memory and handles."""
        process = start(command)
        assert process.stdout is not None
        said = ""
        while "}" not in said and process.poll() is None:
            said += process.stdout.readline()
        if process.poll() is not None:
            self.wrong.append(f"{name} did not begin: {process.communicate()[1][-600:]}")
            return
        address = urllib.parse.urlsplit(json.loads(said)["address"])
        looker = Looker(f"http://{address.netloc}", address.query.removeprefix("token="), address.path)
        looked = time.monotonic()
        while not self.over.is_set() and time.monotonic() < end:
            status = looker.look()
            self.statuses[f"{name} {status}"] += 1
            if status >= 500 or process.poll() is not None:
                self.wrong.append(f"{name} answered {status}, its status is {process.poll()}")
                break
            if time.monotonic() - looked > 5:
                looked = time.monotonic()
                self.samples[name].append(taken(process.pid))
            self.over.wait(0.3)
        process.send_signal(signal.SIGINT)
        try:
            told = process.communicate(timeout=30)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            told = process.communicate()[1]
            self.wrong.append(f"{name} did not end")
        if "Traceback" in told:
            self.wrong.append(f"{name} said: {told[-600:]}")

    def run(self, minutes: float) -> dict[str, Any]:
        """All of it; then everything is finished in peace, and compared with a store that nobody disturbed."""
        begin = time.monotonic()
        end = begin + 60 * minutes
        first = int(begin // ROUND)
        for kind in KINDS:
            finish(self.command(kind, first))
        rate = ["rate", "audit", "--store", str(self.store), "--json"]
        threads = [
            *(threading.Thread(target=self.drive, args=(number, end)) for number in range(self.drivers)),
            threading.Thread(target=self.fill, args=(end,)),
            threading.Thread(target=self.serve, args=("serve", ["serve", str(self.store), "--json"], end)),
            threading.Thread(target=self.serve, args=("rate", rate, end)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads[: self.drivers]:
            thread.join()
        self.over.set()
        for thread in threads:
            thread.join()
        (self.disk / "filler").unlink(missing_ok=True)
        turns = [int(end // ROUND) - 1, first]
        for turn in turns:
            for kind in KINDS:
                finish(self.command(kind, turn))
        compared = self.compare(turns)
        return {
            "command": f"python tools/soak.py --minutes {minutes:g} --drivers {self.drivers} --seed {self.seed}",
            "disk": "of its own, filled now and then" if self.own_disk else "never full",
            "commands": dict(sorted(self.counts.items())),
            "answers": dict(sorted(self.statuses.items())),
            **{f"{name} MiB and handles": self.growth(name) for name in self.samples},
            **compared,
            "wrong": self.wrong,
            "seconds": round(time.monotonic() - begin),
            "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        }

    def growth(self, name: str) -> dict[str, list[float]]:
        """Medians of the second fifth and of the last one; growth is wrong."""
        samples = self.samples[name]
        fifth = max(len(samples) // 5, 1)
        early, late = medians(samples[fifth : 2 * fifth] or samples), medians(samples[-fifth:])
        if samples and (late[0] > 1.3 * early[0] + 50 or late[1] > early[1] + 10):
            self.wrong.append(f"{name} grew from {early} to {late}")
        return {"early": early, "late": late}

    def compare(self, turns: list[int]) -> dict[str, int]:
        """How many objects there are, are damaged, and differ from those of an undisturbed store."""
        held, other = digests(self.store, self.wrong), Soak(self.place, self.place / "calm", False, 0, self.seed)
        other.disk.mkdir()
        for turn in turns:
            for kind in KINDS:
                finish(other.command(kind, turn))
        calm = digests(other.store, self.wrong)
        lost = [key for key in calm if key not in held]
        different = [key for key in calm if key in held and held[key] != calm[key]]
        self.wrong += [f"lost: {key}" for key in lost] + [f"different: {key}" for key in different]
        return {"objects": len(held), "compared": len(calm), "lost": len(lost), "different": len(different)}


class Looker:
    """Somebody who goes from page to page."""

    def __init__(self, base: str, token: str, begin: str) -> None:
        self.base, self.token, self.begin = base, token, begin
        self.ahead: list[str] = []

    def look(self) -> int:
        """The status of the next page; 0 where no answer came."""
        path = self.ahead.pop() if self.ahead else self.begin
        request = urllib.request.Request(self.base + path, headers={"Authorization": f"Bearer {self.token}"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                content = answer.read().decode("utf-8", "replace")
                status = int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 599
        if path == self.begin:
            links = {part.partition('"')[0] for part in content.split('href="')[1:]}
            local = sorted(link for link in links if ":" not in link and not link.startswith("#"))
            self.ahead = [urllib.parse.urljoin(self.begin, link) for link in random.sample(local, min(5, len(local)))]
        return status


def start(arguments: list[str]) -> subprocess.Popen[str]:
    """A command in a session of its own."""
    command = [sys.executable, "-m", "trueness", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )


def finish(arguments: list[str]) -> None:
    """Run a command, which must end well."""
    process = start(arguments)
    said = process.communicate()[1]
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}: {said[-1000:]}")


def digests(path: Path, wrong: list[str]) -> dict[str, Any]:
    """Of every object the digests of its payloads; a probe of an audit measures seconds."""
    store, found = Store.open(path), {}
    for key in store.keys():  # noqa: SIM118  # a store is no mapping
        try:
            meta = store.verify(key)
        except DamagedObjectError as error:
            wrong.append(str(error))
        else:
            found[key] = None if meta["task"] == "audit/probe" else meta["payloads"]
    return found


def taken(process: int) -> tuple[int, int]:
    """MiB in memory, and open handles."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20, len(list(Path(f"/proc/{process}/fd").iterdir()))


def medians(samples: list[tuple[int, int]]) -> list[float]:
    """Of memory and of handles."""
    return [float(statistics.median(some)) for some in zip(*samples, strict=True)]


def main() -> int:
    """0 where nothing was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--minutes", type=float, default=240)
    parser.add_argument("--drivers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--disk", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        place = Path(folder)
        disk = given.disk or place
        own = given.disk is not None and disk.stat().st_dev != disk.resolve().parent.stat().st_dev
        found = Soak(place, disk, own, given.drivers, given.seed).run(given.minutes)
    text = json.dumps(found, indent=1)
    print(text)
    if given.file is not None:
        given.file.parent.mkdir(parents=True, exist_ok=True)
        given.file.write_text(text + "\n", encoding="utf-8")
    return int(bool(found["wrong"]))


if __name__ == "__main__":
    sys.exit(main())
