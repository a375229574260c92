import math

import pytest

import trueness as tn
from tests.inline import here
from trueness.errors import UserError
from trueness.protocols.attefa.cell import BASE, LEARNED, PUBLISHED, RETRAINED, TWIN, UNIFORM
from trueness.studies import KINDS

SETTINGS = {
    "models": ["bilstm-additive", "average-additive"],
    "seeds": [10, 50, 257],
    "vectors": "none",
    "weights": [1.0, math.inf],
    "shape": {"hidden": 16, "embedding": 16},
}


@pytest.fixture(scope="session")
def attefa_run(folder, tmp_path_factory):
    store = tmp_path_factory.mktemp("attefa") / "store"
    return tn.run("attefa", store=store, executor=here(), datasets=str(folder), **SETTINGS)


def test_every_way_of_making_a_run_is_there(attefa_run):
    runs = attefa_run.result.tables["runs"]
    counts = runs.groupby(["model", "method"]).size()
    for model in SETTINGS["models"]:
        assert counts[model, PUBLISHED] == 3
        assert counts[model, TWIN] == 2 * 3
        assert counts[model, RETRAINED] == 3 * 2, "of each of three base models"
    assert len(attefa_run.to_pandas()) == 2 * 15 * 30
    twins = runs[runs["method"] == PUBLISHED]
    assert (twins["base"] == twins["seed"]).all(), "three seeds, three base models: one twin each"
    means = attefa_run.to_pandas().groupby(["model", "method", "weight", "seed"], dropna=False)["change"].mean()
    assert means.to_numpy() == pytest.approx(
        runs.groupby(["model", "method", "weight", "seed"], dropna=False)["change"].mean().to_numpy(), abs=1e-6
    )


def test_divergence_never_exceeds_the_ceiling(attefa_run):
    runs, bases = attefa_run.result.tables["runs"], attefa_run.result.tables["bases"].set_index(["model", "seed"])
    for base, some in runs[runs["model"] == "average-additive"].groupby("base"):
        assert some["divergence"].max() <= bases.loc[("average-additive", base), "ceiling"] + 1e-6
    assert bases.loc["bilstm-additive", "ceiling"].isna().all()
    assert runs["divergence"].max() <= math.log(2) + 1e-6


def test_it_concludes_compares_and_reports(attefa_run, tmp_path):
    said = [claim.claim for claim in attefa_run.claims]
    assert sum("contextual encoders" in text for text in said) == 2, "under AtteFa and under AtteFa*"
    assert any("still classify" in text for text in said)
    quantities = {(score.quantity, score.method) for score in attefa_run.scores}
    assert {("AtteFa", PUBLISHED), ("AtteFa*", TWIN), ("AtteFa, seed 50", PUBLISHED)} <= quantities
    assert {"another-model", "selected-on-test"} <= {warning.code for warning in attefa_run.result.warnings}
    page, *figures = attefa_run.report(tmp_path / "report.html")
    html = page.read_text()
    for text in ("Table 2", "Table 3", "Tables 4 and 5", "Figure 1", "Figure 2"):
        assert text in html
    assert "nan" not in html.split("<script>")[0].lower().replace("nance", "")
    assert len(figures) == 2 * 2


def test_published_values_name_scores_that_the_study_makes(attefa_run):
    """A misspelt quantity or method in the published table would silently compare nothing."""
    made = {(score.quantity, score.method) for score in attefa_run.scores}
    published = {
        (quantity, method)
        for quantity, _, _, method in KINDS["attefa"].published()
        if "seed" not in quantity or quantity.endswith((" 10", " 50", " 257"))
    }
    assert published <= made


def test_the_four_tests_are_one_run(folder, tmp_path):
    run = tn.run(
        "four-tests",
        store=tmp_path / "store",
        workers=2,
        datasets=str(folder),
        vectors="none",
        seeds=3,
        weights=[0.001, 0.1],
        shape={"hidden": 16, "embedding": 16},
    )
    methods = {(score.quantity, score.method) for score in run.scores}
    assert {("F1 of a guided model", guide) for guide in (LEARNED, BASE, UNIFORM)} <= methods
    assert {("F1 over seeds", "uniform attention"), ("divergence of attention", RETRAINED)} <= methods
    said = " ".join(claim.claim for claim in run.claims)
    for conclusion in ("guides an encoder", "attention is needed", "farther away than the same model"):
        assert conclusion in said
    curve = run.result.tables["runs"].query("method == 'twin'").groupby("weight")["divergence"].mean()
    assert list(curve.index) == [0.001, 0.1]
    assert ("change of prediction", "twin, weight 0.001") in methods
    assert "no twin was trained for divergence alone" in run.abstentions[0].reason
    assert run.report(tmp_path / "report.html")


def test_a_shape_that_models_do_not_have_is_refused():
    with pytest.raises(UserError, match="there is no width of a model's shape"):
        tn.run("attefa", store="nowhere", shape={"width": 3})
