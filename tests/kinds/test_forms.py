"""A model in any form is opened by the kind that it is of; what cannot be explained is refused with what to do."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import trueness as tn
from trueness.errors import UserError
from trueness.kinds import kind_of, kind_of_data, open_model

ROWS = np.random.default_rng(0).normal(size=(60, 4)) * [1.0, 10.0, 0.1, 1.0] + 3
LABELS = (ROWS[:, 0] > 3).astype(int)
TEXTS = ["a good film", "a bad film", "good", "bad"] * 5


@pytest.mark.parametrize(
    ("estimator", "differentiable"),
    [
        (LogisticRegression(max_iter=2000), True),
        (make_pipeline(StandardScaler(), LogisticRegression(C=0.1)), True),
        (RandomForestClassifier(5, random_state=0), False),
    ],
)
@pytest.mark.parametrize("labels", [LABELS, np.digitize(ROWS[:, 0], [2.5, 3.5])])
def test_estimators_of_rows_say_what_they_said(estimator, differentiable, labels):
    model = open_model(estimator.fit(ROWS, labels))
    assert (model.kind, model.network.differentiable) == ("vector", differentiable)
    said = model.network(model.coded(kind_of(model).data.look(ROWS, model).default_split()).batch(range(60))).logits
    assert np.allclose(said.softmax(dim=-1).detach().numpy(), estimator.predict_proba(ROWS), atol=1e-4)


def test_a_pipeline_that_begins_with_words_reads_texts():
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, [1, 0] * 10)
    assert kind_of(pipeline).name == "text"
    assert open_model(pipeline).classes == ("0", "1")


def test_a_function_is_of_the_kind_of_the_data():
    def predict(rows):
        first = np.asarray(rows)[:, :1] > 3
        return np.hstack([1 - first, first]).astype(float)

    assert kind_of(predict).name == "text"
    assert kind_of(predict, ROWS).name == "vector"
    with pytest.raises(UserError, match="attribute n_features_in_"):
        open_model(predict, data=ROWS)
    predict.n_features_in_ = 4
    assert tn.evaluate(predict, (ROWS, LABELS))["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Ridge(), "Ridge predicts numbers"),
        (LinearSVC(), "LinearSVC gives no probabilities: wrap it in CalibratedClassifierCV"),
        (3, "is no model: give a folder, the address of a function"),
    ],
)
def test_what_gives_no_probabilities_is_refused(model, said):
    with pytest.raises(UserError, match=said):
        open_model(model)


def test_several_labels_at_once_are_refused():
    several = OneVsRestClassifier(LogisticRegression()).fit(ROWS, np.stack([LABELS, 1 - LABELS], axis=1))
    with pytest.raises(UserError, match="several labels at once"):
        open_model(several)


def test_a_transformer_of_images_in_every_form(tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=16, patch_size=8
    )
    config.id2label, config.label2id = {0: "cat", 1: "dog"}, {"cat": 0, "dog": 1}
    network = transformers.ViTForImageClassification(config).eval()
    processor = transformers.ViTImageProcessor(size={"height": 16, "width": 16})
    pixels = np.random.default_rng(0).integers(0, 255, (4, 16, 16, 3), dtype=np.uint8)
    pair = open_model((network, processor))
    assert (pair.kind, pair.classes, pair.network.size) == ("image", ("cat", "dog"), (16, 16))
    data = kind_of_data(pixels).data.look(pixels, pair)
    assert data.default_split().labels.tolist() == [-1] * 4
    said = pair.network(pair.coded(data.default_split()).batch(range(4))).logits
    again = open_model(pair.save(tmp_path / "cats"))
    assert again.network(again.coded(data.default_split()).batch(range(4))).logits.tolist() == said.tolist()
    pipeline = transformers.pipeline("image-classification", model=network, image_processor=processor)
    assert kind_of(pipeline).name == "image"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("BertForTokenClassification", "labels every token"),
        ("BertForMaskedLM", "without a classification head"),
        ("BertForSequenceClassification", "lacks its tokeniser"),
    ],
)
def test_transformers_without_a_choice_between_classes_are_refused(name, said):
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    with pytest.raises(UserError, match=said):
        open_model(getattr(transformers, name)(config))
    config.problem_type = "regression"
    with pytest.raises(UserError, match="predicts a number"):
        open_model((transformers.BertForSequenceClassification(config), object()))
