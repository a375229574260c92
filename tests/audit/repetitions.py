"""Audits of models whose right explanation is known, many times: how often is the verdict the right one?

python -m tests.audit.repetitions --repetitions 100 --audits 1000 --out results/audit/oracles.json
"""

import argparse
import collections
import json
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch

from tests.audit.oracle import (
    Constant,
    Inverted,
    Positions,
    Right,
    WeightIndependent,
    audit,
    make_model,
    make_sparse_model,
    make_sparse_texts,
    make_texts,
)
from trueness.audits.trials import DEPENDS, INFORMATIVE, REMOVAL, REPEATS
from trueness.explainers.simple import Blurred, Random

TEXTS = 120
MEANT = {
    "random": REPEATS,
    "constant": DEPENDS,
    "input-independent": REMOVAL,
    "weight-independent": DEPENDS,
    "inverted": REMOVAL,
}
"""The trial that each wrong explanation is not to pass."""


WRONG = {False: ("fail",), True: ("fail", "cannot tell")}


def one_of_each(seed, *, sparse=False):
    """Whether the right explanation may be shown, and each wrong one is refused and does not pass its trial.

    In `sparse` texts one word decides. Costs differ much between them, so that 120 may leave it open whether an order
    by position costs less than a quarter; its verdict then rests on another trial.
    """
    torch.set_num_threads(1)
    rng = np.random.default_rng([seed, 4 if sparse else 1])
    model = make_sparse_model() if sparse else make_model(rng)
    texts = (make_sparse_texts if sparse else make_texts)(rng, TEXTS)
    table = model.network.embedding.weight.detach()[:, 0].clone()
    methods = {
        "right": Right(),
        "my-random": Random(seed=10 + seed),
        "constant": Constant(),
        "input-independent": Positions(),
        "weight-independent": WeightIndependent(table),
        "my-blurred": Blurred(Right()),
        "inverted": Inverted(),
    }
    found, _ = audit(model, texts, methods)
    named = {"random": "my-random", "blurred": "my-blurred"}
    result = {"right": found["right"].decision == "may be shown"}
    for name, trial in MEANT.items():
        one = found[named.get(name, name)]
        result[name] = one.decision == "must not be shown" and one.trial(trial).answer in WRONG[sparse]
    lead = found["my-blurred"].trial(INFORMATIVE)
    return {**result, "a blurred copy is warned of": lead.answer != "pass" and not lead.required}


def random_explainers(seed):
    """The verdicts of three explanations that know nothing, of a model drawn anew."""
    torch.set_num_threads(1)
    rng = np.random.default_rng([seed, 2])
    model = make_model(rng, scale=rng.uniform(0.3, 4.0))
    texts = make_texts(rng, int(rng.integers(40, 120)))
    methods = {"right": Right(), **{f"random {number}": Random(seed=1000 * seed + number) for number in range(3)}}
    found, _ = audit(model, texts, methods, randomised=40)
    return {"random": [found[name].decision for name in methods if name != "right"], "right": found["right"].decision}


def nothing_to_tell(seed):
    """The verdicts on a model that says the same whatever the words are."""
    torch.set_num_threads(1)
    rng = np.random.default_rng([seed, 3])
    found, _ = audit(make_model(rng, scale=0.0), make_texts(rng, 60), {"right": Right()})
    return found["right"].decision


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--audits", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.workers) as pool:
        each = list(pool.map(one_of_each, range(given.repetitions), chunksize=2))
        few = list(pool.map(partial(one_of_each, sparse=True), range(given.repetitions), chunksize=2))
        many = list(pool.map(random_explainers, range(given.audits), chunksize=8))
        flat = list(pool.map(nothing_to_tell, range(min(given.repetitions, 100)), chunksize=4))
    verdicts = collections.Counter(decision for one in many for decision in one["random"])
    result = {
        "command": f"python -m tests.audit.repetitions --repetitions {given.repetitions} --audits {given.audits}",
        "texts": TEXTS,
        "repetitions": given.repetitions,
        "right_in": {name: sum(one[name] for one in each) for name in each[0]},
        "right_where_one_word_decides_in": {name: sum(one[name] for one in few) for name in few[0]},
        "audits": given.audits,
        "random_explainers": dict(verdicts),
        "audits_with_a_false_verdict": sum("may be shown" in one["random"] for one in many),
        "right_explainer_in_these_audits": dict(collections.Counter(one["right"] for one in many)),
        "no_chance_to_tell": dict(collections.Counter(flat)),
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
