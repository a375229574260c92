"""Run experiments on one device and write what they found: python -m benchmarks.experiments NAME... --out FOLDER."""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.experiments.plans import EXPERIMENTS, Arm, Setting
from trueness import engine, report
from trueness.engine import LocalExecutor, Store
from trueness.engine.local import end_with_parent
from trueness.papers.attention_is_not_explanation.study import AttentionStudy
from trueness.papers.recursive_roar.study import RecursiveRoarStudy
from trueness.protocols.result import Result
from trueness.protocols.roar.curves import cells_of
from trueness.studies import Study

SHOWN = ("quantity", "dataset", "model", "method", "variant", "value", "low", "high", "n")


def main() -> None:
    """Compute until all is done or the time is over; then write what is complete."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(EXPERIMENTS)}; all by default")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--store", type=Path, default=Path("runs/experiments"))
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("TRUENESS_DATA", "data")))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--at-once",
        type=int,
        default=2,
        help="studies worked on together; with more, fewer are complete when time ends",
    )
    parser.add_argument("--seconds", type=float, default=86_400.0, help="stop computing after so long")
    parser.add_argument("--small", action="store_true", help="very little of everything, to see that it runs")
    asked = parser.parse_args()
    if asked.at_once < 1:
        parser.error("--at-once is 1 or more")
    begin = time.monotonic()
    os.environ["TRUENESS_DATA"] = str(asked.data)
    plans = _plans(asked)
    kept = {name: _kept(asked.out / f"{name}.json.gz", arms, small=asked.small) for name, arms in plans.items()}
    print(f"{time.monotonic() - begin:.0f} s: planned", flush=True)
    if asked.seconds > 0:
        # A process of its own, which can be ended at any moment: what is complete stays in the store.
        run = multiprocessing.get_context("spawn").Process(target=_compute, args=(asked, kept))
        run.start()
        run.join(asked.seconds - (time.monotonic() - begin))
        if run.is_alive():
            run.terminate()
            run.join(10)
    store = Store.open(asked.store, create=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    for name, arms in plans.items():
        found = [kept[name].get(i) or _stored(arm, store) for i, arm in enumerate(arms)]
        rows = [row for some in found for row in some]
        complete = sum(map(bool, found))
        content = {"experiment": name, "arms": len(arms), "complete": complete, "rows": rows}
        content |= {"small": True} if asked.small else {}
        (asked.out / f"{name}.json.gz").write_bytes(gzip.compress(json.dumps(content).encode(), mtime=0))
        print(f"{time.monotonic() - begin:.0f} s: {name}, {complete} of {len(arms)} arms, {len(rows)} rows", flush=True)


def _plans(asked: argparse.Namespace) -> dict[str, list[Arm]]:
    at = Setting(asked.data, asked.store.parent / "arms", asked.small)
    plans = {name: list(EXPERIMENTS[name](at)) for name in asked.names or EXPERIMENTS}
    for name, arms in plans.items():
        if len({json.dumps(arm.about) for arm in arms}) < len(arms):
            raise SystemExit(f"Two arms of {name} say the same of themselves.")
    return plans


def _kept(path: Path, arms: list[Arm], *, small: bool) -> dict[int, list[dict[str, Any]]]:
    """The rows of arms that an earlier run has written, by their number."""
    if not path.exists():
        return {}
    content = json.loads(gzip.decompress(path.read_bytes()))
    if content.get("small", False) != small:
        raise SystemExit(f"{path} is of a run with{'out' if small else ''} --small: give another folder by --out.")
    rows = content["rows"]
    found = {i: [row for row in rows if arm.about.items() <= row.items()] for i, arm in enumerate(arms)}
    return {i: some for i, some in found.items() if some}


def _compute(asked: argparse.Namespace, kept: dict[str, dict[int, Any]]) -> None:
    end_with_parent()
    os.environ["TRUENESS_DATA"] = str(asked.data)
    left = [arm for name, arms in _plans(asked).items() for i, arm in enumerate(arms) if i not in kept[name]]
    with LocalExecutor([asked.device] * asked.workers) as executor:
        for some in _batches(left, asked.at_once):
            summary = engine.run([arm.task for arm in some], Store.open(asked.store, create=True), executor)
            for failure in summary.failures:
                print(failure, flush=True)


def _batches(arms: list[Arm], studies: int) -> Iterator[list[Arm]]:
    """So many studies at a time, so that some are complete when time ends; all single tasks at once."""
    single = [arm for arm in arms if arm.study is None]
    yield from ([single] if single else [])
    whole = [arm for arm in arms if arm.study is not None]
    yield from (whole[start : start + studies] for start in range(0, len(whole), studies))


def _stored(arm: Arm, store: Store) -> list[dict[str, Any]]:
    return _rows(arm, store) if store.has(arm.task.key) else []


def _rows(arm: Arm, store: Store) -> list[dict[str, Any]]:
    stored = store.get(arm.task.key)
    if arm.study is None:
        return [{**arm.about, **row} for row in stored.read("rows")]
    result = report.read_result(arm.study, stored)
    scores = [{**arm.about, **{name: getattr(score, name) for name in SHOWN}} for score in result.scores]
    return scores + [{**arm.about, **row} for row in _per_seed(arm.study, result)]


def _per_seed(study: Study, result: Result) -> Iterator[dict[str, Any]]:
    """What differences between arms and methods are paired by: values of every seed."""
    if isinstance(study, RecursiveRoarStudy):
        names = dict.fromkeys(study.datasets, "performance")
        for cell in cells_of(result.records, study.steps, study.unit, names):
            for method in cell.methods("recursive"):
                for seed, value in zip(cell.seeds, cell.faithfulness("recursive", method), strict=True):
                    yield _value("faithfulness", cell.model, method, seed, value)
    elif isinstance(study, AttentionStudy):
        for column in (name for name in map(str, result.records) if name.startswith("tau: attention")):
            for (model, number), some in result.records.groupby(["model", "seed"]):
                yield _value("tau", str(model), column.removeprefix("tau: "), int(str(number)), some[column].mean())


def _value(quantity: str, model: str, method: str, seed: int, value: float) -> dict[str, Any]:
    known = None if value != value else float(value)  # not a number
    return {"quantity": quantity, "model": model, "method": method, "seed": int(seed), "value": known}
