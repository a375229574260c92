"""Conclusions of AtteFa do not rest on twins that gave up the task."""

import numpy as np
import pandas as pd
import pytest

from trueness.papers.attefa.claims import claims
from trueness.protocols.attefa.cell import PUBLISHED, TWIN, TwinCell

BASES = (10, 50, 257)
MOCKS = tuple(f"mock-{number}@attefa2022" for number in (1, 2, 5, 10))


def cell(dataset, model, change, collapsed=0):
    """Three base models with three twins each, whose change of prediction is about `change`."""
    rng = np.random.default_rng([len(dataset), len(model)])
    facts = tuple({"seed": base, "one_class": 0.5, "constant": 0.5, "ceiling": None} for base in BASES)
    runs = [
        {
            "method": method, "weight": weight, "base": base, "seed": 100 * base + number, "divergence": 0.6,
            "change": change + 0.001 * rng.normal(), "one_class": 0.5, "performance": 0.9,
        }
        for method, weight in ((PUBLISHED, 1.0), (TWIN, 1.0), (TWIN, np.inf))
        for base in BASES
        for number in range(3)
    ]  # fmt: skip
    table = pd.DataFrame(runs)
    table.loc[table.index[:collapsed], "one_class"] = 1.0
    return TwinCell(dataset, model, facts, table, pd.DataFrame({"what": [], "seed": [], "value": []}))


def study(collapsed_of=lambda dataset, model: 0):
    places = {**{mock: 0.4 - 0.08 * place for place, mock in enumerate(MOCKS)}, "sst@attefa2022": 0.05}
    return [
        cell(dataset, model, change * (0.3 if model == "bilstm-additive" else 1.0), collapsed_of(dataset, model))
        for dataset, change in places.items()
        for model in ("bilstm-additive", "average-additive")
    ]


def found(cells):
    return {one.claim: one for one in claims(cells)}


CONTEXT = "contextual encoders are less faithful: AtteFa of a BiLSTM lies below an average's"
FALLS = "the more tokens inform, the less faithful: AtteFa falls with their number (mock datasets)"
REAL = "on real data attention over an average is less faithful than on mock-1 to mock-10 (AtteFa lies below)"


def test_conclusions_hold_where_twins_keep_the_task():
    said = found(study())
    assert [said[text].verdict for text in (CONTEXT, FALLS, REAL)] == ["supported"] * 3
    assert "over 4 datasets" in said[FALLS].evidence
    assert "left out" not in said[FALLS].evidence


def test_one_twin_that_gives_up_silences_its_dataset():
    said = found(study(lambda dataset, model: int((dataset, model) == (MOCKS[0], "average-additive"))))
    assert [said[text].verdict for text in (CONTEXT, FALLS, REAL)] == ["cannot tell", "supported", "cannot tell"]
    assert "1 of 9 twins of average-additive gave up the task" in said[CONTEXT].evidence
    assert "holds on 4 of 5 datasets" in said[CONTEXT].evidence
    assert "over 3 datasets, 1 more left out: twins gave up the task" in said[FALLS].evidence
    assert "twins gave up the task on 1 of 4 mock datasets" in said[REAL].evidence


def test_with_too_few_datasets_left_nothing_is_said():
    said = found(study(lambda dataset, model: 2 * (dataset in MOCKS[:2] and model == "average-additive")))
    assert said[FALLS].verdict == "cannot tell"
    assert "twins gave up the task on 2 of 4 datasets" in said[FALLS].evidence


@pytest.mark.parametrize("text", [CONTEXT, FALLS])
def test_the_curve_of_twins_does_not_ask_single_ones(text):
    said = found(study(lambda *_: 9))
    assert said[text].verdict == "cannot tell"
    assert said[text.replace("AtteFa", "AtteFa*")].evidence.count("gave up") == 0
