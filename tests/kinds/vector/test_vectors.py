"""Vectors: read from tables and arrays, trained, saved, kept between tasks, explained."""

import numpy as np
import pandas as pd
import pytest

import trueness as tn
from tests.inline import here
from trueness.data.dataset import with_splits
from trueness.engine import Store, run, task
from trueness.errors import UserError
from trueness.kinds import KINDS, kind_of_data, open_model

RNG = np.random.default_rng(1)
TABLE = pd.DataFrame(RNG.normal(size=(200, 3)) * [1, 100, 1], columns=["age", "income", "noise"])
TABLE["target"] = np.where(TABLE["age"] + TABLE["income"] / 100 > 0, "yes", "no")


def explained(model, name, rows):
    batch = model.coded(rows).batch(range(len(rows)))
    return KINDS["vector"].explainers[name].attribute(model.network, batch)


@pytest.fixture
def file(tmp_path):
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def test_a_table_of_numbers_is_read_the_same_from_everywhere(file, tmp_path):
    TABLE.to_parquet(tmp_path / "people.parquet")
    pair = (TABLE[["age", "income", "noise"]], TABLE["target"].tolist())
    for source in (file, str(file), tmp_path / "people.parquet", TABLE, pair):
        assert kind_of_data(source).name == "vector"
        data = tn.load_dataset(source)
        assert (data.classes, data.features) == (("no", "yes"), ("age", "income", "noise"))
        assert np.allclose(data["all"].features, TABLE[list(data.features)])


@pytest.mark.parametrize(
    "rows",
    [
        "comment,stars\nx good,\nx bad,",
        "text,label\n1,0\n2,1",
        "review,score\na good film,1\na bad one,0",
        "a,b,label\nx,y,0\nz,w,1",
    ],
)
def test_texts_are_not_taken_for_numbers(rows, tmp_path):
    (tmp_path / "some.csv").write_text(rows)
    assert kind_of_data(tmp_path / "some.csv").name == "text"


def test_rows_with_gaps_are_left_out_and_counted(tmp_path):
    (tmp_path / "gaps.csv").write_text("a,b,label\n1,2,x\n3,,y\n4,5,y\n")
    data = tn.load_dataset(tmp_path / "gaps.csv")
    assert data["all"].features.tolist() == [[1, 2], [4, 5]]
    assert "1 of 3 rows left out: a number is missing" in data.notes
    (tmp_path / "odd.csv").write_text("a,b,label\n1,2,0.5\n3,4,1.25\n")
    with pytest.raises(UserError, match=r"label 0.5 is not whole"):
        tn.load_dataset(tmp_path / "odd.csv")


@pytest.mark.parametrize("family", ["logistic-regression", "mlp"])
def test_a_model_is_trained_evaluated_saved_and_opened(family, file, tmp_path):
    recipe = {} if family == "logistic-regression" else {"recipe": "vector[epochs=30]"}
    model = tn.train(family, file, **recipe)
    scores = tn.evaluate(model, file)
    assert scores["accuracy"] > 0.85
    again = tn.load_model(model.save(tmp_path / "model"))
    assert tn.evaluate(again, file) == scores
    assert tn.evaluate(again, TABLE[["noise", "income", "target", "age"]]) == scores, "features are found by name"
    with pytest.raises(UserError, match=r"leave out hidden|no depth to set"):
        tn.train(family, file, **{"hidden" if family != "mlp" else "depth": 3})


def test_a_linear_model_is_explained_in_closed_form(file):
    data = with_splits(tn.load_dataset(file))
    model = tn.train("logistic-regression", data)
    rows = data["test"].pick(range(5))
    linear = model.network.module
    toward = (linear.weight[1] - linear.weight[0]).detach().numpy()
    yes = np.where(model.network(model.coded(rows).batch(range(5))).logits.argmax(dim=-1).numpy() == 1, 1, -1)
    standard = (rows.features - model.network.mean.numpy()) / model.network.deviation.numpy()
    found = explained(model, "input-x-gradient", rows).numpy()
    assert np.allclose(found, yes[:, None] * toward * standard / 2, rtol=1e-4)
    raw = explained(model, "coefficient", rows).numpy()
    assert np.allclose(raw, yes[:, None] * toward / model.network.deviation.numpy(), rtol=1e-4)
    sizes = np.abs(explained(model, "kernel-shap", rows).numpy()).mean(axis=0)
    assert sizes.argmin() == 2, "noise matters least"


def test_hidden_features_show_the_mean_of_the_training_examples(file):
    data = with_splits(tn.load_dataset(file))
    model = tn.train("logistic-regression", data)
    split = model.coded(data["test"])
    where = np.zeros((len(split), 3), dtype=bool)
    where[:, 1] = True
    hidden = split.hidden(split.maskable & __import__("torch").from_numpy(where).flatten()).batch([0, 1]).values
    assert hidden[:, 1].tolist() == pytest.approx([data["train"].features[:, 1].mean()] * 2, rel=1e-4)
    assert hidden[:, 0].tolist() == pytest.approx(data["test"].features[:2, 0].tolist(), rel=1e-5)
    random = split.hidden_at_random(0)
    assert not np.array_equal(random.batch(range(30)).values, random.batch(range(30)).values)


@task("tests/vectors", version=1)
def kept(inputs):
    data = with_splits(tn.load_dataset(TABLE))
    models = dict(zip("01", KINDS["vector"].models.train("logistic-regression", data, [0, 1]), strict=True))
    return {**KINDS["vector"].data.pack(data), **KINDS["vector"].models.pack(models)}


def test_data_and_models_are_kept_between_tasks(tmp_path):
    store = Store.open(tmp_path / "store", create=True)
    made = kept({})
    assert run([made], store, here()).failures == []
    stored = store.get(made.key)
    data = KINDS["vector"].data.unpack(stored)
    assert list(data.splits) == ["train", "dev", "test"]
    assert (data.features, data.classes) == (("age", "income", "noise"), ("no", "yes"))
    model = KINDS["vector"].models.unpack(stored, "1", "cpu")
    assert tn.evaluate(model, data)["accuracy"] > 0.9


def test_models_and_data_of_other_kinds_do_not_fit(file):
    model = tn.train("logistic-regression", file)
    with pytest.raises(UserError, match="needs rows, not a dataset of images"):
        tn.evaluate(model, tn.load_dataset("photo-crops", size=8))
    with pytest.raises(UserError, match="has 2 features, and the model reads 3"):
        tn.evaluate(open_model(model), (TABLE[["age", "noise"]], TABLE["target"]))
