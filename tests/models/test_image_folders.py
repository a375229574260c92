"""Folders of transformers that classify images: bounded before anything is built, and nothing in them made up."""

import json
import os
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

import trueness as tn
from trueness.errors import UserError


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A tiny ViT with random weights."""
    import transformers

    folder = tmp_path_factory.mktemp("vit")
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    torch.manual_seed(0)
    config = transformers.ViTConfig(**shape, image_size=16, patch_size=4, num_labels=2)
    transformers.ViTForImageClassification(config).save_pretrained(folder)
    settings = {"image_processor_type": "ViTImageProcessor", "size": {"height": 16, "width": 16}}
    settings |= {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "model")


def changed(folder, name, **settings):
    before = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps({**before, **settings}))
    return folder


def test_it_is_opened_as_it_is(folder):
    assert tn.load_model(folder).classes == ("LABEL_0", "LABEL_1")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_hidden_layers": 100_000}, "num_hidden_layers is 100000, but there are"),
        ({"num_hidden_layers": 3}, "has no weights vit.*they would be random"),
        ({"hidden_size": 10**7}, "hidden_size is 1e"),
        ({"num_labels": 1, "id2label": None, "label2id": None}, "has one output"),
        ({"problem_type": "regression"}, "is for regression"),
        ({"id2label": {"0": "a", "5": "b"}}, "names other classes than 0 to 1"),
        ({"auto_map": {"AutoConfig": "evil.Config"}}, "such code is never run"),
        ({"_attn_implementation": "some/kernel"}, "attention code from elsewhere"),
        ({"image_size": 32}, "has no weights|does not run on images of 16 by 16"),
        ({"num_channels": 1}, "has no weights"),
    ],
)
def test_configurations_that_do_not_fit_the_weights(settings, message, folder):
    with pytest.raises(UserError, match=message):
        tn.load_model(changed(folder, "config.json", **settings))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": {"height": "x", "width": 4}}, "processor makes images of 'x' by 4 pixels"),
        ({"size": {"height": 10**6, "width": 10**6}}, "whole numbers from 8 to 4096 are read"),
        ({"size": {"height": -5, "width": 4}}, "processor makes images of -5|cannot be read"),
        ({"size": {"height": 24, "width": 24}}, "does not run on images of 24 by 24 pixels"),
        ({"size": {}}, "does not say what size|cannot be read"),
        ({"image_mean": []}, r"image_mean of the image processor is (\[\]|\(\))"),
        ({"image_mean": None}, "image_mean of the image processor is None"),
        ({"image_mean": [0.5] * 4}, "image_mean of the image processor is"),
        ({"image_mean": "abc"}, "image_mean of the image processor is 'abc'"),
        ({"image_mean": [float("nan")] * 3}, "image_mean of the image processor is"),
        ({"image_std": [0, 0, 0]}, "image_std that is not above 0"),
        ({"auto_map": {"AutoImageProcessor": "evil.Processor"}}, "such code is never run"),
    ],
)
def test_processors_that_prepare_no_image(settings, message, folder):
    with pytest.raises(UserError, match=message):
        tn.load_model(changed(folder, "preprocessor_config.json", **settings))


def test_weights_that_are_missing_elsewhere_or_not_finite(folder, tmp_path):
    file = folder / "model.safetensors"
    weights = load_file(file)
    some = dict(list(weights.items())[3:])
    save_file(some, file, metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"has no weights .*they would be random"):
        tn.load_model(folder)
    save_file({name: one * float("nan") for name, one in weights.items()}, file, metadata={"format": "pt"})
    with pytest.raises(UserError, match="hold NaN"):
        tn.load_model(folder)
    save_file(weights, tmp_path / "elsewhere.safetensors", metadata={"format": "pt"})
    file.unlink()
    index = {"metadata": {}, "weight_map": dict.fromkeys(weights, "../elsewhere.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(UserError, match="no safetensors file of its folder"):
        tn.load_model(folder)
    (folder / "model.safetensors.index.json").unlink()
    with pytest.raises(UserError, match="has no safetensors file"):
        tn.load_model(folder)


def test_adapters_and_pipes(folder):
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(UserError, match="is an adapter"):
        tn.load_model(folder)
    (folder / "adapter_config.json").unlink()
    os.mkfifo(folder / "more.json")
    with pytest.raises(UserError, match="no ordinary file"):
        tn.load_model(folder)
