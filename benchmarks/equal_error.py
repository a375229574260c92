"""What an explanation costs at the error a peer has: `python -m benchmarks.equal_error --shapes minilm,FOLDER`.

Errors are measured: the distance from what very many steps or samples of the same method give, over its length, root of
the mean square over draws. A peer takes the counts given, in its largest batches; ours takes as many as reach the
peer's error, by the line through the two counts around it (in logarithms). Its seconds are then measured.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.peer_methods import contests
from benchmarks.peer_setting import Setting, setting
from benchmarks.peers import seconds_of
from trueness.explainers.masked_copies import KernelShap, Lime
from trueness.explainers.paths import IntegratedGradients
from trueness.explainers.precision import computing

Floats = npt.NDArray[np.float64]
GRID = (0.1, 0.16, 0.25, 0.4, 0.63, 1.0, 1.6, 2.5)
"""Counts of ours, in those of the peer."""


@dataclass(frozen=True)
class Method:
    """One method: ours with a count and a seed, its contest, how many the peers take, and how many are all."""

    contest: str
    ours: Callable[[int, int], Any]
    counts: tuple[int, ...]
    all_of_them: int
    drawn: bool


def methods(steps: tuple[int, ...], samples: int, many: int, device: str) -> list[Method]:
    """A GPU looks at copies faster than what is between them can be filled in."""

    def lime(count: int, seed: int) -> Lime:
        return Lime(count, seed=seed, complements=True, filled=device == "cpu" and count <= 2048, ridge=1e-6)

    return [
        Method("integrated gradients", lambda n, _: IntegratedGradients(n), steps, 300, drawn=False),
        Method("LIME", lime, (samples,), many, drawn=True),
        Method(
            "Kernel SHAP",
            lambda n, seed: KernelShap(n, seed=seed, filled=device == "cpu" and n <= 4096),
            (samples,),
            many,
            drawn=True,
        ),
    ]


def main() -> None:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--shapes", default="minilm", help="a shape with random weights, or the folder of a saved BERT")
    parser.add_argument("--text", type=Path, nargs="+", help="files with texts that a saved model is asked about")
    parser.add_argument("--tokens", default="24")
    parser.add_argument("--steps", default="10,20,50", help="of integrated gradients, that the peer takes")
    parser.add_argument("--samples", type=int, default=500, help="that the peers take; as many as tokens at least")
    parser.add_argument("--many", type=int, default=20_000, help="samples whose result counts as the truth")
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--at-once", type=int, default=32, help="copies per call of the peers")
    parser.add_argument(
        "--precision",
        default="full",
        help="of ours: full, tf32, bf16, or several of them; peers and the truth are at full precision",
    )
    parser.add_argument("--only", default="", help="methods whose names begin so")
    parser.add_argument("--out", type=Path, help="a JSON file")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    steps, precisions = tuple(int(one) for one in given.steps.split(",")), given.precision.split(",")
    for shape in given.shapes.split(","):
        for tokens in (int(one) for one in given.tokens.split(",")):
            for text in given.text or [None]:
                asked = "" if text is None else text.read_text()
                one = setting(shape, tokens, given.device, 50, given.samples, (given.at_once,), asked)
                about = {"shape": Path(shape).name, "tokens": tokens} | ({"text": text.stem} if text else {})
                for method, precision in product(methods(steps, given.samples, given.many, given.device), precisions):
                    if not method.contest.startswith(given.only):
                        continue
                    for row in _rows(one, method, given.draws if method.drawn else 1, precision):
                        rows.append(about | {"precision": precision} | row)
                        print(json.dumps(rows[-1]), flush=True)
    if given.out is not None:
        given.out.write_text(json.dumps(rows, indent=1) + "\n")


def _rows(one: Setting, method: Method, draws: int, precision: str) -> list[dict[str, Any]]:
    def ours(count: int, seed: int, precision: str = precision) -> Floats:
        with computing(precision, torch.device(one.device)):
            found = method.ours(count, seed).attribute(one.network, one.batch, 0)[0, 1:-1]
        return np.asarray(found.double().cpu())

    truth = ours(method.all_of_them, 10_000, "full")
    found = []
    for count in method.counts:
        grid = sorted({max(2, round(count * share)) // 2 * 2 for share in GRID})
        errors = {number: _error([ours(number, seed) for seed in range(draws)], truth) for number in grid}
        for name in _peers(one, method, count, 0):
            # Of what is drawn each peer has a limit of its own (another ridge, another kernel, in LIME).
            limit = (
                _scores(_peers(one, method, method.all_of_them, 10_000)[name]) if method.contest == "LIME" else truth
            )
            error = _error([_scores(_peers(one, method, count, seed)[name]) for seed in range(draws)], limit)
            needed = _needed(errors, error)
            row = {"method": method.contest, "peer": name, "count": count, "error": error, "ours_count": needed}
            if needed is not None:
                times = _times(one, partial(ours, needed, 0), _peers(one, method, count, 0)[name])
                row |= {"ours_s": times[0], "peer_s": times[1], "ratio": times[0] / times[1]}
            found.append(row | {"ours_errors": errors})
    return found


def _peers(one: Setting, method: Method, count: int, seed: int) -> dict[str, Callable[[], Any]]:
    """By name, with that count and seed, in their largest batches."""
    again = replace(one, steps=count, samples=count, seed=seed)
    (contest,) = (contest for contest in contests(again) if contest.name == method.contest)
    return {name.split(maxsplit=1)[0]: peer for name, peer in contest.peers.items()}


def _scores(peer: Callable[[], Any]) -> Floats:
    said = peer()
    return np.asarray(said.double().cpu() if isinstance(said, torch.Tensor) else said, dtype=np.float64)


def _error(found: list[Floats], truth: Floats) -> float:
    """Relative, root of the mean square over draws."""
    squares = [float(((scores - truth) ** 2).sum()) for scores in found]
    return float(np.sqrt(np.mean(squares)) / np.linalg.norm(truth))


def _needed(errors: dict[int, float], error: float) -> int | None:
    """The count at which ours has the error: between two of the grid; the least of them where that is better."""
    counts, values = np.array(sorted(errors)), np.array([errors[number] for number in sorted(errors)])
    values, error = np.minimum.accumulate(values), error * 1.001  # the same points round otherwise
    if values[-1] > error:
        return None
    if values[0] <= error:
        return int(counts[0])
    number = np.exp(np.interp(-np.log(error), -np.log(values), np.log(counts)))
    return int(np.ceil(number / 2) * 2)


def _times(
    one: Setting, ours: Callable[[], object], theirs: Callable[[], object], tries: int = 3
) -> tuple[float, float]:
    """The least of several tries, by turns."""
    ours(), theirs()
    taken = [(seconds_of(ours, one.device), seconds_of(theirs, one.device)) for _ in range(tries)]
    return min(pair[0] for pair in taken), min(pair[1] for pair in taken)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
