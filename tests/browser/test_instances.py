"""What the instance browser reads: compact, the same numbers as the slow way, whatever the data hold."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.browser.stores import HOSTILE, hostile_strips, strips
from trueness.browser.cells import BINS, HEIGHTS, encode_cells
from trueness.protocols.result import Result, Score
from trueness.protocols.similarity import similarity
from trueness.report.instances import LETTERS, NOTHING, STEPS, encode, instances_of, levels

SCORES = st.lists(st.floats(-10, 10) | st.just(0.0), min_size=1, max_size=8)


def result(table, **tables):
    return Result(pd.DataFrame(), tables={"strips": table, **tables})


def level(letter):
    return None if letter == NOTHING else LETTERS.index(letter) - STEPS


@given(SCORES)
def test_a_letter_is_the_share_of_the_strongest(scores):
    letters, strongest = levels(scores, signed=True)
    most = max(map(abs, scores))
    assert strongest == pytest.approx(most, rel=0.01)
    for letter, score in zip(letters, scores, strict=True):
        assert level(letter) == (0 if not most else round(STEPS * score / most))


def test_scores_without_sign_begin_at_zero_and_what_is_no_number_has_no_letter():
    assert levels([1.0, -1.0, float("nan"), 0.5], signed=False) == (
        LETTERS[40] + LETTERS[20] + NOTHING + LETTERS[30],
        1.0,
    )
    assert levels([], signed=True) == ("", 0.0)


def test_agreement_is_that_of_an_audit():
    table = strips(12)
    table.at[0, "scores"] = [0.5] * len(table.at[0, "scores"])  # all the same: no picture
    told = encode(instances_of(result(table)))
    by = table.set_index(["instance", "method"])["scores"]
    for row in told["rows"]:
        for letter, (a, b) in zip(row[8], told["pairs"], strict=True):
            one, other = (np.abs([by[row[1], told["methods"][place]]]) for place in (a, b))
            (slow,) = similarity(one, other, np.ones_like(one, dtype=bool))
            assert level(letter) == round(STEPS * float(slow))


def test_rounding_is_neither_coloured_nor_compared():
    table = strips(2)
    length = len(table.at[5, "scores"])
    for row in (5, 6):
        table.at[row, "scores"] = [1e-31 * (row + place**row) for place in range(length)]
    told = encode(instances_of(result(table)))
    colours, alike = told["rows"][1][7], told["rows"][1][8]
    assert [strongest > 0 for _, strongest in colours][:3] == [False, False, True]
    assert colours[0][0] == LETTERS[STEPS] * length
    assert level(alike[0]) == STEPS, "both say nothing"
    assert level(alike[1]) == 0


def test_every_text_is_there_once_with_every_method():
    table = strips(7)
    told = encode(instances_of(result(table.assign(dataset="d", model="m"))))
    assert len(told["rows"]) == told["total"] == 7
    assert told["methods"] == list(dict.fromkeys(table["method"]))
    assert told["signed"] == [False, True, True, True, True]
    assert [row[2].split("\n") for row in told["rows"]] == [list(some) for some in table["words"][::5]]
    assert told["places"] == [{"dataset": "d", "model": "m"}]
    assert told["pairs"] == [list(pair) for pair in itertools.combinations(range(5), 2)]


def test_hostile_words_become_text_that_cannot_steer():
    told = encode(instances_of(result(hostile_strips())))
    text = json.dumps(told, ensure_ascii=False)
    assert not set(text) & {"\u202e", "\u0000", "\u0007", "\u001b", "\u2028"}
    assert told["rows"][0][2].count("\n") == len(HOSTILE) - 1
    assert len(told["rows"][2][2].split("\n")) == 100_000


def test_what_does_not_fit_is_said():
    told = encode(instances_of(result(strips(50))), largest=4000)
    assert 0 < len(told["rows"]) < 50
    assert told["total"] == 50


def test_attention_and_its_adversary_are_instances_too():
    row = {
        **{"dataset": "d", "model": "m", "instance": 3, "words": ["a", "b"], "other": "", "predicted": "x"},
        **{"attention": [0.9, 0.1], "adversarial": [0.0, 1.0], "gold": "y", "probability": 0.7},
        **{"change": 0.01, "divergence": 0.5, "exact": True},
    }
    told = encode(instances_of(Result(pd.DataFrame(), tables={"examples": pd.DataFrame([row])})))
    assert told["methods"] == ["attention", "adversarial"]
    assert told["measures"] == ["divergence", "change"]
    assert told["rows"][0][9] == [0.5, 0.01]
    assert told["rows"][0][8] == LETTERS[0]


def test_an_image_travels_with_the_grid_of_its_scores():
    row = {
        **{"instance": 0, "words": None, "predicted": "cat", "gold": None, "method": "random", "signed": True},
        **{"scores": [1.0, -1.0, 0.0, 0.5], "image": "iVBORw0KGgo=", "rows": 2, "columns": 2},
    }
    told = encode(instances_of(result(pd.DataFrame([row]))))
    assert told["rows"][0][10] == ["iVBORw0KGgo=", 2, 2]
    assert told["rows"][0][7][0][0] == LETTERS[40] + LETTERS[0] + LETTERS[20] + LETTERS[30]


def test_cells_are_scores_and_distributions():
    records = pd.DataFrame(
        {"instance": range(40), "model": ["a", "b"] * 20, "tau": np.linspace(-1, 1, 40), "seed": 0, "name": "x"}
    )
    score = Score(
        **{"quantity": "tau", "dataset": "d", "model": "a", "method": "<b>", "variant": "corrected", "target": "t"},
        **{"value": 0.5, "low": 0.4, "high": 0.6, "level": 0.95, "n": 20, "direction": "neither"},
        **{"null": 0.0, "best": None},
    )
    told = encode_cells(Result(records, scores=(score,)))
    first, *spread = told["cells"]
    assert first[7:] == [0.5, 0.4, 0.6, 0.0, None, 20, "neither", ""]
    assert [told["names"][2][cell[3]] for cell in spread] == ["a", "b"]
    for cell, name in zip(spread, "ab", strict=True):
        counts, _ = np.histogram(records["tau"][records["model"] == name], bins=BINS, range=(-1, 1))
        heights = [HEIGHTS.index(letter) / 61 for letter in cell[-1]]
        assert heights == pytest.approx(counts / counts.max(), abs=1 / 61)
        assert [height > 0 for height in heights] == [count > 0 for count in counts]
    assert len({cell[0] for cell in told["cells"]}) == 3
