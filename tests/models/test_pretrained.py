"""Folders that transformers would read, making up what they lack."""

import contextlib
import json
from pathlib import Path

import pytest
import torch

import trueness as tn
from tests.models.transformers import FAMILIES, model, tokenizer
from trueness.errors import UserError
from trueness.kinds.text.models.pretrained import open_folder
from trueness.kinds.text.models.transformer import load_transformer


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


CODE = """
import pathlib
pathlib.Path({mark!r}).write_text("run")
from transformers import *
class Config(BertConfig): model_type = "hostile"
class Tokenizer(PreTrainedTokenizerFast): pass
class Model(BertForSequenceClassification): config_class = Config
"""


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize("known", [True, False])
def test_code_of_the_folder_never_runs(name, known, tmp_path, monkeypatch):
    """Neither where transformers would ask, and be answered yes, nor where it would not."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    folder, mark = saved(model("bert").float(), tmp_path / "model"), tmp_path / "mark"
    (folder / "hostile.py").write_text(CODE.format(mark=str(mark)))
    settings = json.loads((folder / name).read_text())
    names = {"AutoConfig": "Config", "AutoModelForSequenceClassification": "Model"}
    settings["auto_map"] = {auto: f"hostile.{own}" for auto, own in names.items()}
    settings["auto_map"]["AutoTokenizer"] = [None, "hostile.Tokenizer"]
    if not known:
        settings |= {"model_type": "hostile", "tokenizer_class": "Tokenizer"}
    (folder / name).write_text(json.dumps(settings))
    for load in (tn.load_model, load_transformer, lambda path: open_folder(path, new_head=True, num_labels=2)):
        with pytest.raises(UserError, match=rf"{name} has an auto_map: .*such code is never run"):
            load(folder)
    assert not mark.exists()


def test_attention_code_and_adapters_from_elsewhere_are_refused(tmp_path):
    folder = saved(model("bert").float(), tmp_path)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, "text": {"_attn_implementation": "some/kernel"}}))
    with pytest.raises(UserError, match="attention code from elsewhere"):
        open_folder(folder)
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "elsewhere"}')
    with pytest.raises(UserError, match="is an adapter to another model"):
        open_folder(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(value, tmp_path):
    made = model("bert").float()
    with torch.no_grad():
        made.bert.encoder.layer[1].output.dense.weight[0, 0] = value
    with pytest.raises(UserError, match=r"the weights bert\.encoder\.layer\.1\.output\.dense\.weight hold NaN"):
        load_transformer(saved(made, tmp_path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_labels": 10**9, "id2label": None, "label2id": None}, "num_labels is 1e"),
        ({"hidden_size": 500_000}, "describes .* weights, but the folder holds"),
        ({"num_hidden_layers": 500_000}, "says 500000 layers"),
        ({"vocab_size": 2**40}, "vocab_size is 1.09951e"),
        ({"hidden_size": "many"}, "cannot be read as a transformer"),
        ({"model_type": ["bert"]}, "cannot be read as a transformer"),
        ({"hidden_act": "nonsense"}, "cannot be read as a transformer"),
        ({"num_attention_heads": 0}, "cannot be read as a transformer"),
    ],
)
def test_a_hostile_configuration_is_told_and_takes_no_memory(change, message, tmp_path):
    folder = saved(model("bert").float(), tmp_path)
    settings = {**json.loads((folder / "config.json").read_text()), **change}
    (folder / "config.json").write_text(
        json.dumps({key: value for key, value in settings.items() if value is not None})
    )
    with pytest.raises(UserError, match=message):
        load_transformer(folder)


@pytest.mark.parametrize("content", [b"[" * 5000, b"[]", b"{", b"\xff"])
@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "tokenizer.json"])
def test_files_of_other_content_are_told(name, content, tmp_path):
    folder = saved(model("bert").float(), tmp_path)
    (folder / name).write_bytes(content)
    with pytest.raises(UserError, match=str(folder)):
        load_transformer(folder)


def test_a_folder_whose_name_is_too_long():
    with pytest.raises(UserError, match="File name too long"):
        open_folder(Path("a" * 300))
