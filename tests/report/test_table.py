"""Tables in a paper's layout."""

import pandas as pd
import pytest

from trueness.report.table import Table, groups, number, number_within, published_value, spread

ROWS = (("sst", "net", "–", "1"), ("imdb", "net", "–", "–"))


def test_a_lean_table_has_no_column_that_says_nothing():
    table = Table("t", "A table", "What it is.", ("dataset", "model", "plain", "ours"), ROWS).lean()
    assert table.header == ("dataset", "ours")
    assert table.rows == (("sst", "1"), ("imdb", "–"))
    assert table.caption == "What it is. Model: net."


def test_models_are_named_where_they_differ():
    rows = (("sst", "net", "1"), ("sst", "other", "2"))
    table = Table("t", "A table", "What it is.", ("dataset", "model", "ours"), rows)
    assert table.lean() == table


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        (("dataset", "F1: paper", "ours", "TVD: paper", "ours"), ("dataset", "F1", "TVD")),
        (("dataset", "X: paper", "second run", "ours, as published", "other"), ("dataset", "X, as published", "other")),
        (("dataset", "methods", "paper", "ours", "other"), ("dataset", "methods", "ours", "other")),
    ],
)
def test_a_table_of_other_data_does_not_speak_of_a_paper(header, shown):
    row = tuple("–" if name.endswith(("paper", "second run")) else str(place) for place, name in enumerate(header))
    table = Table("t", "A table", "What it is.", header, (row,)).without_paper()
    assert table.header == shown
    assert table.rows == (tuple(text for text in row if text != "–"),)


def test_one_published_value_keeps_its_columns():
    rows = (("sst", "0.9", "0.8", "–", "0.1"), ("mine", "–", "0.7", "–", "0.2"))
    table = Table("t", "A table", "What it is.", ("dataset", "F1: paper", "ours", "TVD: paper", "ours"), rows)
    assert table.without_paper() == table


def test_groups_come_in_order_of_appearance():
    table = pd.DataFrame({"dataset": ["b", "a", "b"], "seed": [1, 2, 1], "value": [1.0, 2.0, 3.0]})
    found = {key: some["value"].tolist() for key, some in groups(table, "dataset", "seed")}
    assert list(found.items()) == [(("b", "1"), [1.0, 3.0]), (("a", "2"), [2.0])]
    assert list(groups(pd.DataFrame(), "dataset")) == []


def test_cells():
    values = pd.Series([1.0, 3.0])
    assert (spread(values), spread(values, ".0%", ddof=1)) == ("2.000 ± 1.000", "200% ± 141%")
    assert (spread(values[:0]), number(None), published_value(None)) == ("–", "–", "–")
    assert (number(0.5), published_value({"published": "0.50"})) == ("0.500", "0.50")
    assert (number_within(0.5, 0.25, 1.0, ".0%"), number_within("0.5", "", "")) == ("50% (25% to 100%)", "0.5")
    assert number_within(0.5, None, None, ".1f") == "0.5"
