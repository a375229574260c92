"""How often does an audit show an explanation that is wrong in a known share of the texts, and refuse a right one?

PYTHONPATH=src:. python tests/audit/ladder.py --audits 60 --texts 300 --out results/audit/ladder.csv

No model is trained: nothing is planted, and there is no companion. `tests.audit.corruptions` has the models, whose
right explanation is known, and what is wrong with the others.
"""

import argparse
import collections
import csv
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch

from tests.audit.corruptions import (
    Blind,
    Blurry,
    Exact,
    InvertedFor,
    Magnitudes,
    Noise,
    TopLast,
    Unnamed,
    lean,
    make_leaning,
    negated,
    with_word,
)
from tests.audit.oracle import audit, make_texts

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
RARE = 0.2


def plain(rng, texts):
    """Words add up; one text in five is of the rare class."""
    model, examples = make_leaning(rng, scale=rng.uniform(0.4, 1.5)), make_texts(rng, texts)
    lean(model, examples, RARE)
    return (
        model,
        examples,
        {
            "right": Exact(),
            **{f"right, its scores noisy by {share:.0%}": Blurry(share) for share in (0.25, 0.5, 1.0)},
            **{f"noise in {share:.0%} of the texts": Noise(share) for share in SHARES},
            f"inverted for a class of {RARE:.0%}": InvertedFor(1),
            f"inverted for a class of {1 - RARE:.0%}": InvertedFor(0),
            "without signs": Magnitudes(),
            "the top word last": TopLast(),
        },
    )


def long(rng, texts):
    """The same with 25 to 40 words and classes of one size."""
    model, examples = make_leaning(rng, scale=rng.uniform(0.4, 1.0)), make_texts(rng, texts, 25, 40)
    lean(model, examples, 0.5)
    return (
        model,
        examples,
        {
            "right": Exact(),
            "noise in 30% of the texts": Noise(0.3),
            "inverted for a class of 50%": InvertedFor(1),
            "the top word last": TopLast(),
        },
    )


def negation(rng, texts, share):
    """In some texts the weightiest word stands after "not"."""
    model = make_leaning(rng, scale=rng.uniform(0.4, 1.5))
    examples = negated(rng, model, make_texts(rng, texts), share)
    lean(model, examples, 0.5)
    return model, examples, {"right": Exact(), f"blind to “not” (in {share:.0%})": Blind()}


def shortcut(rng, texts, share):
    """A word that decides stands in some of the texts."""
    scale = rng.uniform(0.4, 1.0)
    model = make_leaning(rng, scale=scale, shortcut=4 * scale)
    examples = with_word(rng, make_texts(rng, texts), "shortcut", share)
    return model, examples, {"right": Exact(), f"shortcut unnamed (in {share:.0%})": Unnamed()}


MODELS = {
    "words add up": plain,
    "longer texts": long,
    "“not” in 40%": partial(negation, share=0.4),
    "“not” in 20%": partial(negation, share=0.2),
    "shortcut in 60%": partial(shortcut, share=0.6),
    "shortcut in 30%": partial(shortcut, share=0.3),
}


def one(seed, texts, names):
    """(model, explanation, verdict, what decided) of one draw of every model."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows = []
    for number, (name, make) in enumerate(MODELS.items()):
        if name not in names:
            continue
        rng = np.random.default_rng([seed, number, 48])
        model, examples, methods = make(rng, texts)
        found, _ = audit(model, examples, methods)
        for method in methods:
            judged = found[method]
            values = {check.name: check.value for trial in judged.trials for check in trial.checks}
            rows.append((name, method, judged.decision, judged.decided_by, values))
    return rows


def main():
    """Count the verdicts and write them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--audits", type=int, default=60)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--model", action="append", help="some of the models, by name")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.workers) as pool:
        every = [
            row
            for rows in pool.map(
                partial(one, texts=given.texts, names=given.model or list(MODELS)), range(given.audits)
            )
            for row in rows
        ]
    counted = collections.defaultdict(collections.Counter)
    for model, method, decision, _, _ in every:
        counted[model, method][decision] += 1
    checks = ("on this model", "in most examples", "the top unit alone", "the strongest unit is named")
    with given.out.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(
            ["model", "explanation", "texts", "audits", "may be shown", "must not be shown", "cannot tell", *checks]
        )
        for (model, method), counts in counted.items():
            shown = [counts[one] / given.audits for one in ("may be shown", "must not be shown", "cannot tell")]
            values = [
                [row[4].get(check) for row in every if row[:2] == (model, method) and row[4].get(check) is not None]
                for check in checks
            ]
            means = [f"{np.mean(some):.3f}" if some else "" for some in values]
            table.writerow([model, method, given.texts, given.audits, *(f"{share:.3f}" for share in shown), *means])
    print(given.out.read_text())


if __name__ == "__main__":
    main()
