"""How far adversarial attention is found by its parts: python tools/adversaries.py DATASET MODEL:EPOCHS ... > FILE.csv.

A model of each kind is trained for so many epochs as Jain and Wallace's on bAbI; every fifth test text, epsilon 0.05.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import torch

from trueness.kinds.text.attention import ascent
from trueness.kinds.text.attention.adversary import vertex_adversary
from trueness.kinds.text.attention.view import AttentionView
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.datasets import load_text
from trueness.kinds.text.models.attentive import attentive
from trueness.kinds.text.models.families import train
from trueness.models.recipes import RECIPES

EPSILON = 0.05


def rows(dataset: str, kinds: list[str]) -> Iterator[dict[str, Any]]:
    """Mean divergences of the best pair of tokens, with an ascent, and with walks over corners as well."""
    data = load_text(dataset)
    for kind in kinds:
        name, _, epochs = kind.partition(":")
        model = train(name, data, seed=0, recipe=replace(RECIPES["jw2019-babi"], epochs=int(epochs)))
        split = EncodedSplit(data["test"], data.vocabulary, "cpu")
        with torch.no_grad():
            view = AttentionView(attentive(model.network.eval()), split.batch(list(range(0, len(split), 5))))
            pairs = vertex_adversary(view, EPSILON)
            with mock.patch.object(ascent, "corners", _nowhere):
                climbed, slower = _timed(view)
            found, slow = _timed(view)
        about = {"dataset": dataset, "model": name, "epochs": epochs, "texts": len(view.mask), "epsilon": EPSILON}
        values = {"pairs": pairs, "with an ascent": climbed, "with walks": found}
        means = {what: float(one.divergence.mean()) for what, one in values.items()}
        times = {"seconds of an ascent": slower, "seconds of all": slow}
        yield {**about, **means, "upper bound": float(found.upper.mean()), **times}


def _timed(view: AttentionView) -> tuple[Any, float]:
    begin = time.process_time()
    return ascent.best_adversary(view, EPSILON), time.process_time() - begin


def _nowhere(view: AttentionView, _: float, begin: torch.Tensor | None = None, **__: Any) -> torch.Tensor:
    return view.attention[:, None] if begin is None else begin


if __name__ == "__main__":
    for number, row in enumerate(rows(sys.argv[1], sys.argv[2:])):
        writer = csv.DictWriter(sys.stdout, list(row), lineterminator="\n")
        if not number:
            writer.writeheader()
        writer.writerow({name: f"{one:.3f}" if isinstance(one, float) else one for name, one in row.items()})
        sys.stdout.flush()
