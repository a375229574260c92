"""A model that is only a function: what masks words can explain it, what looks inside abstains."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import trueness as tn
from trueness.audits.subject import kept_model
from trueness.errors import Unsupported, UserError
from trueness.explainers.masked_copies import KernelShap, Lime, Occlusion
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.explainers.leave_one_out import LeaveOneOut
from trueness.kinds.text.models.black_box import WordCoder, load_black_box
from trueness.models.evaluation import evaluate
from trueness.models.predictor import BLACK_BOXES
from trueness.protocols.agreement.explaining import explain_all

WEIGHTS = {"good": 0.2, "bad": -0.15, "fine": 0.1, "dull": -0.05}
TEXTS = ["a good but dull film", "bad", "Good good bad fine plot , so so"]
FILE = '''
WEIGHTS = {"good": 0.2, "bad": -0.15, "fine": 0.1, "dull": -0.05}

def predict(texts):
    """A sum of words."""
    chance = [0.5 + sum(WEIGHTS.get(word, 0) for word in text.split()) for text in texts]
    return [[1 - one, one] for one in chance]

class Model:
    classes = ("bad", "good")

    def predict_proba(self, texts):
        return predict(texts)

model = Model()
'''


def additive(texts):
    """The probability of class 1 is a sum over words."""
    chance = [0.5 + sum(WEIGHTS.get(word, 0) for word in text.split()) for text in texts]
    return [[1 - one, one] for one in chance]


def weights_of(text):
    return [WEIGHTS.get(word, 0) for word in text.split()]


@pytest.fixture
def model():
    return load_black_box(additive, classes=("bad", "good"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    "method",
    [
        Lime(ridge=1e-9),
        Lime(ridge=1e-9, hiding="pad"),
        KernelShap(),
        KernelShap(n_samples=60),
        LeaveOneOut(),
        LeaveOneOut("mask"),
        Occlusion(sliding_window_shapes=1),
    ],
    ids=str,
)
def test_methods_that_hide_words_find_the_weights_of_a_sum(model, method):
    for found, text in zip(tn.explain(model, TEXTS, method, target="good"), TEXTS, strict=True):
        assert found.tokens == tuple(text.split())
        assert found.scores == pytest.approx(weights_of(text), abs=1e-6)
        assert found.probability == pytest.approx(max(additive([text])[0]))


def test_a_pipeline_of_scikit_learn():
    texts = ["a good film", "a bad film", "good plot", "bad plot", "so good", "too bad"]
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, ["yes", "no"] * 3)
    model = load_black_box(pipeline)
    assert model.classes == ("no", "yes")
    text = "good bad film indeed"
    words = text.split()

    def chance(kept):
        return pipeline.predict_proba([" ".join(words[place] for place in kept)])[0, 1]

    everything = range(len(words))
    alone = [chance(everything) - chance([one for one in everything if one != place]) for place in everything]
    (found,) = tn.explain(model, [text], "leave-one-out", target="yes")
    assert found.scores == pytest.approx(alone, abs=1e-9)
    shares = np.zeros(len(words))
    for order in itertools.permutations(everything):
        for number, place in enumerate(order):
            shares[place] += chance(sorted(order[: number + 1])) - chance(sorted(order[:number]))
    (found,) = tn.explain(model, [text], "kernel-shap", target="yes")
    assert found.scores == pytest.approx(shares / math.factorial(len(words)), abs=1e-6)


def test_every_explainer_works_or_abstains(model):
    split = EncodedSplit(model.read(TEXTS), model.coder, model.device)
    methods = {name: TEXT_EXPLAINERS[name] for name in TEXT_EXPLAINERS} | {
        name: TEXT_EXPLAINERS[name] for name in ("blurred[lime]", "blurred[gradient]", "attention[1]")
    }
    found = explain_all(model.network, split, methods, refuse=False)
    inside = {name for name, method in methods.items() if method.facts.needs}
    assert set(found.refused) == inside | {"blurred[gradient]"}
    assert {"lime", "kernel-shap", "occlusion", "leave-one-out", "random", "blurred[lime]"} <= set(found.scores)
    for name in ("gradient", "integrated-gradients", "deep-lift"):
        assert "needs gradients; this model is a function" in found.refused[name]
    assert found.refused["attention"] == "Attention needs attention; this model declares none."
    with pytest.raises(Unsupported, match="has no embeddings"):
        model.network.embed(split.batch([0]))
    with pytest.raises(Unsupported):
        model.network(split.batch([0]), attention=torch.ones(1, 7))


def test_company_and_order_change_nothing(model):
    for name in ("lime", "lime[n_samples=50]", "kernel-shap[n_samples=40]", "random", "occlusion", "blurred[random]"):
        together = tn.explain(model, TEXTS, name)
        alone = [tn.explain(model, [text], name)[0].scores for text in reversed(TEXTS)][::-1]
        fresh = load_black_box(additive)
        assert alone == [tn.explain(fresh, [text], name)[0].scores for text in TEXTS], name
        for one, other in zip(together, alone, strict=True):
            assert one.scores == pytest.approx(other, abs=1e-12), name


def test_each_text_is_asked_once_and_in_bounded_batches():
    asked = []

    def predict(texts):
        asked.append(list(texts))
        return additive(texts)

    model = load_black_box(predict)
    asked.clear()
    batch = model.batch(model.read([*TEXTS, TEXTS[0]]))
    logits = model.network(batch).logits
    assert asked == [TEXTS]
    assert torch.equal(logits[0], logits[3])
    KernelShap().attribute(model.network, batch)
    Lime().attribute(model.network, batch)
    every = [text for call in asked for text in call]
    assert len(every) == len(set(every))
    assert max(map(len, asked)) <= 256
    assert "" in every, "a hidden word is left out"
    assert not any("[" in text for text in every)


def test_it_is_measured_as_other_models_are(model):
    examples = [TextExample(("good",), 1), TextExample(("bad",), 0), TextExample(("bad", "film"), 1)]
    assert evaluate(model.network, EncodedSplit(examples, model.coder), 2)["accuracy"] == pytest.approx(2 / 3)
    certain = load_black_box(lambda texts: [[1.0, 0.0]] * len(texts))
    logits = certain.network(certain.batch(certain.read(["a"]))).logits
    assert logits.isfinite().all()
    assert logits.softmax(-1).tolist() == [[pytest.approx(1), pytest.approx(0, abs=1e-9)]]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda n: None, "an object of type NoneType|an array of shape"),
        (lambda n: "words", "an object of type str for 3 texts instead of a row of probabilities for each"),
        (lambda n: [0.5] * n, r"an array of shape \(3,\) for 3 texts"),
        (lambda n: [[0.5, 0.5]] * (n + 1), r"an array of shape \(4, 2\) for 3 texts"),
        (lambda n: [[1.0]] * n, "probabilities of 1 classes instead of two or more"),
        (lambda n: [[0.5, math.nan]] * n, "returned nan, which is no probability from 0 to 1"),
        (lambda n: [[2.0, -1.0]] * n, "returned 2.0, which is no probability from 0 to 1"),
        (lambda n: [[0.4, 0.5]] * n, "probabilities of one example that sum to 0.9, not to 1"),
        (lambda n: [[0.5, 0.5]] * (n - 1) + [[1.0]], "an object of type list"),
        (lambda n: [[1 / n] * n] * n, "probabilities of 1 classes instead of two or more"),
        (
            lambda n: 1 / 0,
            r"asked about 3 texts, one of them empty, failed, test_black_box.py line \d+: "
            "ZeroDivisionError: division by zero",
        ),
    ],
)
def test_what_is_no_probability_is_refused(returned, message):
    with pytest.raises(UserError, match=message):
        load_black_box(lambda texts: returned(len(texts)))


def test_an_answer_that_goes_wrong_later_is_refused_too():
    model = load_black_box(lambda texts: [[0.5, 0.5] if len(text) < 20 else [0.9, 0.9] for text in texts])
    with pytest.raises(UserError, match=r"sum to 1\.8"):
        tn.explain(model, ["a text of many more characters"], "lime")


def test_arrays_and_tensors_will_do_and_fickle_functions_are_told():
    for kind in (np.array, torch.tensor):
        assert load_black_box(lambda texts, kind=kind: kind(additive(texts))).classes == ("0", "1")
    rng = np.random.default_rng(0)
    model = load_black_box(lambda texts: rng.dirichlet([1, 1], len(texts)))
    assert "gives a text other probabilities when asked again or alone" in model.notes[0]
    assert load_black_box(additive).notes == ()


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (3, "is no model: give a function"),
        (lambda: None, "must take one argument"),
        (lambda first, second: None, "must take one argument"),
        ("nothere", "names no function"),
        ("nothere.py:predict", "There is no file"),
        (LogisticRegression().set_params, "must take one argument|returned"),
    ],
)
def test_what_is_no_function_of_texts_is_refused(thing, message):
    with pytest.raises(UserError, match=message):
        load_black_box(thing)


@pytest.mark.parametrize("classes", ["ab", ["a"], ["a", "a"], ["a", "b", "c"]])
def test_classes_that_do_not_fit_are_refused(classes):
    with pytest.raises(UserError, match=r"two or more different names|classes instead of 3"):
        load_black_box(additive, classes=classes)


def test_pairs_and_saving_are_refused(model, tmp_path):
    with pytest.raises(UserError, match="reads one text, not pairs"):
        model.read(["a"], ["b"])
    with pytest.raises(UserError, match="reads one text, not pairs"):
        model.batch([TextExample(("a",), 0, ("b",))])
    with pytest.raises(UserError, match="is a function"):
        model.save(tmp_path)


def test_it_is_found_by_its_address(file):
    for name, classes in (("predict", ("0", "1")), ("model", ("bad", "good")), ("Model", ("bad", "good"))):
        model = load_black_box(f"{file}:{name}")
        assert model.classes == classes
        assert tn.explain(model, ["a good film"], "leave-one-out", target=1)[0].scores == pytest.approx([0, 0.2, 0])
    carried = BLACK_BOXES.reference(f"{file}:predict")
    assert carried == "mine.py:predict"
    assert carried.sources
    assert load_black_box(carried).network.predictor.name == "mine.py:predict"


def test_another_process_says_the_same(file):
    code = f"""
import trueness as tn
from trueness.kinds.text.models.black_box import load_black_box
model = load_black_box({str(file)!r} + ":predict")
tn.explain(model, ["other words come first"], "random")
for name in ("lime", "random", "kernel-shap[n_samples=40]"):
    print([found.scores for found in tn.explain(model, {TEXTS!r}, name)])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    model = load_black_box(f"{file}:predict")
    here = [
        [found.scores for found in tn.explain(model, TEXTS, name)]
        for name in ("lime", "random", "kernel-shap[n_samples=40]")
    ]
    assert done.stdout.splitlines() == [str(row) for row in here]


def test_words_have_numbers_of_their_own():
    coder, other = WordCoder(), WordCoder()
    words = [f"word{number}" for number in range(5000)]
    numbers = [coder.number(word) for word in words]
    assert len(set(numbers)) == len(words)
    assert all(5 <= number < 2**62 for number in numbers)
    assert [other.number(word) for word in reversed(words)] == numbers[::-1]
    assert coder.text([1, numbers[3], 3, numbers[4], 2, 0, 0]) == "word3 word4"


def pipeline():
    texts, labels = ["good film", "bad film", "a good plot", "a bad plot"], ["pos", "neg", "pos", "neg"]
    return make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, labels)


def test_a_function_or_an_object_is_explained_as_it_is():
    pipe, texts = (
        pipeline(),
        [f"{one} {word} film" for word in ("good", "bad", "dull") for one in ("a", "one", "the", "no")],
    )
    for model in (pipe, pipe.predict_proba, additive):
        (found,) = tn.explain(model, ["a good film"], "leave-one-out")
        assert int(np.argmax(np.abs(found.scores))) == 1
    assert tn.faithfulness(pipe, texts, ["occlusion"]).scores
    assert len(tn.agreement(pipe, texts, ["occlusion", "leave-one-out"]).records) == 12
    for refused, said in ((3, "is no model: give a folder"), ("folder", "There is no model folder")):
        with pytest.raises(UserError, match=said):
            tn.explain(refused, ["a good film"], "leave-one-out")


def test_a_model_of_numbers_is_explained_on_numbers_and_a_model_of_texts_is_not():
    numbers = np.random.default_rng(0).random((40, 3))
    forest = RandomForestClassifier(2).fit(numbers, np.arange(40) % 2)
    assert len(tn.explain(forest, numbers[:2], "leave-one-out")[0].scores) == 3
    for data in (numbers, pd.DataFrame(numbers)):
        with pytest.raises(UserError):
            tn.explain(pipeline(), data)


def test_a_function_or_object_in_a_file_is_found_there_by_workers(tmp_path, monkeypatch):
    store = tmp_path / "store"
    with pytest.raises(UserError, match="int is no model"):
        tn.audit(3, TEXTS * 20, store=store)
    assert not store.exists()
    (tmp_path / "named.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    for name in ("predict", "model"):
        reference = kept_model(load_black_box(f"named.py:{name}"), store)
        assert (reference, len(reference.sources)) == (f"named.py:{name}", 1)
    with pytest.raises(UserError, match=r"Set the attribute classes of named.py:predict in its file"):
        kept_model(load_black_box("named.py:predict", classes=("bad", "good")), store)
