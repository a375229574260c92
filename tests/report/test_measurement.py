"""What functions measure on one's own model can be drawn and written down."""

import pandas as pd
import pytest

import trueness as tn
from tests.models.test_training import DATA, QUICK, SMALL
from trueness.errors import UserError
from trueness.protocols.result import Result, Score
from trueness.report import Measurement

SCORE = Score(
    quantity="q",
    dataset="d",
    model="m",
    method="a",
    variant="corrected",
    target="the predicted class",
    value=0.5,
    low=0.4,
    high=0.6,
    level=0.95,
    n=9,
    direction="higher is better",
    null=0.0,
    best=1.0,
)


@pytest.fixture(scope="module")
def model():
    return tn.train("bilstm-additive", DATA, recipe=QUICK, **SMALL)


@pytest.mark.slow
def test_agreement_and_faithfulness_are_drawn_and_written(model, tmp_path):
    found = tn.agreement(model, DATA, ["attention", "gradient", "random"], instances=20)
    assert (
        repr(found)
        == f"<Measurement: {len(found.records):,} records, {len(found.scores)} scores, 2 warnings, 1 abstentions>"
    )
    figure = found.plot(tmp_path / "new" / "pairs.pdf")
    assert (tmp_path / "new" / "pairs.pdf").read_bytes().startswith(b"%PDF")
    assert figure._repr_svg_().startswith("<svg")
    page = found.report(tmp_path / "pairs.html").read_text()
    assert "Do explanation methods agree about the model?" in page
    for word in ("published", "as-published", "Figure 1", "What it concludes"):
        assert word not in page, "no vocabulary of papers about one's own model"
    cost = tn.faithfulness(model, DATA, ["leave-one-out", "random"], instances=20)
    page = cost.report(tmp_path / "cost.html").read_text()
    assert "leave-one-out" in page
    assert "data:image/svg+xml" in page
    assert "<svg" in cost._repr_html_()


def test_names_are_escaped_in_figure_and_page(tmp_path):
    score = SCORE.model_copy(update={"method": "<script>alert(1)</script>"})
    found = Measurement.of(Result(pd.DataFrame(), (score,)), "Title")
    for shown in (found.report(tmp_path / "page.html").read_text(), found._repr_html_()):
        assert "<script>alert" not in shown
        assert "alert(1)" in shown


def test_what_cannot_be_drawn_is_said(tmp_path):
    nothing = Measurement.of(Result(pd.DataFrame()), "Title")
    with pytest.raises(UserError, match="nothing could be measured"):
        nothing.plot()
    found = Measurement.of(Result(pd.DataFrame(), (SCORE,)), "Title")
    with pytest.raises(UserError, match=r"written as \.png, \.svg, \.pdf"):
        found.plot(tmp_path / "figure.jpg")
    with pytest.raises(UserError, match=r"ends in \.html"):
        found.report(tmp_path / "page.txt")
