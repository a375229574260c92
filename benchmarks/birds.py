"""The birds on a GPU, stage by stage: python -m benchmarks.birds STORE OUT [WORKERS [DEVICE [KEY=VALUE ...]]].

What is set holds for every stage. Every stage ends with a result of its own, so that what is done when time runs out
can be read; running again goes on. What is written to OUT is the store without the images themselves.
"""

import shutil
import sys
import time
from pathlib import Path
from typing import Any

import trueness as tn
from trueness.studies.loading import parse_setting

STAGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("from scratch", {"questions": ["region", "accuracy"], "models": ["resnet-34"]}),
    ("visibility", {"questions": ["region", "accuracy", "visibility"], "models": ["resnet-34"]}),
    ("correlation", {"models": ["resnet-34"]}),
    ("pretrained", {}),
)
LARGE = 32 << 20


def main(store: str, out: str, workers: str = "1", device: str = "cpu", *settings: str) -> None:
    common: dict[str, Any] = dict(parse_setting(one) for one in settings)
    for name, changes in STAGES:
        begin = time.perf_counter()
        run = tn.run("birds-images", store=store, workers=int(workers), devices=[device], **{**changes, **common})
        runs = run.result.tables["runs"]
        near = int((runs["accuracy"] > 0.95).sum())
        print(f"{name}: {time.perf_counter() - begin:.0f} s, {len(runs)} runs, {near} above 95 %", flush=True)
        first = runs[runs["question"] == "region"]
        print(first.groupby(["model", "artefact"])["accuracy"].describe()[["count", "min", "50%", "max"]], flush=True)
        _copy(Path(store), Path(out))


def _copy(store: Path, out: Path) -> None:
    for file in sorted(store.rglob("*")):
        if file.is_file() and file.stat().st_size < LARGE and not {"temporary", "locks"} & set(file.parts):
            place = out / "store" / file.relative_to(store)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)


if __name__ == "__main__":
    main(*sys.argv[1:])
