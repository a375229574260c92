import warnings

import numpy as np
import pytest
import torch

import trueness as tn
from tests.explainers.exceptions import check_restored
from tests.models.transformers import FAMILIES, model, tokenizer
from trueness.errors import UserError
from trueness.explainers.paths import IntegratedGradients
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.transformer import Subwords, Transformer, by_word
from trueness.kinds.text.models.transformer_files import load_transformer

EXAMPLES = [
    TextExample(("a", "goodness", "film"), 1),
    TextExample(("the", "plots", "dully", "bad", "scenes"), 0),
    TextExample(("greatness",), 2),
]
PAIRS = [
    TextExample(("good", "films"), 0, ("a", "plot")),
    TextExample(("bad", "scene", "the"), 1, ("dull", "scenes", "film")),
]
UNSIGNED = {"attention", "attention-rollout", "attention-flow", "gradient", "gradient@madsen2022", "smooth-gradient"}
UNSIGNED |= {"leave-one-out@jw2019", "integrated-gradients@madsen2022"}
EXPLAINERS = [name for name in TEXT_EXPLAINERS if name not in ("gradient@jw2019", "rationale")]


def batch_of(examples, **options):
    return EncodedSplit(examples, Subwords(tokenizer(), 64, **options)).batch(range(len(examples)))


def test_words_become_parts_with_special_tokens_outside_the_mask():
    batch = batch_of(EXAMPLES[:1])
    assert tokenizer().convert_ids_to_tokens(batch.tokens[0].tolist()) == [
        "[CLS]",
        "a",
        "good",
        "##ness",
        "film",
        "[SEP]",
    ]
    assert batch.mask[0].tolist() == [False, True, True, True, True, False]
    assert batch_of(EXAMPLES[:1], explain_special=True).mask.all()
    assert Subwords(tokenizer()).code(EXAMPLES[0]).words == [-1, 0, 1, 1, 2, -1]


def test_unknown_words_are_explained_like_others():
    """Tokenisers count the unknown token among the special ones."""
    example = TextExample(("a", "xyzzy", "film"), 1)
    assert batch_of([example]).mask[0].tolist() == [False, True, True, True, False]
    network = Transformer(model("bert"))
    scores = TEXT_EXPLAINERS["leave-one-out-mask"].attribute(network, batch_of([example]))
    assert (scores[0, 1:4] != 0).all()


def test_pairs_are_one_sequence():
    batch = batch_of(PAIRS)
    assert batch.other is None
    assert batch.text.types[0, :8].tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert int(batch.mask[0].sum()) == 5
    assert int(batch_of(PAIRS, explain_other=False).mask[0].sum()) == 3


def test_the_scores_of_parts_become_scores_of_words():
    scores, words = np.array([9.0, 1.0, -3.0, 2.0, 0.5, 9.0]), [-1, 0, 1, 1, 2, -1]
    assert by_word(scores, words, 4).tolist() == [1.0, -1.0, 0.5, 0.0]
    assert by_word(scores, words, 3, "max").tolist() == [1.0, -3.0, 0.5]
    assert by_word(scores, words, 3, "first").tolist() == [1.0, -3.0, 0.5]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("examples", [EXAMPLES, PAIRS], ids=["texts", "pairs"])
def test_it_predicts_what_the_transformer_predicts(family, examples):
    made = model(family)
    network, batch = Transformer(made), batch_of(examples)
    for row, example in enumerate(examples):
        plain = tokenizer()(
            list(example.tokens),
            None if example.tokens_b is None else list(example.tokens_b),
            is_split_into_words=True,
            return_tensors="pt",
        )
        if family in ("distilbert", "roberta"):
            plain.pop("token_type_ids", None)
        with torch.no_grad():
            expected = made(**plain).logits[0]
            ours = network(batch)
        assert torch.allclose(ours.logits[row], expected, atol=1e-9), "padding changes nothing"
        assert ours.attention[row].sum() == pytest.approx(1.0)
        assert (ours.attention[~batch.mask] == 0).all()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", EXPLAINERS)
def test_the_contract(name, family):
    network, explainer = Transformer(model(family)), TEXT_EXPLAINERS[name]
    for some in (EXAMPLES, PAIRS):
        batch = batch_of(some)
        scores = explainer.attribute(network, batch, 1)
        assert scores.shape == batch.mask.shape
        assert not scores.requires_grad
        assert torch.isfinite(scores).all()
        assert (scores[~batch.mask] == 0).all()
        assert name not in UNSIGNED or (scores >= 0).all()
        assert torch.equal(scores, explainer.attribute(network, batch, 1)), "the same again"
        for row, example in enumerate(some):  # padding and company change nothing
            alone = explainer.attribute(network, batch_of([example]), 1)
            assert torch.allclose(alone[0], scores[row, : alone.shape[1]], atol=1e-7)
    for target, chosen in (("gold", batch.labels), ("predicted", network.eval()(batch).logits.argmax(dim=-1))):
        alone = explainer.attribute(network, batch.rows(torch.tensor([0])), int(chosen[0]))
        assert torch.allclose(explainer.attribute(network, batch, target)[0], alone[0], atol=1e-7), target
    network.train()
    explainer.attribute(network, batch)
    assert network.training
    check_restored(network, network.model, lambda: explainer.attribute(network, batch, 1))


def test_dropout_is_off_while_explaining():
    network, batch = Transformer(model("bert")).train(), batch_of(EXAMPLES)
    first = TEXT_EXPLAINERS["gradient"].attribute(network, batch, 1)
    assert torch.equal(first, TEXT_EXPLAINERS["gradient"].attribute(network, batch, 1))


@pytest.mark.parametrize("family", ["bert", "electra", "roberta"])
def test_a_decoder_sees_nothing_that_comes_later(family):
    made = model(family)
    made.config.is_decoder = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is meant for generation
        made = type(made)._from_config(made.config, attn_implementation="eager").double().eval()
    network, batch = Transformer(made), batch_of(EXAMPLES)
    assert not network.recorded
    for layer in network.attentions(batch)[1]:
        assert layer.triu(diagonal=1).abs().max() == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_integrated_gradients_are_complete(family):
    error = IntegratedGradients(n_steps=200).completeness_error(Transformer(model(family)), batch_of(EXAMPLES), 1)
    assert error.max() < 0.05


def test_what_a_transformer_cannot_do_is_said():
    with pytest.raises(UserError, match=r"gradient@jw2019 .* a transformer has many"):
        TEXT_EXPLAINERS["gradient@jw2019"].attribute(Transformer(model("bert")), batch_of(EXAMPLES))
    with pytest.raises(UserError, match="none can be given"):
        Transformer(model("bert"))(batch_of(EXAMPLES), attention=torch.ones(3, 8))


def test_a_saved_folder_is_read_and_others_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"no config\.json"):
        load_transformer(tmp_path)
    made = model("distilbert").float()
    made.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    loaded = load_transformer(tmp_path)
    assert loaded.coder.longest == 64
    batch = loaded.batch(EXAMPLES)
    with torch.no_grad():
        expected = Transformer(made)(batch).logits
        assert torch.allclose(loaded.network(batch).logits, expected, atol=1e-5)
    (found,) = tn.explain(tn.load_model(tmp_path), ["a goodness odd film"], "lime")
    assert found.tokens == ("a", "goodness", "odd", "film")
    assert found.known == (True, True, False, True)
    assert found.note == "a word's score is the sum of its parts'"
    assert found.target in ("LABEL_0", "LABEL_1", "LABEL_2")
    (long,) = tn.explain(tn.load_model(tmp_path), ["good film " * 60], "gradient")
    assert "58 words were cut off" in long.note
    with pytest.raises(UserError, match=r"one attention of its own.*the attention of transformer is: layers"):
        tn.adversarial_attention(tn.load_model(tmp_path), ["good film"])
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(UserError, match="no safetensors"):
        load_transformer(tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_rollout_is_the_first_row_of_the_product_of_all_layers(family):
    network, batch = Transformer(model(family)), batch_of(EXAMPLES)
    with torch.no_grad():
        _, layers = network.attentions(batch)
    ours = TEXT_EXPLAINERS["attention-rollout"].attribute(network, batch)
    for row in range(len(batch)):
        product = torch.eye(batch.tokens.shape[1], dtype=torch.float64)
        for attention in layers:  # the whole matrices, as Abnar and Zuidema write them
            mixed = attention[row].mean(dim=0) + torch.eye(len(product), dtype=torch.float64)
            product = (mixed / mixed.sum(dim=-1, keepdim=True)) @ product
        assert torch.allclose(ours[row], product[0] * batch.mask[row], atol=1e-9)


def test_gradient_times_attention_depends_on_the_target_and_sums_to_the_slope():
    """Scaling the first row of the last attention by 1 + h changes the logit by h times the sum of all scores."""
    network = Transformer(model("bert"))
    batch = batch_of(EXAMPLES, explain_special=True)
    scores = [TEXT_EXPLAINERS["gradient-x-attention"].attribute(network, batch, target) for target in (0, 1)]
    assert not torch.allclose(scores[0], scores[1])
    layer = network.model.bert.encoder.layer[-1].attention.self

    def logits(h):
        def scaled(module, inputs, output):
            # The mixture of values of the first token is linear in its attention.
            context = output[0].clone()
            context[:, 0] = context[:, 0] * (1 + h)
            return (context, *output[1:])

        hook = layer.register_forward_hook(scaled)
        with torch.no_grad():
            found = network(batch).logits
        hook.remove()
        return found

    slope = (logits(1e-6) - logits(-1e-6)) / 2e-6
    heads = network.model.config.num_attention_heads
    for target in (0, 1):
        assert torch.allclose(scores[target].sum(-1) * heads, slope[:, target], atol=1e-5)


def test_attention_of_one_layer_and_head():
    network, batch = Transformer(model("bert")), batch_of(EXAMPLES)
    with torch.no_grad():
        _, layers = network.attentions(batch)
    whole = TEXT_EXPLAINERS["attention[2]"].attribute(network, batch)
    assert torch.allclose(whole, layers[1][:, :, 0].mean(1) * batch.mask)
    head = TEXT_EXPLAINERS["attention[1,2]"].attribute(network, batch)
    assert torch.allclose(head, layers[0][:, 1, 0] * batch.mask)
    assert "attention[1,2]" in TEXT_EXPLAINERS
    for name, message in (("attention[3]", "layers 1 to 2"), ("attention[1,0]", "heads 1 to 2")):
        with pytest.raises(UserError, match=message):
            TEXT_EXPLAINERS[name].attribute(network, batch)
