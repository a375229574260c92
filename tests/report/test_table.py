"""Tables in a paper's layout."""

from trueness.report.table import Table

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
