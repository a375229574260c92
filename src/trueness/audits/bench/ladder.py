"""The ladder: audits of known models by the thousand, whose explanations are right, or wrong in known ways.

One draw is a model, its examples, and an audit of every explanation on the ladder. Each row tells the verdict on one of
them, the values of its checks, and what metrics of other people say of it.
"""

from __future__ import annotations

import csv
import itertools
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.kinds import KINDS

if TYPE_CHECKING:
    from trueness.audits.verdict import Judged
    from trueness.kinds.contract import Known

TRAINED = ", trained"
"""Behind the name of a model: it learned what the known one says, and others like it learned planted evidence."""
ABOUT = ("kind", "model", "explanation", "truth", "seed", "examples", "verdict", "decided by")
CHECKS = (
    *("all weights at once", "planted", "on this model", "in most examples", "the top unit alone"),
    *("the strongest unit is named", "class", "right predictions", "wrong predictions", "what “", "another draw"),
    *("after a harmless edit", "alone or in a batch"),
)
"""By how their names begin; of several the least."""
METRICS = "metric: "
"""Before the name of a metric, where it stands beside checks."""
_FOILS = ("random",)


def models(kinds: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Kind and name of every model there is; trained ones where their kind can plant evidence for them."""
    found = []
    for kind in kinds or list(KINDS):
        for name, make in KINDS[kind].known.items():
            found.append((kind, name))
            if make(np.random.default_rng(0), 30).like:
                found.append((kind, name + TRAINED))
    return found


def draw(
    kind: str, model: str, seed: int, examples: int, metrics: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """One model, its examples, and the verdict on every explanation: one row each."""
    import torch

    from trueness.audits.bench.corruptions import ladder
    from trueness.audits.bench.simulated import PLANTED_MODELS, audit

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    about, trained = KINDS[kind], model.endswith(TRAINED)
    name = model.removesuffix(TRAINED)
    rng = np.random.default_rng([seed, *f"{kind} {name}".encode()])
    known = about.known[name](rng, examples)
    if trained:
        known = _trained(kind, known, seed)
    foils = {foil: about.explainers[foil] for foil in dict.fromkeys((*_FOILS, *about.foils)) if "[" not in foil}
    methods = ladder(known, foils)
    if trained:  # what knows this model's own words knows nothing of others
        methods = {name: one for name, one in methods.items() if name not in known.wrong or "per word" in name}
    done = audit(
        about, known, {name: one for name, (one, _) in methods.items()}, seed, planted=PLANTED_MODELS * trained
    )
    rows = []
    for name, (_, truth) in methods.items():
        judged = done.verdicts[name]
        row = {"kind": kind, "model": model, "explanation": name, "truth": truth, "seed": seed, "examples": examples}
        row |= {"verdict": judged.decision, "decided by": judged.decided_by, **checks_of(judged)}
        rows.append(row | {METRICS + metric: ask(done, name) for metric, ask in (metrics or {}).items()})
    return rows


def _trained(kind: str, known: Known, seed: int) -> Known:
    """The same examples, of a model that learned what the known one says of others."""
    from trueness.data.dataset import with_splits

    relatives = KINDS[kind].relatives
    assert relatives is not None
    how: dict[str, Any] = {"purpose": "twin", "epochs": 0, "device": "cpu"}
    return replace(known, model=relatives.train(known.like, with_splits(known.dataset), seed, **how))


def checks_of(judged: Judged) -> dict[str, float]:
    """The values of the checks, and the least of those whose names begin alike."""
    found: dict[str, float] = {}
    for trial in judged.trials:
        for check in trial.checks if trial.required else ():
            name = next((one for one in CHECKS if check.name.startswith(one)), "")
            if name and check.value is not None:
                found[name] = min(check.value, found.get(name, np.inf))
    return found


def rows_of(
    which: Sequence[tuple[str, str]],
    seeds: Sequence[int],
    examples: int,
    *,
    workers: int,
    seconds: float,
    metrics: Mapping[str, Any] | None = None,
) -> Iterator[list[dict[str, Any]]]:
    """The rows of each draw as it ends; after so many seconds none is begun."""
    begin = time.monotonic()
    left = iter([(kind, model, seed) for seed in seeds for kind, model in which])
    work = partial(draw, examples=examples, metrics=metrics)
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(work, *one) for one in itertools.islice(left, workers)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                yield one.result()
                following = next(left, None) if time.monotonic() - begin < seconds else None
                if following is not None:
                    running.add(pool.submit(work, *following))


def write(path: Path, found: Iterator[list[dict[str, Any]]], metrics: Sequence[str] = ()) -> int:
    """Write each draw as it comes, so that what is killed loses nothing but what ran; how many there were."""
    number = 0
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, [*ABOUT, *CHECKS, *(METRICS + name for name in metrics)], lineterminator="\n")
        table.writeheader()
        for rows in found:
            number += 1
            table.writerows(
                {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
                for row in rows
            )
            file.flush()
            os.fsync(file.fileno())
    return number
