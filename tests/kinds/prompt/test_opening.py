"""Language models from folders, pairs and pipelines."""

import json
from types import SimpleNamespace

import pytest
import torch

from tests.kinds.prompt.models import CONTEXTS, EXAMPLE, QUESTION
from trueness.errors import UserError
from trueness.kinds.prompt.data.prompts import PromptExample
from trueness.kinds.prompt.models.opening import open_model
from trueness.kinds.prompt.models.recognising import recognises
from trueness.kinds.prompt.models.tiny import tiny_model
from trueness.models.network import inspecting
from trueness.models.refusals import check_suitable


@pytest.mark.parametrize("family", ["llama", "gpt2", "t5"])
def test_from_a_folder(family, tmp_path):
    pair = tiny_model(family=family)
    saved = open_model(pair).save(tmp_path / "model")
    assert recognises(saved)
    assert recognises(str(saved))
    opened = open_model(saved)
    assert opened.answered([PromptExample(QUESTION, CONTEXTS)]) == open_model(pair).answered(
        [PromptExample(QUESTION, CONTEXTS)]
    )
    logits = []
    for model in (opened, open_model(pair)):
        with inspecting(model.network):
            logits.append(model.network.logits(model.coded([EXAMPLE]).batch([0])))
    assert torch.allclose(*logits, atol=1e-5)


def test_pairs_and_pipelines():
    model, tokenizer = tiny_model()
    for given in ((model, tokenizer), SimpleNamespace(model=model, tokenizer=tokenizer)):
        assert recognises(given)
        check_suitable(given)
        assert open_model(given, labels=("yes", "no")).classes == ("yes", "no")
    with pytest.raises(UserError, match="lacks its tokeniser"):
        check_suitable(model)
    assert not recognises(lambda texts: texts)
    assert not recognises("nowhere")


def test_sixteen_bits_are_told():
    model, tokenizer = tiny_model()
    with pytest.warns(UserWarning, match=r"give model.float\(\)"):
        open_model((model.to(torch.bfloat16), tokenizer))


def test_refused_folders(tmp_path):
    model, tokenizer = tiny_model()
    with pytest.raises(UserError, match="no folder"):
        open_model(tmp_path / "nothing")
    saved = open_model((model, tokenizer)).save(tmp_path / "model")
    (saved / "model.safetensors").unlink()
    with pytest.raises(UserError, match="no safetensors"):
        open_model(saved)
    small = tiny_model(vocab_size=20)[0]
    small.save_pretrained(saved)
    with pytest.raises(UserError, match="do not belong together"):
        open_model(saved)


def test_a_broken_gguf_file(tmp_path):
    pytest.importorskip("gguf")
    (tmp_path / "model.gguf").write_bytes(b"GGUF but nothing else")
    assert recognises(tmp_path)
    assert recognises(tmp_path / "model.gguf")
    with pytest.raises(UserError, match="cannot be read as a language model"):
        open_model(tmp_path)


NAMES = {
    **{"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "model.layers": "blk"},
    **{f"self_attn.{one}_proj": f"attn_{one}" for one in "qkv"},
    **{"self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up"},
    **{"mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"},
}
"""What parts of a Llama are called in GGUF."""


def write_gguf(file, model, tokens, merges):
    """A Llama as other programs write it: queries and keys in their order of numbers, see llama.cpp."""
    import gguf

    config, made = model.config, gguf.GGUFWriter(str(file), "llama")
    for name, value in (
        ("block_count", config.num_hidden_layers),
        ("context_length", config.max_position_embeddings),
        ("embedding_length", config.hidden_size),
        ("feed_forward_length", config.intermediate_size),
        ("head_count", config.num_attention_heads),
        ("head_count_kv", config.num_key_value_heads),
        ("layer_norm_rms_eps", config.rms_norm_eps),
        ("rope_dimension_count", config.hidden_size // config.num_attention_heads),
        ("rope_freq_base", 10000.0),
        ("vocab_size", config.vocab_size),
        ("tokenizer_model", "gpt2"),
        ("token_list", tokens),
        ("token_types", [1] * len(tokens)),
        ("token_merges", merges),
        ("bos_token_id", 0),
        ("eos_token_id", 0),
    ):
        getattr(made, f"add_{name}")(value)
    for name, weight in model.state_dict().items():
        array = weight.numpy()
        for part, heads in (("q_proj", config.num_attention_heads), ("k_proj", config.num_key_value_heads)):
            if part in name:
                array = array.reshape(heads, 2, -1, array.shape[1]).swapaxes(1, 2).reshape(array.shape)
        for ours, theirs in NAMES.items():
            name = name.replace(ours, theirs)
        made.add_tensor(name, array.copy())
    made.write_header_to_file()
    made.write_kv_data_to_file()
    made.write_tensors_to_file()
    made.close()


def test_a_gguf_file(tmp_path, capfd):
    pytest.importorskip("gguf")
    pytest.importorskip("accelerate")
    from tokenizers import pre_tokenizers

    tokens = ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "th"]
    model, _ = tiny_model(vocab_size=len(tokens))
    write_gguf(tmp_path / "model.gguf", model, tokens, ["t h"])
    opened = open_model(tmp_path)
    ids = opened.tokenizer("the boat", return_tensors="pt")["input_ids"]
    assert ids.shape == (1, 7)
    with torch.no_grad():
        assert torch.allclose(opened.network.model(input_ids=ids).logits, model(input_ids=ids).logits, atol=1e-5)
    assert "GGUF" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("family", "setting"), [("llama", "num_hidden_layers"), ("gpt2", "n_layer"), ("t5", "num_decoder_layers")]
)
def test_a_configuration_of_far_more_layers_than_there_are_weights_takes_no_time(family, setting, tmp_path):
    saved = open_model(tiny_model(family=family)).save(tmp_path / "model")
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps({**config, setting: 100_000}))
    with pytest.raises(UserError, match=f"{setting} is 100000, but there are"):
        open_model(saved)
