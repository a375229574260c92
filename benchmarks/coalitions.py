"""Kernel SHAP's error, coalitions of every size drawn as often and weighted, against drawn by the kernel: same counts.

Then the error with the coalitions that were not drawn filled in, against without.

Games of 20, 60 and 200 tokens: a sigmoid of a sum, of pairs and of fours, from smooth to rough. The truth is the mean
over many orders of the tokens, each with its reverse. The error is relative, root of the mean square over games and
draws.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.report import line
from trueness.explainers.between_copies import filled_shapley
from trueness.explainers.masked_copies import KernelShap

Floats = npt.NDArray[np.float64]
Game = Callable[[npt.NDArray[np.bool_]], Floats]
EACH = (4, 8, 16)
"""Coalitions for each token."""


def main() -> None:
    for tokens in (20, 60, 200):
        errors: dict[tuple[str, int], list[float]] = {}
        for number, roughness in enumerate((0.02, 0.2, 0.6)):
            game = _game(tokens, roughness, np.random.default_rng(number))
            empty, whole = game(np.array([[False] * tokens, [True] * tokens]))
            truth = _shapley(game, tokens, np.random.default_rng(100))
            for each in EACH:
                for seed in range(3):
                    for how, draw in (("kernel", _by_the_kernel), ("ours", _ours)):
                        keep, weight = draw(tokens, each * tokens, seed)
                        said = game(keep)
                        found = {how: _solved(keep, said - empty, weight, whole - empty)}
                        if how == "ours":
                            found["filled"] = _filled(game, tokens, each * tokens, seed)
                        for name, values in found.items():
                            off = float(((values - truth) ** 2).sum() / (truth**2).sum())
                            errors.setdefault((name, each), []).append(off)
        for each in EACH:
            ours, theirs, filled = (float(np.sqrt(np.mean(errors[how, each]))) for how in ("ours", "kernel", "filled"))
            about = f"Kernel SHAP's error, {tokens} tokens, {each * tokens} copies"
            line(f"{about} ({ours:.2f}), over drawn by the kernel", ours / theirs, "x", 1, at_least=False)
            line(f"{about}, filled in ({filled:.2f}), over not", filled / ours, "x", 1, at_least=False)


def _game(tokens: int, roughness: float, rng: np.random.Generator) -> Game:
    alone = rng.normal(size=tokens) * (rng.random(tokens) < 0.3) + 0.1 * rng.normal(size=tokens)
    pairs, fours = rng.integers(0, tokens, (3 * tokens, 2)), rng.integers(0, tokens, (tokens, 4))
    of_pairs, of_fours = roughness * rng.normal(size=3 * tokens), roughness * rng.normal(size=tokens)

    def game(keep: npt.NDArray[np.bool_]) -> Floats:
        total = keep @ alone + keep[:, pairs].all(axis=-1) @ of_pairs + keep[:, fours].all(axis=-1) @ of_fours
        said: Floats = 1 / (1 + np.exp(-3 * total / np.sqrt(tokens)))
        return said

    return game


def _shapley(game: Game, tokens: int, rng: np.random.Generator, orders: int = 300) -> Floats:
    found = np.zeros(tokens)
    for _ in range(orders):
        order = rng.permutation(tokens)
        for one in (order, order[::-1]):
            keep = np.argsort(one)[None, :] < np.arange(tokens + 1)[:, None]
            found[one] += np.diff(game(keep))
    return found / (2 * orders)


def _ours(tokens: int, count: int, seed: int) -> tuple[npt.NDArray[np.bool_], Floats]:
    keep = KernelShap(count).draw(tokens, torch.Generator().manual_seed(seed)).numpy()
    size = keep.sum(axis=1)
    return keep, 1 / (size * (tokens - size))


def _filled(game: Game, tokens: int, count: int, seed: int) -> Floats:
    keep = KernelShap(count, filled=True).draw(tokens, torch.Generator().manual_seed(seed))
    empty, whole, *said = torch.from_numpy(game(np.array([[False] * tokens, [True] * tokens, *keep.numpy()])))
    found = filled_shapley(keep.double(), torch.stack(said), whole, empty)
    return np.asarray(found, dtype=np.float64)


def _by_the_kernel(tokens: int, count: int, seed: int) -> tuple[npt.NDArray[np.bool_], Floats]:
    rng, sizes = np.random.default_rng(seed), np.arange(1, tokens)
    chance = 1 / (sizes * (tokens - sizes))
    size = rng.choice(sizes, count // 2, p=chance / chance.sum())
    half = rng.random((count // 2, tokens)).argsort(axis=1).argsort(axis=1) < size[:, None]
    return np.concatenate([half, ~half]), np.ones(count // 2 * 2)


def _solved(keep: npt.NDArray[np.bool_], said: Floats, weight: Floats, difference: float) -> Floats:
    """Least squares under the constraint that the values sum to the difference."""
    shown = keep.astype(np.float64)
    gram, right = shown.T @ (weight[:, None] * shown), shown.T @ (weight * said)
    solved = np.linalg.solve(gram, np.stack([right, np.ones(len(right))], axis=1))
    values: Floats = solved[:, 0] - solved[:, 1] / solved[:, 1].sum() * (solved[:, 0].sum() - difference)
    return values
