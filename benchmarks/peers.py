"""Ours against the best setting of every peer on the same model and text: `make bench-peers`.

Tries are interleaved, so that load does not decide; on a CPU seconds are CPU time, on a GPU the device is waited for.
Prints a table, writes it as JSON and Markdown with all versions, and fails where a peer is ahead by more than 5 %.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.peer_libraries import Elsewhere, Ferret
from benchmarks.peer_methods import Contest, bare, contests
from benchmarks.peer_setting import SHAPES, Setting, setting

TIE = 1.05
ROUNDING = 5e-7
"""Differences of probabilities are not told apart further than that: a few bits of single precision."""
ENOUGH = 1.0
"""Seconds after which no more tries are made than asked for."""
PACKAGES = ("captum", "shap", "lime", "interpreto", "torch", "transformers", "numpy")


def main() -> None:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--shapes", default="minilm", help=f"of {', '.join(SHAPES)}")
    parser.add_argument("--tokens", default="24,200")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--sizes", default="1,8,32", help="copies per call that peers may take")
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--most", type=float, default=1e5, help="leave out methods that look at more tokens than this")
    parser.add_argument("--ferret", help="the Python of an environment that has ferret-xai")
    parser.add_argument("--only", default="", help="methods whose names begin so")
    parser.add_argument("--seconds", type=float, default=3600, help="begin nothing after so many seconds")
    parser.add_argument("--out", type=Path, help="folder for the tables")
    given = parser.parse_args()
    sizes = tuple(int(size) for size in given.sizes.split(","))
    rows: list[dict[str, Any]] = []
    versions: dict[str, str] = {}
    begin = time.perf_counter()
    for shape in given.shapes.split(","):
        for tokens in (int(number) for number in given.tokens.split(",")):
            one = setting(shape, tokens, given.device, given.steps, given.samples, sizes)
            ferret = None if given.ferret is None else Ferret(one, given.ferret)
            for contest in contests(one, ferret):
                if not contest.name.startswith(given.only):
                    continue
                if contest.passes * tokens > given.most or time.perf_counter() - begin > given.seconds:
                    print(f"left out: {shape}, {tokens} tokens, {contest.name}")
                    continue
                rows.append(measure(one, contest, given.tries))
                print(_line(rows[-1]), flush=True)
            if ferret is not None:
                versions = ferret.versions
                ferret.close()
    facts = {name: _version(name) for name in PACKAGES} | {
        "device": _device(given.device),
        "threads": 1,
        "tries": given.tries,
        "load of the machine": round(os.getloadavg()[0], 1),
    }
    facts |= {"ferret-xai": versions["ferret-xai"]} if versions else {}
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        name = f"peers-{given.device.split(':')[0]}"
        (given.out / f"{name}.json").write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")
        (given.out / f"{name}.md").write_text(_table(facts, rows))
    behind = [row for row in rows if row["ratio"] > TIE or row["same"] is False]
    sys.exit(1 if behind else 0)


def measure(one: Setting, contest: Contest, tries: int) -> dict[str, Any]:
    """Seconds (the least of several interleaved tries) and peak memory of ours and of every peer's settings."""
    looks: dict[str, Callable[[], Any]] = {"ours": contest.ours, **contest.peers}
    if contest.name.startswith("leave-one-out"):
        looks["bare"] = bare(one, contest.passes)
    said = {name: look() for name, look in looks.items()}  # also warms up
    taken = {name: float("inf") for name in looks}
    spent, done = 0.0, 0
    while done < tries or (done < 10 * tries and spent < ENOUGH):  # what is over soon is tried more often
        for name, look in looks.items():
            now = look.seconds() if isinstance(look, Elsewhere) else seconds_of(look, one.device)
            taken[name] = min(taken[name], now)
            spent += now
        done += 1
    best = min(contest.peers, key=lambda name: taken[name])
    same: bool | None = None
    apart = None
    alike = [torch.as_tensor(said[name]).cpu().double() for name in contest.peers if name.split()[0] in contest.equal]
    if alike:
        values = torch.as_tensor(said["ours"]).cpu().double()
        apart = max(float((values - other).abs().max() / other.abs().max()) for other in alike)
        limit = 1e-3 if one.device.startswith("cuda") else 1e-4
        same = apart <= limit or all(float((values - other).abs().max()) <= ROUNDING for other in alike)
    return {
        "shape": one.shape,
        "tokens": one.tokens,
        "method": contest.name,
        "passes": contest.passes,
        "ours_s": taken["ours"],
        "peer": best,
        "peer_s": taken[best],
        "ratio": taken["ours"] / taken[best],
        "to_bare": taken["ours"] / taken["bare"] if "bare" in taken else None,
        "ours_mb": _peak(contest.ours, one.device),
        "peer_mb": None if isinstance(contest.peers[best], Elsewhere) else _peak(contest.peers[best], one.device),
        "apart": apart,
        "same": same,
        "all_s": taken,
    }


def seconds_of(look: Callable[[], Any], device: str) -> float:
    clock = time.process_time
    if device.startswith("cuda"):
        clock = time.perf_counter
        torch.cuda.synchronize()
    begin = clock()
    look()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return clock() - begin


def _peak(look: Callable[[], Any], device: str) -> float:
    """MB of tensors beyond those held before."""
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        look()
        return (torch.cuda.max_memory_allocated() - before) / 1e6
    from tests.memory import peak_bytes

    return peak_bytes(look) / 1e6


def _megabytes(number: float | None) -> str:
    return "–" if number is None else f"{number:.0f}"


def _line(row: dict[str, Any]) -> str:
    mark = "ok  " if row["ratio"] <= TIE and row["same"] is not False else "MISS"
    more = "" if row["to_bare"] is None else f", {row['to_bare']:.2f} of the bare passes"
    apart = "" if row["apart"] is None else f", values differ by {row['apart']:.0e}"
    return (
        f"{mark}  {row['shape']}, {row['tokens']} tokens, {row['method']}: "
        f"{row['ours_s']:.3f} s, {row['ours_mb']:.0f} MB; "
        f"{row['peer']} {row['peer_s']:.3f} s, {_megabytes(row['peer_mb'])} MB: {row['ratio']:.2f}{more}{apart}"
    )


def _table(facts: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    versions = ", ".join(f"{name} {value}" for name, value in facts.items())
    lines = [
        "One text, ours against the best setting of the best peer; a ratio below 1: ours is faster.",
        "",
        f"{versions}.",
        "",
        "| model | tokens | method | ours, s | peer, s | ratio | ours, MB | peer, MB | best peer | values differ by |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        apart = "–" if row["apart"] is None else f"{row['apart']:.0e}"
        lines.append(
            f"| {row['shape']} | {row['tokens']} | {row['method']} | {row['ours_s']:.3f} | {row['peer_s']:.3f} | "
            f"{row['ratio']:.2f} | {row['ours_mb']:.0f} | {_megabytes(row['peer_mb'])} | {row['peer']} | {apart} |"
        )
    return "\n".join(lines) + "\n"


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _device(device: str) -> str:
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    torch.set_num_threads(1)
    np.random.seed(0)  # noqa: NPY002  # what peers draw from
    main()
