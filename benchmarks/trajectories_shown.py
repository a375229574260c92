"""What the trajectories show, by the design of results/finding/DESIGN.md.

python -m benchmarks.trajectories_shown results/finding
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.trajectories import ATTENTIONS, ENCODERS, EPOCHS, LENGTHS, SEEDS

Floats = npt.NDArray[np.float64]
FACTORS = ("encoder", "attention", "length", "epoch")
LEVELS: dict[str, Sequence[Any]] = {
    "encoder": ENCODERS,
    "attention": ATTENTIONS,
    "length": LENGTHS,
    "epoch": EPOCHS,
}
TRAINING = (("epoch",), ("length",), ("length", "epoch"))
ARCHITECTURE = (("encoder",), ("attention",), ("encoder", "attention"))
DRAWS = 10_000


def shares(values: Floats) -> dict[str, float]:
    """Of values (encoder, attention, length, epoch, seed): every term's share of the total sum of squares.

    The terms are those of a balanced crossed design without seed; what is left, with all terms that have seed, is the
    residual. Shares sum to 1.
    """
    total = float(((values - values.mean()) ** 2).sum())
    found: dict[str, float] = {}
    effects: dict[tuple[int, ...], Floats] = {(): np.full((1,) * values.ndim, values.mean())}
    for size in range(1, len(FACTORS) + 1):
        for term in itertools.combinations(range(len(FACTORS)), size):
            others = tuple(axis for axis in range(values.ndim) if axis not in term)
            effect = values.mean(axis=others, keepdims=True)
            for lower, known in effects.items():
                if set(lower) < set(term):
                    effect = effect - known
            effects[term] = effect
            scale = values.size / effect.size
            found[" x ".join(FACTORS[axis] for axis in term)] = float((effect**2).sum() * scale) / total
    found["residual"] = 1 - sum(found.values())
    return found


def difference(found: dict[str, float]) -> float:
    """Share of training (epoch, length) minus share of architecture (encoder, attention)."""
    return sum(found[" x ".join(term)] for term in TRAINING) - sum(found[" x ".join(term)] for term in ARCHITECTURE)


def block_of(rows: pd.DataFrame, column: str, epochs: Sequence[int] = EPOCHS) -> Floats | None:
    """(encoder, attention, length, epoch, seed) of one corpus; None where a cell is missing."""
    rows = rows[rows["epoch"].isin(epochs)]
    table = rows.set_index([*FACTORS, "seed"])[column]
    index = pd.MultiIndex.from_product([*({**LEVELS, "epoch": epochs}[name] for name in FACTORS), range(SEEDS)])
    if not index.isin(table.index).all():
        return None
    return table.reindex(index).to_numpy(dtype=np.float64).reshape([*map(len, index.levels)])


def compare(blocks: dict[str, Floats]) -> dict[str, Any]:
    """Shares by corpus, and the mean difference with its two intervals."""
    rng = np.random.default_rng(0)
    names = list(blocks)
    each = {name: shares(block) for name, block in blocks.items()}
    drawn = rng.integers(SEEDS, size=(DRAWS // 10, SEEDS))  # a thousand draws of seeds; each gives every corpus a value
    values = np.array([[difference(shares(blocks[name][..., some])) for name in names] for some in drawn])
    picked = rng.integers(len(names), size=(len(values), len(names)))
    both = np.take_along_axis(values, picked, axis=1).mean(axis=1)
    return {
        "shares": each,
        "difference": float(np.mean([difference(one) for one in each.values()])),
        "over seeds": np.quantile(values.mean(axis=1), [0.025, 0.975]).tolist(),
        "over seeds and corpora": np.quantile(both, [0.025, 0.975]).tolist(),
    }


def first_and_last(rows: pd.DataFrame, column: str) -> dict[str, float]:
    """Of cells that are not all there: R2 of training's terms and of architecture's, entered first and entered last."""
    training = pd.get_dummies(rows["length"].astype(str) + " " + rows["epoch"].astype(str)).to_numpy(np.float64)
    architecture = pd.get_dummies(rows["encoder"] + " " + rows["attention"]).to_numpy(np.float64)
    y = rows[column].to_numpy(np.float64)

    def fitted(design: Floats) -> float:
        solved = np.linalg.lstsq(design, y, rcond=None)[0]
        return float(1 - ((y - design @ solved) ** 2).sum() / ((y - y.mean()) ** 2).sum())

    alone, other, both = fitted(training), fitted(architecture), fitted(np.hstack([training, architecture]))
    return {
        "training first": alone,
        "training last": both - other,
        "architecture first": other,
        "architecture last": both - alone,
        "models": len(rows),
    }


def _within(rows: pd.DataFrame) -> float:
    """Median over cells and seeds of the correlation of how far attention has formed with tau, over epochs."""
    each = [
        np.corrcoef(np.log(one["formed"]), one["tau_gradient"])[0, 1]
        for _, one in rows.groupby(["encoder", "attention", "length", "seed"])
        if one["formed"].std() > 0
    ]
    return float(np.median(each))


TITLES = {
    "sst": "SST",
    "20news": "20 Newsgroups",
    "babi-1": "bAbI 1",
    "snli": "SNLI",
    "agnews": "AG News",
    "imdb": "IMDB",
}


def figure(rows: pd.DataFrame, complete: Sequence[str]) -> dict[str, Any]:
    """Tau with gradients by epoch, a line for each encoder and attention, a panel for each complete corpus."""
    some = rows[rows["corpus"].isin(complete)]
    mean = some.groupby(["corpus", "encoder", "attention", "epoch"], sort=False)["tau_gradient"].mean().reset_index()
    mean["panel"] = mean["corpus"].map(TITLES)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": mean.to_dict("records")},
        "facet": {"field": "panel", "type": "nominal", "title": None, "sort": [TITLES[name] for name in complete]},
        "columns": 2,
        "spec": {
            "width": 300,
            "height": 170,
            "mark": {"type": "line", "point": True},
            "encoding": {
                "x": {
                    "field": "epoch",
                    "type": "quantitative",
                    "scale": {"type": "log", "base": 2},
                    "axis": {"values": [*EPOCHS]},
                    "title": "epochs of training",
                },
                "y": {"field": "tau_gradient", "type": "quantitative", "title": "tau of attention with gradients"},
                "color": {"field": "encoder", "type": "nominal", "sort": [*ENCODERS]},
                "strokeDash": {"field": "attention", "type": "nominal"},
            },
        },
        "config": {"font": "sans-serif", "background": "white"},
    }


def main() -> None:
    """Write summary.json beside the data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    folder = asked.folder
    rows = pd.read_csv(folder / "trajectories.csv")
    late = tuple(epoch for epoch in EPOCHS if epoch >= 8)
    corpora = {str(name): part for name, part in rows.groupby("corpus", sort=False)}
    complete = {name: part for name, part in corpora.items() if block_of(part, "tau_gradient") is not None}
    found: dict[str, Any] = {
        "complete": list(complete),
        "incomplete": {
            name: len(part) // (len(EPOCHS) * SEEDS) for name, part in corpora.items() if name not in complete
        },
    }
    for title, column, epochs in (
        ("primary: tau with gradients", "tau_gradient", EPOCHS),
        ("secondary 1: tau with leave-one-out", "tau_leave_one_out", EPOCHS),
        ("secondary 2: tau with gradients, epochs 8 to 64", "tau_gradient", late),
    ):
        blocks = {name: block_of(part, column, epochs) for name, part in complete.items()}
        whole = {name: block for name, block in blocks.items() if block is not None and np.isfinite(block).all()}
        found[title] = {"corpora": list(whole), **compare(whole)}
    good, within = {}, {}
    for name, part in complete.items():
        mean = part.groupby([*FACTORS])["accuracy"].transform("mean")
        good[name] = first_and_last(part[mean >= mean.max() - 0.05], "tau_gradient")
        within[name] = _within(part)
    found["secondary 3: cells within 0.05 of the best accuracy"] = good
    found["secondary 4: correlation of log formed and tau over epochs, median"] = within
    if asked.figure:
        import vl_convert

        asked.figure.write_bytes(vl_convert.vegalite_to_png(figure(rows, list(complete)), scale=2))
    (folder / "summary.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
