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
    parser.add_argument("--seconds", type=float, default=86_400.0, help="stop computing after so long")
    parser.add_argument("--small", action="store_true", help="very little of everything, to see that it runs")
    asked = parser.parse_args()
    begin = time.monotonic()
    os.environ["TRUENESS_DATA"] = str(asked.data)
    at = Setting(asked.data, asked.store.parent / "arms", asked.small)
    plans = {name: list(EXPERIMENTS[name](at)) for name in asked.names or EXPERIMENTS}
    print(f"{time.monotonic() - begin:.0f} s: planned", flush=True)
    # A process of its own, which can be ended at any moment: what is complete stays in the store.
    run = multiprocessing.get_context("spawn").Process(target=_compute, args=(asked,))
    run.start()
    run.join(asked.seconds - (time.monotonic() - begin))
    if run.is_alive():
        run.terminate()
        run.join(10)
    store = Store.open(asked.store, create=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    for name, arms in plans.items():
        done = [arm for arm in arms if store.has(arm.task.key)]
        rows = [row for arm in done for row in _rows(arm, store)]
        content = {"experiment": name, "arms": len(arms), "complete": len(done), "rows": rows}
        (asked.out / f"{name}.json.gz").write_bytes(gzip.compress(json.dumps(content).encode(), mtime=0))
        print(
            f"{time.monotonic() - begin:.0f} s: {name}, {len(done)} of {len(arms)} arms, {len(rows)} rows", flush=True
        )


def _compute(asked: argparse.Namespace) -> None:
    os.environ["TRUENESS_DATA"] = str(asked.data)
    at = Setting(asked.data, asked.store.parent / "arms", asked.small)
    targets = [arm.task for name in asked.names or EXPERIMENTS for arm in EXPERIMENTS[name](at)]
    with LocalExecutor([asked.device] * asked.workers) as executor:
        summary = engine.run(targets, Store.open(asked.store, create=True), executor)
    for failure in summary.failures:
        print(failure, flush=True)


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
