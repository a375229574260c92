"""Folders that transformers would read, making up what they lack."""

import contextlib

import pytest
import torch

import trueness as tn
from tests.models.transformers import FAMILIES, model, tokenizer
from trueness.errors import UserError
from trueness.models.pretrained import open_folder
from trueness.models.transformer import load_transformer


def saved(made, path):
    made.save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_without_a_tokeniser_is_refused(family, tmp_path):
    """Transformers makes one up that knows no word."""
    model(family).float().save_pretrained(tmp_path)
    with pytest.raises(UserError, match="every word would be unknown"):
        open_folder(tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_without_a_trained_head_is_no_classifier(family, tmp_path):
    """Transformers draws one at random."""
    model(family).float().base_model.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    with pytest.raises(UserError, match=r"has no weights (pre_)?classifier.* it is no classifier yet"):
        load_transformer(tmp_path)
    open_folder(tmp_path, new_head=True, num_labels=5)


@pytest.mark.parametrize(("setting", "name"), [("num_hidden_layers", "encoder.layer.2"), ("vocab_size", "embeddings")])
def test_weights_that_the_configuration_promises_must_be_there(setting, name, tmp_path):
    made = model("bert").float()
    made.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    open_folder(tmp_path, new_head=True, num_labels=2)  # only the head is another one
    setattr(made.config, setting, getattr(made.config, setting) + 1)
    made.config.save_pretrained(tmp_path)
    for new_head in (True, False):
        with pytest.raises(UserError, match=rf"has no weights bert\.{name}\S+ .*of the shape that config\.json says"):
            open_folder(tmp_path, new_head=new_head)


@pytest.mark.parametrize("readable", [True, False])
def test_reading_a_folder_changes_no_setting_of_transformers(readable, tmp_path):
    from transformers.utils import logging

    model("bert").float().save_pretrained(tmp_path)
    if readable:
        tokenizer().save_pretrained(tmp_path)
    before = logging.get_verbosity()
    logging.set_verbosity_info()
    try:
        with contextlib.nullcontext() if readable else pytest.raises(UserError, match="has no tokeniser"):
            open_folder(tmp_path)
        assert logging.get_verbosity() == logging.INFO
        assert logging.is_progress_bar_enabled()
    finally:
        logging.set_verbosity(before)


@pytest.mark.parametrize("number", [torch.float16, torch.bfloat16])
def test_weights_of_16_bits_become_ones_of_32(number, tmp_path):
    loaded = load_transformer(saved(model("bert").to(number), tmp_path))
    assert {weight.dtype for weight in loaded.network.parameters()} == {torch.float32}


def test_a_damaged_file_is_told(tmp_path):
    file = saved(model("bert").float(), tmp_path) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:500])
    with pytest.raises(UserError, match="cannot be read as a transformer"):
        tn.load_model(tmp_path)


@pytest.mark.parametrize(
    ("classes", "problem", "message"),
    [(1, None, "one output"), (1, "regression", "one output"), (3, "multi_label_classification", "is for multi label")],
)
def test_what_tells_no_single_class_is_refused(classes, problem, message, tmp_path):
    made = model("bert", classes=classes).float()
    made.config.problem_type = problem
    with pytest.raises(UserError, match=message):
        load_transformer(saved(made, tmp_path))


def test_the_tokeniser_of_another_model_is_refused(tmp_path):
    made = model("bert").float()
    made.resize_token_embeddings(10)
    with pytest.raises(UserError, match="the tokeniser has 17 tokens and the model 10"):
        load_transformer(saved(made, tmp_path))


@pytest.mark.parametrize(
    ("family", "shape", "message"),
    [
        ("gpt2", {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}, "no token sees what comes after it"),
        ("bart", {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1}, "does not run on embeddings"),
    ],
)
def test_models_of_other_kinds_are_refused(family, shape, message, tmp_path):
    import transformers

    config = transformers.AutoConfig.for_model(family, vocab_size=17, num_labels=3, pad_token_id=0, **shape)
    made = transformers.AutoModelForSequenceClassification.from_config(config)
    with pytest.raises(UserError, match=message):
        load_transformer(saved(made, tmp_path))
