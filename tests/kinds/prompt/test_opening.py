"""Language models from folders, pairs and pipelines."""

from types import SimpleNamespace

import pytest
import torch

from tests.kinds.prompt.models import CONTEXTS, EXAMPLE, QUESTION
from trueness.errors import UserError
from trueness.kinds.prompt.data.prompts import PromptExample
from trueness.kinds.prompt.models.opening import open_model, recognises
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
