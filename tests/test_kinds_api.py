"""Every function for every kind of input, whatever form the model is in; and what comes back."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import trueness as tn
from tests.command import trueness
from tests.models.transformers import model as transformer
from tests.models.transformers import tokenizer
from trueness.errors import UserError
from trueness.report.explanation import Explanation

WORDS = [f"{mood} film {number}" for number in range(18) for mood in ("good", "bad")]
LABELS = ["yes", "no"] * 18
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(40, 3))
CLASSES = (ROWS[:, 0] > 0).astype(int)
TABLE = pd.DataFrame(ROWS, columns=["age", "height", "noise"]).assign(ill=np.where(CLASSES, "yes", "no"))
PIXELS = RNG.integers(0, 120, (24, 32, 32, 3), dtype=np.uint8)
PIXELS[::2, 4:12, 4:12] = 250
SHOWN = (np.arange(24) % 2).astype(np.int64)


def of_texts(form):
    data = list(zip(WORDS, LABELS, strict=True))
    if form in ("pair", "pipeline"):
        network = transformer("bert")
        if form == "pair":
            return (network, tokenizer()), ["good film", "odd"], WORDS
        from transformers import TextClassificationPipeline

        return TextClassificationPipeline(model=network, tokenizer=tokenizer()), ["good film", "odd"], WORDS
    estimator = make_pipeline(CountVectorizer(), LogisticRegression()).fit(WORDS, LABELS)
    if form == "estimator":
        return estimator, ["a good film", "bad"], data
    if form == "function":
        return (lambda texts: estimator.predict_proba(texts)), ["a good film", "bad"], WORDS
    return tn.train("average-additive", data, hidden=4, embedding=4, recipe="default[epochs=1]"), WORDS[:2], data


def of_images(form):
    dataset = {"train": (PIXELS[:12], SHOWN[:12]), "dev": (PIXELS[12:18], SHOWN[12:18]), "test": (PIXELS, SHOWN)}
    from trueness.kinds.image.data.images import from_arrays

    data = from_arrays(dataset, ("square", "plain"))
    return tn.train("small-cnn", data, recipe="image[epochs=1]"), PIXELS[:2], data


def of_rows(form):
    estimator = LogisticRegression().fit(TABLE[["age", "height", "noise"]], TABLE["ill"])
    if form == "estimator":
        return estimator, ROWS[:2], TABLE
    if form == "function":
        asked = LogisticRegression().fit(ROWS, CLASSES)

        def predict(rows):
            return asked.predict_proba(rows)

        predict.n_features_in_ = 3
        return predict, ROWS[:2], (ROWS, CLASSES)
    return tn.train("logistic-regression", TABLE, columns={"label_column": "ill"}), TABLE.drop(columns="ill")[:2], TABLE


KINDS = {"text": of_texts, "image": of_images, "vector": of_rows}
FORMS = [
    *(("text", form) for form in ("object", "folder", "pair", "pipeline", "estimator", "function")),
    *(("image", form) for form in ("object", "folder")),
    *(("vector", form) for form in ("object", "folder", "estimator", "function")),
]
HIDING = ["leave-one-out", "occlusion"]


@pytest.fixture(scope="module", params=FORMS, ids=" ".join)
def given(request, tmp_path_factory):
    """A model in some form, two examples, and data."""
    kind, form = request.param
    model, examples, data = KINDS[kind](form)
    if form == "folder":
        model = str(model.save(tmp_path_factory.mktemp("model")))
    return kind, model, examples, data


def test_explain(given):
    kind, model, examples, _ = given
    found = tn.explain(model, examples, HIDING[0])
    assert len(found) == 2
    assert found == tn.explain(model, examples, [HIDING[0]])
    both = tn.explain(model, examples, HIDING)
    assert both.explainers == tuple(HIDING)
    assert both[HIDING[0]] == found == both[:2]
    for one, scores in zip(both, both.scores, strict=True):
        assert scores.shape == ((32, 32) if kind == "image" else (len(one.tokens),))
        assert np.isfinite(scores).all()
        assert scores.any()
        assert 1 / 3 <= one.probability <= 1
    assert set(both.to_pandas()["example"]) == {0, 1}
    assert json.loads(json.dumps(both.to_json()))[0]["target"] == both[0].target
    shown = both._repr_html_()
    assert shown.count("<small>") == 2, "one heading for each example"
    assert {"text": "<span", "image": "data:image/png", "vector": "<table"}[kind] in shown
    assert "<script" not in both.to_html()
    assert len(repr(both).splitlines()) == len(repr(found[0]).splitlines()) == 1
    assert len(tn.explain(model, examples)) == 2, "some explainer suits every model"


def test_agreement_and_faithfulness(given):
    _, model, _, data = given
    agreed = tn.agreement(model, data, HIDING, instances=6)
    assert agreed.to_pandas()["instance"].nunique() == 6
    cost = tn.faithfulness(model, data, [HIDING[0], "random"], instances=6)
    assert {score.method for score in cost.scores} == {HIDING[0], "random"}


def test_labels_are_left_out(given):
    _, model, _, data = given
    columns = {"label_column": ""}
    if isinstance(data, pd.DataFrame):
        data = data.drop(columns="ill")  # which would be a feature
    assert tn.agreement(model, data, HIDING, instances=4, columns=columns).to_pandas()["instance"].nunique() == 4
    with pytest.raises(UserError, match="gold label"):
        tn.agreement(model, data, HIDING, instances=4, columns=columns, target="gold")


def test_evaluate(given):
    kind, model, _, data = given
    if kind == "text":
        classes = tn.load_model(model).classes
        data = {"test": [(text, classes[number % 2]) for number, text in enumerate(WORDS)]}
    assert 0 <= tn.evaluate(model, data)["accuracy"] <= 1


def test_a_models_repr_is_one_line(given):
    opened = tn.load_model(given[1])
    assert len(repr(opened)) < 120
    assert opened.classes[0] in repr(opened)


def test_attention_is_asked_of_models_that_have_one(given):
    kind, model, examples, data = given
    for call in (lambda: tn.adversarial_attention(model, examples), lambda: tn.attefa(model, model, data)):
        if kind == "text":
            continue
        with pytest.raises(UserError, match="has no attention"):
            call()


@pytest.mark.parametrize(
    ("kind", "wrong", "said"),
    [
        ("text", ROWS, "needs texts, not rows"),
        ("text", PIXELS, "needs texts, not images"),
        ("image", ["a", "b"], "needs images, not texts"),
        ("vector", ["a", "b"], "needs rows, not texts"),
        ("vector", PIXELS, "needs rows, not images"),
    ],
)
def test_data_of_another_kind_are_refused(kind, wrong, said):
    model, _, _ = KINDS[kind]("object")
    for call in (tn.agreement, tn.faithfulness):
        with pytest.raises(UserError, match=said):
            call(model, wrong)
    with pytest.raises(UserError):
        tn.explain(model, wrong)


def test_columns_are_named_wherever_files_and_tables_are_read(tmp_path):
    """The label may be in either of two columns, and the text is not called so."""
    table = pd.DataFrame({"review": WORDS, "mood": LABELS, "label": range(36)})
    table.to_csv(tmp_path / "mine.csv", index=False)
    named = {"text_column": "review", "label_column": "mood"}
    model = tn.train("average-additive", table, columns=named, hidden=4, embedding=4, recipe="default[epochs=1]")
    for data in (table, str(tmp_path / "mine.csv")):
        assert set(tn.evaluate(model, data, columns=named)) >= {"accuracy"}
        gold = tn.agreement(model, data, HIDING, columns=named, instances=4, target="gold")
        assert gold.to_pandas()["instance"].nunique() == 4
        assert tn.faithfulness(model, data, HIDING, columns={**named, "label_column": ""}, instances=4).scores
        assert tn.attefa(model, model, data, columns=named).abstentions, "nothing differs"
        with pytest.raises(UserError, match="there is no column nope"):
            tn.agreement(model, data, HIDING, columns={"text_column": "nope"})
    with pytest.raises(UserError, match="columns are named where it is read"):
        tn.agreement(model, tn.load_dataset(table, columns=named), HIDING, columns=named)


def test_images_in_every_form(tmp_path):
    from PIL import Image

    model, _, data = of_images("object")
    Image.fromarray(PIXELS[0]).save(tmp_path / "one.png")
    wanted = tn.explain(model, data["test"].pick([0]), "gradient")
    channels_first = PIXELS[:1].transpose(0, 3, 1, 2)
    given = [PIXELS[0], PIXELS[:1], [PIXELS[0]], channels_first, PIXELS[:1] / 255, Image.fromarray(PIXELS[0])]
    for one in [*given, tmp_path / "one.png", [str(tmp_path / "one.png")]]:
        assert np.allclose(tn.explain(model, one, "gradient").scores, wanted.scores, atol=1e-6)
    assert tn.explain(model, data["test"].pick([0]), "gradient", target="gold")[0].target == "square"
    with pytest.raises(UserError, match="no gold label"):
        tn.explain(model, PIXELS[:1], target="gold")
    with pytest.raises(UserError, match="There is no picture"):
        tn.explain(model, str(tmp_path / "none.png"))


def test_rows_in_every_form():
    model, table, _ = of_rows("object")
    wanted = tn.explain(model, table, "input-x-gradient")
    assert wanted[0].tokens[0].startswith("age = ")
    for one in (
        ROWS[:2],
        ROWS[:2].tolist(),
        [",".join(map(str, row)) for row in ROWS[:2]],
        table[["noise", "age", "height"]],
    ):
        assert np.allclose(tn.explain(model, one, "input-x-gradient").scores, wanted.scores)
    assert len(tn.explain(model, ROWS[0])) == 1
    with pytest.raises(UserError, match="A row is numbers with commas"):
        tn.explain(model, "a,b")


def test_pairs_are_given_as_pairs():
    pair = (transformer("bert"), tokenizer())
    assert tn.explain(pair, [("good film", "odd")], "gradient") == tn.explain(
        pair, ["good film"], "gradient", others=["odd"]
    )


def test_pictures_and_rows_on_the_command_line(tmp_path):
    from PIL import Image

    model, _, _ = of_images("object")
    model.save(tmp_path / "images")
    Image.fromarray(PIXELS[0]).save(tmp_path / "one.png")
    told = trueness("explain", tmp_path / "images", "--example", tmp_path / "one.png", "--html", tmp_path / "page.html")
    assert told.returncode == 0, told.stderr
    assert "grad-cam" in told.stdout
    assert "data:image/png" in (tmp_path / "page.html").read_text()
    rows, _, _ = of_rows("object")
    rows.save(tmp_path / "rows")
    told = trueness("explain", tmp_path / "rows", "--example", "1,2,3", "--json")
    assert told.returncode == 0, told.stderr
    assert [one["tokens"][1] for one in json.loads(told.stdout)] == ["height = 2"] * 3


def test_two_explanations_are_the_same_if_all_of_them_is():
    one = Explanation("e", (), np.eye(2), "a", 0.5, "a", pixels=np.zeros((2, 2, 3), dtype=np.uint8))
    assert one == Explanation("e", (), np.eye(2), "a", 0.5, "a", pixels=np.zeros((2, 2, 3), dtype=np.uint8))
    assert one != Explanation("e", (), np.eye(2) + 1, "a", 0.5, "a", pixels=np.zeros((2, 2, 3), dtype=np.uint8))
