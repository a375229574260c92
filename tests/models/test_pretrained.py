"""Folders that transformers would read, making up what they lack."""

import contextlib
import json
import os
import time
from pathlib import Path

import pytest
import torch

import trueness as tn
from tests.models.transformers import FAMILIES, model, tokenizer
from trueness.errors import UserError
from trueness.kinds.text.models.pretrained import open_folder
from trueness.kinds.text.models.transformer_files import load_transformer


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


def test_a_first_token_that_sees_only_itself_is_refused(tmp_path):
    import transformers

    made = model("bert").float()
    config = type(made.config)(**{**made.config.to_dict(), "is_decoder": True})
    decoder = transformers.AutoModelForSequenceClassification.from_config(config, attn_implementation="eager")
    with pytest.raises(UserError, match="no token sees what comes after it"):
        load_transformer(saved(decoder, tmp_path))


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
        ({"num_hidden_layers": 500_000}, "num_hidden_layers is 500000, but there are"),
        ({"vocab_size": 2**40}, "vocab_size is 1.09951e"),
        ({"hidden_size": "many"}, "cannot be read as a transformer"),
        ({"model_type": ["bert"]}, "cannot be read as a transformer"),
        ({"hidden_act": "nonsense"}, "cannot be read as a transformer"),
        ({"num_attention_heads": 0}, "cannot be read as a transformer"),
        ({"decoder_layers": 999_999}, "decoder_layers is 999999, but there are"),
        ({"num_hidden_groups": 900_000}, "num_hidden_groups is 900000, but there are"),
        ({"num_labels": 999_999, "id2label": None, "label2id": None}, "num_labels is of more classes than any tensor"),
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


@pytest.mark.parametrize("limit", [-5, 0, "x", float("nan"), [512], True])
def test_a_tokeniser_that_leaves_no_room_for_a_text_is_refused(limit, tmp_path):
    folder = saved(model("bert").float(), tmp_path)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": limit}))
    with pytest.raises(UserError, match=r"model_max_length is .*no room|cannot be read as a transformer"):
        load_transformer(folder)


def changed_tokeniser(folder, **parts):
    plain = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps({**plain, **parts}))


def template(*items):
    special = {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}
    return {"type": "TemplateProcessing", "single": items, "pair": items, "special_tokens": {"[CLS]": special}}


CLS, TEXT = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"post_processor": template(*[CLS] * 40, TEXT)}, "adds 40 tokens to a text, and 64 are read"),
        ({"post_processor": template(*[CLS] * 900, TEXT)}, "tokens to a text|cannot be read as a transformer"),
        ({"normalizer": {"type": "Replace", "pattern": {"Regex": "."}, "content": ""}}, "leaves nothing of a text"),
    ],
)
def test_a_tokeniser_that_leaves_no_text_is_refused(parts, message, tmp_path):
    folder = saved(model("bert").float(), tmp_path)
    changed_tokeniser(folder, **parts)
    with pytest.raises(UserError, match=message):
        load_transformer(folder)


class PanicException(BaseException):
    """As libraries written in Rust end."""


def test_a_panic_over_a_text_is_a_sentence(tmp_path, monkeypatch):
    loaded = load_transformer(saved(model("bert").float(), tmp_path))

    def panic(*_, **__):
        raise PanicException("index out of bounds")

    monkeypatch.setattr(type(loaded.coder.tokenizer), "__call__", panic)
    with pytest.raises(UserError, match=r"cannot be read by the model's tokeniser \(index out of bounds\)"):
        loaded.coder.code(loaded.read(["a good film"])[0])


@pytest.mark.parametrize("name", ["../other/model.safetensors", "/etc/passwd", 7, None, "weights.bin"])
def test_an_index_that_names_files_elsewhere_is_refused(name, tmp_path):
    folder = saved(model("bert").float(), tmp_path)
    index = {"metadata": {}, "weight_map": {"bert.embeddings.word_embeddings.weight": name}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(UserError, match="which is no safetensors file of its folder"):
        load_transformer(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "vocab.txt"])
@pytest.mark.parametrize("load", [load_transformer, tn.load_model])
def test_pipes_and_devices_in_a_folder_are_refused(name, load, tmp_path):
    folder = saved(model("bert").float(), tmp_path)
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        (folder / name).unlink(missing_ok=True)
        make(folder / name)
        with pytest.raises(UserError, match=f"{name} is no ordinary file|no config.json"):
            load(folder)


def test_a_folder_of_links_to_files_is_read(tmp_path):
    """As the cache of the hub is made."""
    folder, linked = saved(model("bert").float(), tmp_path / "real"), tmp_path / "linked"
    linked.mkdir()
    for item in folder.iterdir():
        (linked / item.name).symlink_to(item)
    (tmp_path / "given").symlink_to(linked)
    assert load_transformer(tmp_path / "given").classes


@pytest.mark.parametrize(("size", "most"), [(20, 16), (200, 64)])
def test_settings_of_hundreds_of_megabytes_are_not_read(size, most, tmp_path, monkeypatch):
    folder = saved(model("bert").float(), tmp_path)
    with (folder / "config.json").open("r+b") as file:
        file.truncate(size << 20)
    with pytest.raises(UserError, match=f"is larger than {most} MiB"):
        load_transformer(folder)
    monkeypatch.setattr("json.loads", lambda *_, **__: pytest.fail("it was read"))
    if size > 32:
        with pytest.raises(UserError, match=r"config.json is larger than 32 MiB"):
            tn.load_model(folder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="without fork nothing is rehearsed")
def test_a_tokeniser_that_grows_a_text_beyond_measure_is_ended(tmp_path, monkeypatch):
    folder = saved(model("bert").float(), tmp_path)
    doubling = {"type": "Replace", "pattern": {"String": "o"}, "content": "oo"}
    changed_tokeniser(folder, normalizer={"type": "Sequence", "normalizers": [doubling] * 40})
    monkeypatch.setattr("trueness.rehearsal.rehearse.__kwdefaults__", {"seconds": 5.0, "memory": 1 << 30})
    begin = time.monotonic()
    with pytest.raises(UserError, match=r"is not read within 5 s|takes more than 1 GiB of memory"):
        load_transformer(folder)
    assert time.monotonic() - begin < 20


def test_a_decoder_that_cannot_run_is_refused_when_it_is_opened(tmp_path):
    import transformers

    shape = {"vocab_size": len(tokenizer()), "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}
    config = transformers.GPT2Config(**shape, num_labels=2, pad_token_id=0)
    folder = saved(transformers.GPT2ForSequenceClassification(config), tmp_path)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, "n_head": -1}))
    with pytest.raises(UserError, match="does not run on embeddings"):
        load_transformer(folder)


@pytest.mark.parametrize("names", [{"0": "a", "5": "b", "6": "c"}, {"1": "a", "2": "b", "3": "c"}])
def test_classes_whose_numbers_have_gaps_are_refused(names, tmp_path):
    folder = saved(model("bert").float(), tmp_path)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, "id2label": names}))
    with pytest.raises(UserError, match=r"id2label .* names other classes than 0 to 2"):
        load_transformer(folder)


def test_a_folder_whose_name_is_too_long():
    with pytest.raises(UserError, match="File name too long"):
        open_folder(Path("a" * 300))
