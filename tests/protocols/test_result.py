"""A stored result is read as what it was written as, or refused."""

import pandas as pd
import pytest

from trueness.errors import UserError
from trueness.protocols.result import Claim, Result

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
