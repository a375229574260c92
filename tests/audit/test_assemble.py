"""What becomes of the tasks' numbers before they are judged."""

import numpy as np
import pandas as pd

from trueness.audits.assemble import _detection


class Kept:
    def __init__(self, number):
        rows = {"method": "gradient", "instance": np.arange(number), "AUROC": np.linspace(0.5, 1.0, number)}
        self.parts = {"records": pd.DataFrame(rows), "facts": {"evidence": "words", "accuracy": 1.0}}

    def holds(self, name):
        return name in self.parts

    def read(self, name):
        return self.parts[name]


def test_models_whose_splits_differ_in_size_stand_beside_one_another():
    found, told = _detection([Kept(40), Kept(37), Kept(40)], ["gradient", "lime"])
    assert found["gradient"].shape == (3, 37)
    assert "lime" not in found
    assert told[0].startswith("3 of 3 models")
