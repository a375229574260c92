"""Models like the audited one: what they learn, and what explanations of them say of a method."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import trueness as tn
from tests.audit import tiny
from trueness.audits.trials import DEPENDS, REMOVAL, REPEATS, learned
from trueness.engine import Store
from trueness.kinds import KINDS
from trueness.kinds.text.data.stored import unpack
from trueness.kinds.text.models.opening import load_model

WITH = {**tiny.PLANTED, "planted_models": 1, "companion_examples": 30, "relative_examples": 30}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tiny.make_place(tmp_path_factory.mktemp("relatives"))


@pytest.fixture(scope="module")
def found(place):
    with ThreadPoolExecutor(1) as pool:
        given = {"store": place / "store", "executor": pool, "explainers": ["leave-one-out"]}
        return tn.audit(place / "model", place / "many.csv", **given, **{**WITH, "retrained_models": 2})


def stored(place, name, **parameters):
    """The one object of a task with these parameters."""
    store = Store.open(place / "store")
    (one,) = [
        store.get(key)
        for key in store.keys()  # noqa: SIM118  # a store is no mapping
        if (meta := store.meta(key))["task"] == name
        and all(meta["parameters"].get(each) == value for each, value in parameters.items())
    ]
    return one


def trained(kept):
    """The model that a task left."""
    return KINDS["text"].models.unpack(kept, "0", "cpu")


def explained(place):
    """The first texts of the audit."""
    return [" ".join(one.tokens) for one in unpack(stored(place, "audit/read"))["explained"][:30]]


def test_models_like_it_learn_what_it_says(found, place):
    names = {check.name for check in found["leave-one-out"].trial(REMOVAL).checks}
    assert {"on this model", "on the companion"} <= names
    model = load_model(place / "model")
    data = unpack(stored(place, "audit/labelled", labels="predicted"))
    examples = [example for some in data.splits.values() for example in some]
    texts = [" ".join(example.tokens) for example in examples]
    said = [one.predicted for one in tn.explain(model, texts, "gradient")]
    assert [data.classes[one.label] for one in examples] == said
    dealt = unpack(stored(place, "audit/labelled", labels="random"))
    share = np.mean([one.label for some in dealt.splits.values() for one in some])
    assert 0.4 < share < 0.6


def test_the_companion_is_asked_where_it_has_learned_what_the_model_says(found, place):
    (note,) = [one for one in found["leave-one-out"].trial(REMOVAL).notes if "The companion" in one]
    texts = explained(place)
    companion, subject = (
        trained(stored(place, "audit/relative", purpose="companion")),
        load_model(place / "model"),
    )
    both = [[one.predicted for one in tn.explain(model, texts, "gradient")] for model in (subject, companion)]
    right = np.mean([one == other for one, other in zip(*both, strict=True)])
    assert f"names the class that your model names in {right:.0%} of 30 texts explained on it" in note
    assert not [one for one in found.left_out if "companion" in one]


def test_a_companion_that_learned_nothing_is_not_asked(place, tmp_path):
    """Of 180 texts this small network learns nothing, however long: no verdict may rest on it."""
    sizes = {**WITH, "training_examples": 300, "relative_examples": 0}
    with ThreadPoolExecutor(1) as pool:
        given = {"store": tmp_path / "store", "executor": pool, "explainers": ["leave-one-out"]}
        found = tn.audit(place / "model", place / "many.csv", **given, **sizes)
    (left,) = [one for one in found.left_out if "companion" in one]
    assert "learned too little to be asked: it names the class that your model names in" in left
    names = {one.name for one in found["leave-one-out"].trial(REMOVAL).checks}
    assert "on this model" in names
    assert "on the companion" not in names


def test_more_texts_of_the_companion_than_are_explained_are_as_many(place, tmp_path):
    sizes = {**WITH, "training_examples": 300, "companion_examples": 60, "relative_examples": 0}
    with ThreadPoolExecutor(1) as pool:
        given = {"store": tmp_path / "store", "executor": pool, "explainers": ["gradient"]}
        assert tn.audit(place / "model", place / "many.csv", **given, **sizes).size == 40


@pytest.mark.parametrize(
    ("wanted", "said", "expected"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], (True, 1.0, 0.5)),
        ([0, 0, 1, 1], [0, 0, 0, 1], (True, 0.75, 0.5)),
        ([0, 0, 1, 1], [0, 0, 0, 0], (False, 0.5, 0.5)),
        ([0, 0, 0, 1], [0, 0, 1, 1], (False, 0.75, 0.75)),
        ([0] * 20 + [1] * 20, [0] * 20 + [1] * 10 + [0] * 10, (True, 0.75, 0.5)),
        ([0] * 20 + [1] * 20, [0] * 20 + [1] * 9 + [0] * 11, (False, 0.725, 0.5)),
        ([0] * 64 + [1] * 36, [0] * 64 + [1] * 18 + [0] * 18, (True, 0.82, 0.64)),
        ([1, 1], [1, 1], (False, 1.0, 1.0)),  # nothing shows that it learned anything
    ],
)
def test_half_of_what_guessing_leaves_wrong_has_to_be_learned(wanted, said, expected):
    assert learned(wanted, said) == (expected[0], pytest.approx(expected[1]), pytest.approx(expected[2]))


def test_what_is_alike_equals_a_plain_loop(found, place):
    texts = explained(place)
    twin = trained(stored(place, "audit/relative", purpose="twin"))
    subject = load_model(place / "model")
    literal = []
    for text in texts:
        (one,) = tn.explain(subject, [text], "leave-one-out")
        (other,) = tn.explain(twin, [text], "leave-one-out", target=one.target)
        literal.append(np.corrcoef(one.scores, other.scores)[0, 1])
    relative = stored(place, "audit/relative", purpose="twin").key
    store = Store.open(place / "store")
    (kept,) = [
        store.get(key).read("compared")
        for key in store.keys()  # noqa: SIM118  # a store is no mapping
        if store.meta(key)["task"] == "audit/compared"
        and store.meta(key)["parameters"]["explainer"] == "leave-one-out"
        and store.meta(key)["inputs"]["relative"] == relative
    ]
    assert kept["similarity"] == pytest.approx(literal, abs=1e-4)
    assert "trained from another seed" in found["leave-one-out"].trial(REPEATS).notes[-1]


def test_random_labels_catch_what_never_looks_at_the_model(found):
    def check(name):
        return next(one for one in found[name].trial(DEPENDS).checks if one.name == "random labels")

    assert check("token-number").value == pytest.approx(0, abs=1e-9)
    assert check("token-number").answer == "fail"
    assert check("leave-one-out").value > 0.5


def test_training_again_is_told(found):
    (note,) = [one for one in found["leave-one-out"].trial(REMOVAL).notes if "Recursive ROAR" in one]
    assert re.search(r"Recursive ROAR, (1 seed|2 seeds)\)", note)
    assert not [one for one in found["random"].trial(REMOVAL).notes if "Recursive ROAR" in one]
    assert not [one for one in found.left_out if "Recursive ROAR" in one]


def test_the_stranger_of_a_transformer_has_forgotten_and_its_twin_has_not(tmp_path):
    folder, texts = tiny.make_transformer(tmp_path / "hub", 120)
    sizes = {**WITH, "examples": 30, "training_examples": 120, "companion_examples": 0}
    with ThreadPoolExecutor(1) as pool:
        tn.audit(folder, texts, store=tmp_path / "store", executor=pool, explainers=["gradient"], **sizes)

    def weight(model):
        return model.network.embedding.weight.detach().numpy().ravel()

    before = weight(load_model(folder))
    alike = {
        kin: np.corrcoef(before, weight(trained(stored(tmp_path, "audit/relative", purpose=kin))))[0, 1]
        for kin in ("twin", "stranger")
    }
    assert alike["twin"] > 0.9
    assert abs(alike["stranger"]) < 0.2
