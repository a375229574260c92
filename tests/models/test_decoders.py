"""Decoders classify by their last token, encoder-decoders by numbers: what each predicts is what transformers says."""

import numpy as np
import pytest
import torch

import trueness as tn
from tests.models.transformers import tokenizer

transformers = pytest.importorskip("transformers")
SMALL = {"vocab_size": len(tokenizer()), "num_labels": 2, "pad_token_id": 0}
TEXTS = ["a good film", "bad", "the dull plot scene film good"]


def gpt():
    config = transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=64, bos_token_id=2, **SMALL)
    return transformers.GPT2ForSequenceClassification(config)


def llama():
    shape = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    return transformers.LlamaForSequenceClassification(transformers.LlamaConfig(**shape, **SMALL))


def t5():
    shape = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0}
    return transformers.T5ForSequenceClassification(transformers.T5Config(**shape, eos_token_id=3, **SMALL))


def made(make):
    torch.manual_seed(0)
    network = make().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.mul_(6)
    return network, tn.load_model((network, tokenizer()))


@pytest.mark.parametrize("make", [gpt, llama, t5])
def test_each_text_is_predicted_as_alone_and_as_the_library_says(make):
    network, model = made(make)
    said = model.network(model.batch(model.read(TEXTS))).logits
    for row, text in enumerate(TEXTS):
        inputs = tokenizer()(text, return_tensors="pt")
        inputs.pop("token_type_ids", None)
        with torch.no_grad():
            assert torch.allclose(network(**inputs).logits[0], said[row], atol=1e-4)
    assert network.config.pad_token_id == 0


@pytest.mark.parametrize("make", [gpt, llama])
def test_gradients_of_a_decoder_are_those_of_its_embeddings(make):
    _, model = made(make)
    (found,) = tn.explain(model, ["a good film"], "input-x-gradient")
    (complete,) = tn.explain(model, ["a good film"], "integrated-gradients")
    assert np.isfinite(found.scores).all()
    assert np.abs(complete.scores).sum() > 0
    with pytest.raises(tn.Unsupported):
        tn.explain(model, ["a good film"], "attention")


def test_an_encoder_decoder_is_explained_by_hiding_words():
    _, model = made(t5)
    (found,) = tn.explain(model, ["a good film"], "leave-one-out")
    assert np.abs(found.scores).sum() > 0
    with pytest.raises(tn.Unsupported):
        tn.explain(model, ["a good film"], "gradient")


def test_a_decoder_is_saved_and_opened(tmp_path):
    _, model = made(llama)
    again = tn.load_model(model.save(tmp_path / "llama"))
    first, second = (one.network(one.batch(one.read(TEXTS))).logits for one in (model, again))
    assert torch.allclose(first, second, atol=1e-5)
