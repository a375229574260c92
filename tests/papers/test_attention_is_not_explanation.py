from dataclasses import replace

import pytest

import trueness as tn
from tests.inline import here
from tests.registries import put
from trueness.engine import Store
from trueness.kinds.text.data.datasets import TEXT_DATASETS, load_text
from trueness.kinds.text.tasks import dataset_task, read_dataset

SETTINGS = {
    "models": ["bilstm-additive", "average-additive"],
    "seeds": 3,
    "vectors": "none",
    "permutations": 10,
    "search_steps": 20,
    "instances": 20,
    "examples": 2,
}


@pytest.fixture(scope="session")
def attention_run(folder, tmp_path_factory):
    store = tmp_path_factory.mktemp("attention") / "store"
    return tn.run("attention-is-not-explanation", store=store, executor=here(), datasets=str(folder), **SETTINGS)


def test_the_study_runs_resumes_and_reports(attention_run, folder, tmp_path):
    records = attention_run.to_pandas()
    assert len(records) == 2 * 3 * 20
    assert records.groupby(["model", "seed"]).size().eq(20).all()
    assert attention_run.claims
    store = attention_run.stored.store.path
    again = tn.run("attention-is-not-explanation", store=store, workers=1, datasets=str(folder), **SETTINGS)
    assert again.summary.computed == 0
    page, *figures = attention_run.report(tmp_path / "report.html")
    html = page.read_text()
    for text in ("Table 2", "Explanations of the same text, side by side", "Figure 8", "over epsilon"):
        assert text in html
    assert "nan" not in html.split("<script>")[0].lower().replace("nance", "")
    assert {path.suffix for path in figures} == {".png", ".pdf"}
    assert len(figures) == 2 * 11


def test_a_finished_run_is_reported_without_its_data(attention_run, folder, tmp_path, monkeypatch):
    store = attention_run.stored.store.path
    monkeypatch.delenv("TRUENESS_DATA", raising=False)
    opened = tn.open_run("attention-is-not-explanation", store=store)
    assert opened.stored.key == attention_run.stored.key
    assert "datasets" in opened.notice


def test_comparing_says_what_was_compared(attention_run):
    compared = attention_run.compare()
    assert compared["agreement"]["compared"] == 0, "nothing was published about these data"
    assert {row["second_run"] for row in compared["rows"]} == {None}


def test_published_values_name_scores_that_the_study_makes(attention_run):
    """A misspelt quantity or method in the published table would silently compare nothing."""
    from trueness.studies import KINDS

    published = KINDS["attention-is-not-explanation"].published()
    made = {(score.quantity, score.method) for score in attention_run.scores}
    expected = {(quantity, method) for quantity, _, _, method in published if "class 2" not in quantity}
    assert {pair for pair in expected if pair[0] != "test accuracy"} <= made


def test_a_dataset_goes_through_the_store_unchanged(folder, tmp_path):
    from trueness.engine import LocalExecutor, run

    store = Store.open(tmp_path / "store", create=True)
    task = dataset_task(str(folder), "none")
    with LocalExecutor(["cpu"]) as executor:
        run([task], store, executor)
    back, direct = read_dataset(store.get(task.key)), load_text(str(folder))
    assert back == direct
    assert not store.get(task.key).holds("vectors")
    assert store.get(task.key).holds("examples")


def test_a_dataset_that_is_prepared_anew_gets_a_new_key(monkeypatch):
    def key():
        return dataset_task("movie-sentences", "none").key

    before = key()
    source = TEXT_DATASETS["movie-sentences"]
    put(monkeypatch, TEXT_DATASETS, "movie-sentences", replace(source, revision=2))
    assert key() != before
    monkeypatch.undo()
    assert key() == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"datasets": "sstt@jw2019"}, "did you mean sst@jw2019"),
        ({"models": "bilstm-uniform"}, "no attention of its own"),
        ({"models": "bilstm-additiv"}, "bilstm-additive"),
        ({"recipe": "jw2018"}, "jw2019"),
        ({"epsilon": 2}, "less than or equal to 1"),
        ({"vectors": "nowhere.txt"}, "there are no word vectors nowhere.txt"),
    ],
)
def test_bad_settings_are_refused_by_name(settings, message):
    with pytest.raises(tn.UserError, match=message):
        tn.load_study("attention-is-not-explanation", settings)


def test_missing_data_are_named_when_the_study_is_planned(monkeypatch, tmp_path):
    monkeypatch.delenv("TRUENESS_DATA", raising=False)
    with pytest.raises(tn.UserError, match="TRUENESS_DATA"):
        tn.plan("attention-is-not-explanation", store=tmp_path / "store")
