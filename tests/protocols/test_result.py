"""A stored result is read as what it was written as, or refused."""

import pandas as pd
import pytest

from trueness.errors import UserError
from trueness.protocols.result import Claim, Result, Score

RESULT = Result(
    pd.DataFrame({"x": [1, 2]}),
    claims=(Claim(claim="it holds", verdict="supported", evidence="numbers"),),
    tables={"curves": pd.DataFrame({"y": [3]})},
)


def test_a_result_comes_back_with_its_tables_and_those_from_elsewhere():
    again = Result.from_payloads(RESULT.payloads(), {"costs": pd.DataFrame({"seconds": [1.0]})})
    assert again.claims == RESULT.claims
    assert again.records.equals(RESULT.records)
    assert list(again.tables) == ["curves", "costs"]
    assert again.tables["curves"].equals(RESULT.tables["curves"])


def test_a_bound_that_cannot_be_told_is_missing_and_the_note_says_why():
    score = Score(
        **{"quantity": "q", "dataset": "d", "model": "m", "method": "one", "variant": "corrected", "target": "t"},
        **{"value": 0.5, "low": 0.4, "high": 0.6, "level": 0.95, "n": 3, "direction": "neither", "null": 0, "best": 1},
    )
    note = "no interval: the same value every time"
    bare = score.model_copy(update={"method": "other", "low": None, "high": None, "note": note})
    found = Result(pd.DataFrame(), scores=(score, bare))
    table = found.score_table().set_index("method")
    assert table.loc["other", "low"] is pd.NA
    assert table.loc["other", "note"] == note
    assert table.loc["one", "low"] == 0.4
    assert "NaN" not in table.to_string()
    assert "<td>–</td>" in found._repr_html_()
    assert Result(pd.DataFrame()).score_table().empty


@pytest.mark.parametrize("what", ["another schema", "no schema", "a table more", "a table less", "no result"])
def test_what_another_version_wrote_is_refused(what):
    kept = RESULT.payloads()
    if what == "another schema":
        kept["result"]["schema"] += 1
    elif what == "no schema":
        del kept["result"]["schema"]
    elif what == "a table more":
        kept["unknown"] = pd.DataFrame({"z": [1]})
    elif what == "a table less":
        del kept["curves"]
    else:
        del kept["result"]
    with pytest.raises(UserError, match="another version of trueness: run the study again"):
        Result.from_payloads(kept)
