"""Explainers of Captum, SHAP and lime: one contract, and the same scores as ours where both compute the same."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import trueness as tn
from tests.explainers.subjects import subject
from tests.models import transformers
from trueness import carried
from trueness.errors import Unsupported, UserError
from trueness.explainers.contract import Explainer, as_explainer
from trueness.protocols.randomisation import layers_of, randomised
from trueness.registry import Registry

captum = pytest.importorskip("captum.attr")
pytest.importorskip("shap")
pytest.importorskip("lime")

ON = ("cnn dot linear", "images", "rows")
MADE = {
    "captum integrated gradients": lambda: tn.explainers.captum(captum.IntegratedGradients, n_steps=4),
    "captum by name": lambda: tn.explainers.captum("Saliency"),
    "captum of a function": lambda: tn.explainers.captum(
        lambda forward: captum.IntegratedGradients(forward, multiply_by_inputs=False), n_steps=3
    ),
    "captum noise": lambda: tn.explainers.captum(
        captum.NoiseTunnel(captum.Saliency(lambda given: given)), nt_samples=2, signed=False
    ),
    "captum ablation": lambda: tn.explainers.captum(captum.FeatureAblation),
    "captum lime": lambda: tn.explainers.captum(captum.KernelShap, n_samples=20),
    "shap partition": lambda: tn.explainers.shap("partition", max_evals=40),
    "shap permutation": lambda: tn.explainers.shap("permutation", max_evals=200),
    "shap kernel": lambda: tn.explainers.shap("kernel", nsamples=40),
    "lime": lambda: tn.explainers.lime(num_samples=30),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("on", ON)
def test_the_contract(name, on):
    one = subject(on)
    explainer = MADE[name]()
    assert as_explainer(explainer, "it") is explainer
    few = one.batch.rows(torch.arange(2))
    scores = explainer.attribute(one.model, few)
    assert scores.shape == few.mask.shape
    assert (scores[~few.mask] == 0).all()
    assert scores.abs().sum() > 0
    assert torch.equal(scores, explainer.attribute(one.model, few)), "the same again"
    back = explainer.attribute(one.model, few.rows(torch.tensor([1, 0])))
    torch.testing.assert_close(back, scores[[1, 0]], msg="company and order change nothing")
    if explainer.facts.random and "kernel" not in name:
        other = replace(explainer, seed=1).attribute(one.model, few)
        assert on == "images" or not torch.equal(other, scores), "another draw"


@pytest.mark.parametrize("on", ON)
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (lambda: tn.explainers.captum("InputXGradient"), lambda: tn.explainers.InputXGradient()),
        (
            lambda: tn.explainers.captum(captum.IntegratedGradients, n_steps=200),
            lambda: tn.explainers.IntegratedGradients(n_steps=200),
        ),
        (lambda: tn.explainers.shap("exact"), lambda: tn.explainers.KernelShap(n_samples=5000)),
    ],
)
def test_they_say_what_ours_say(theirs, ours, on):
    """Two implementations of one definition."""
    one = subject(on)
    few = one.batch.rows(torch.arange(2))
    if int(few.finest().groups().max()) > 12:
        pytest.skip("too many coalitions")
    if on == "images" and "input" in theirs().__name__:
        pytest.skip("Captum multiplies by the colours, ours by their way from a blank image")
    expected = ours().attribute(one.model, few)
    torch.testing.assert_close(theirs().attribute(one.model, few), expected, atol=2e-3, rtol=1e-2)


def test_a_layer_is_found_by_its_name_or_as_the_module():
    one = subject("cnn dot linear")
    few = one.batch.rows(torch.arange(2))
    by_name = tn.explainers.captum(captum.LayerIntegratedGradients, layer="embedding", n_steps=200)
    scores = by_name.attribute(one.model, few)
    of_object = tn.explainers.captum(captum.LayerIntegratedGradients(one.model, one.model.embedding), n_steps=200)
    torch.testing.assert_close(of_object.attribute(one.model, few), scores)
    hidden = one.model.logits(few.hide(few.mask))
    whole = one.model.logits(few)
    chosen = whole.argmax(dim=1)[:, None]
    difference = (whole - hidden).gather(1, chosen)[:, 0]
    torch.testing.assert_close(scores.sum(dim=1), difference.detach(), atol=0.02, rtol=0.05)
    with pytest.raises(UserError, match="no layer embeding; did you mean embedding"):
        tn.explainers.captum(captum.LayerIntegratedGradients, layer="embeding").attribute(one.model, few)


def test_what_needs_gradients_abstains_where_there_are_none():
    model = tn.load_model(lambda texts: [[0.9, 0.1] if "bad" in text else [0.2, 0.8] for text in texts])
    with pytest.raises(Unsupported, match="captum-saliency needs gradients"):
        tn.explain(model, ["a bad film"], tn.explainers.captum("Saliency"))
    for made in ("shap partition", "lime", "captum ablation"):
        (found,) = tn.explain(model, ["a bad film"], MADE[made]())
        assert found.tokens[int(np.argmax(found.scores))] == "bad", made


def test_settings_of_an_object_are_kept_and_its_model_is_not():
    lime_text = pytest.importorskip("lime.lime_text")
    shap = pytest.importorskip("shap")
    wide = tn.explainers.lime(lime_text.LimeTextExplainer(kernel_width=3), num_samples=50)
    assert wide.method.base.kernel_fn(np.array([3.0])) == pytest.approx(np.exp(-0.5))
    made = shap.Explainer(lambda texts: np.zeros(len(texts)), shap.maskers.Text(r"\W"), algorithm="partition")
    assert tn.explainers.shap(made).method is shap.PartitionExplainer
    gradients = tn.explainers.captum(captum.IntegratedGradients(lambda given: given, multiply_by_inputs=False))
    assert gradients.make(lambda given: given).multiplies_by_inputs is False


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tn.explainers.captum("Salency"), "did you mean Saliency"),
        (lambda: tn.explainers.captum("LayerIntegratedGradients"), "name it, such as layer="),
        (lambda: tn.explainers.captum("NeuronGradient"), "explains a neuron"),
        (lambda: tn.explainers.captum("Saliency", target=1), "leave it out"),
        (lambda: tn.explainers.captum(3), "a class, its name, or an object"),
        (lambda: tn.explainers.shap("tree"), "only asks a model"),
        (lambda: tn.explainers.shap(pytest.importorskip("shap").TreeExplainer), "reads more of a model"),
        (lambda: tn.explainers.lime(3), "LimeTextExplainer"),
        (lambda: tn.explainers.lime(labels=(1,)), "leave it out"),
    ],
)
def test_what_cannot_be_used_is_told(make, said):
    with pytest.raises(UserError, match=said):
        make()


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("captum integrated gradients", "captum-integrated-gradients[n_steps=4]"),
        ("shap partition", "shap-partition[max_evals=40]"),
        ("lime", "lime-text[num_samples=30]"),
    ],
)
def test_names_and_digests(name, called):
    explainer = MADE[name]()
    registry: Registry[Explainer] = Registry("explainer", adapt=as_explainer)
    assert explainer.__name__ == called
    reference = registry.carry(explainer, explainer.__name__)
    assert registry[reference] is explainer
    digest = reference.sources[0].digest
    assert carried.carry(MADE[name]()) == digest, "the same thing is known again"
    carried.receive({"sent": carried.packed([digest])[digest]})
    assert carried.find(called, "sent").__name__ == called


def test_words_of_a_batch_are_there_for_maskers():
    model = tn.load_model(lambda texts: [[0.9, 0.1] if "bad" in text else [0.2, 0.8] for text in texts])
    batch = model.batch(model.read(["a bad film", "fine"]))
    assert model.network.words(batch) == [
        ["[BEGIN]", "a", "bad", "film", "[END]"],
        ["[BEGIN]", "fine", "[END]", "[PAD]", "[PAD]"],
    ]
    hidden = model.network.words(batch.hide(batch.mask & (torch.arange(5) == 2)))
    assert hidden[0] == ["[BEGIN]", "a", "[MASK]", "film", "[END]"]


def test_explanations_are_what_captum_and_shap_take():
    shap = pytest.importorskip("shap")
    model = tn.load_model(lambda texts: [[0.9, 0.1] if "bad" in text else [0.2, 0.8] for text in texts])
    found = tn.explain(model, ["a bad film", "fine"], "leave-one-out")
    tensor = found.to_tensor()
    assert tensor.shape == (2, 3)
    assert tensor[1, 1:].tolist() == [0, 0]
    assert tensor[0].tolist() == list(found[0].scores)
    given = found.to_shap()
    assert isinstance(given, shap.Explanation)
    assert given[0].data.tolist() == ["a", "bad", "film"]
    assert given[0].values.tolist() == list(found[0].scores)
    assert "bad" in shap.plots.text(given[0], display=False)
    same = tn.explain(model, ["a bad film", "a fine film"], "leave-one-out").to_shap()
    assert same.values.shape == (2, 3)
    empty = found[:0]
    assert empty.to_tensor().shape == (0, 0)


@pytest.fixture(scope="module")
def transformer():
    """A tiny one as a pipeline of transformers."""
    library = pytest.importorskip("transformers")
    return library.pipeline("text-classification", model=transformers.model("bert"), tokenizer=transformers.tokenizer())


TEXTS = ["a dull film", "the scene good plot"]


@pytest.mark.filterwarnings("ignore")
def test_a_pipeline_of_transformers_is_explained_by_all_of_them(transformer):
    found = tn.explain(
        transformer,
        TEXTS,
        [
            tn.explainers.captum(captum.IntegratedGradients, n_steps=150),
            tn.explainers.IntegratedGradients(n_steps=150),
            tn.explainers.captum(captum.LayerIntegratedGradients, layer="word_embeddings", n_steps=20),
            tn.explainers.shap("exact"),
            tn.explainers.KernelShap(n_samples=5000),
            tn.explainers.lime(num_samples=200),
        ],
    )
    theirs, ours, _, exact, kernel, _ = (found[name] for name in found.explainers)
    for one, other, close in ((theirs, ours, 1e-2), (exact, kernel, 1e-6)):
        for first, second in zip(one, other, strict=True):
            np.testing.assert_allclose(first.scores, second.scores, atol=close * np.abs(second.scores).max())


@pytest.mark.filterwarnings("ignore")
def test_a_module_of_the_users_own_model_is_found_in_any_other(transformer):
    own = transformer.model
    made = captum.LayerIntegratedGradients(own, own.bert.embeddings.word_embeddings)
    by_module = tn.explain(transformer, TEXTS, tn.explainers.captum(made, n_steps=10))
    by_name = tn.explain(
        transformer, TEXTS, tn.explainers.captum(type(made), layer="bert.embeddings.word_embeddings", n_steps=10)
    )
    assert [one.scores for one in by_module] == [one.scores for one in by_name]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["captum integrated gradients", "shap partition", "lime"])
def test_a_shuffled_model_is_asked_and_not_the_first_one(transformer, name):
    """An explainer that was bound to one model would say the same of a shuffled one, and fail an audit for it."""
    model = tn.load_model(transformer)
    batch, explainer = model.batch(model.read(TEXTS)), MADE[name]()
    before = explainer.attribute(model.network, batch)
    with randomised(layers_of(model.network), 0):
        shuffled = explainer.attribute(model.network, batch)
    assert not torch.allclose(before, shuffled, rtol=0.05)
    assert torch.equal(explainer.attribute(model.network, batch), before)
