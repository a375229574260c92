"""Image classifiers in their folders: a family of somebody else's is given, never taken from a file."""

import json

import numpy as np
import pytest

import trueness as tn
from tests.command import trueness
from trueness.kinds import kind_of
from trueness.kinds.image.data.images import ImageDataset, Images
from trueness.kinds.image.models.families import IMAGE_MODELS, ImageFamily

MARKER = "import pathlib; pathlib.Path(__file__).with_suffix('.run').touch()\n"
NETWORK = '''
from torch import nn

def network(classes):
    """Two layers."""
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, classes))
'''


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    labels = np.arange(8) % 2
    splits = {name: Images(rng.integers(0, 255, (8, 16, 16, 3), dtype=np.uint8), labels) for name in ("train", "dev")}
    return ImageDataset("noise", ("a", "b"), splits)


@pytest.fixture
def folder(data, tmp_path):
    """A model of somebody else's family, whose code tells when it runs."""
    file = tmp_path / f"net_{tmp_path.name}.py"
    file.write_text(NETWORK)
    tn.train(f"{file}:network", data, recipe="image[epochs=1]").save(tmp_path / "model")
    file.write_text(MARKER + NETWORK)
    del IMAGE_MODELS._entries[f"{file.name}:network"]  # another process has never heard of it
    return tmp_path / "model", file


def test_its_family_is_given_and_no_code_is_looked_for_by_what_its_folder_says(folder, monkeypatch):
    model, file = folder
    config = json.loads((model / "config.json").read_text())
    monkeypatch.chdir(file.parent)
    for name in (config["family"], f"{file}:network", f"{file.stem}:network"):
        (model / "config.json").write_text(json.dumps({**config, "family": name}))
        with pytest.raises(
            tn.UserError, match=r"config.json names the family .*load_model\(.*, family='.*net_.*--family"
        ):
            tn.load_model(model)
        refused = trueness("audit", model, "photo-crops")
        assert refused.returncode == 2
        assert f"--family {name}" in refused.stderr
    assert not file.with_suffix(".run").exists()
    (model / "config.json").write_text(json.dumps(config))
    assert kind_of(tn.load_model(model, family=f"{file}:network")).name == "image"
    assert file.with_suffix(".run").exists()


def test_a_family_may_be_given_as_an_object(folder):
    from torch import nn

    def network(classes):
        return nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, classes))

    for family in (network, ImageFamily("mine", network)):
        assert tn.load_model(folder[0], family=family).classes == ("a", "b")


def test_what_a_store_says_is_not_imported_either(tmp_path, monkeypatch):
    """A record, a result and a model in a store name things; only what the user named is looked for."""
    from trueness.browser.runs import Run
    from trueness.engine import Store
    from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
    from trueness.plugins import told_by

    file = tmp_path / "evil.py"
    file.write_text(MARKER + "def method(model, batch, target):\n    return batch.mask.float()\n")
    monkeypatch.chdir(tmp_path)
    store = Store.open(tmp_path / "store", create=True)
    with pytest.raises(tn.UserError, match=r"names evil.py:method, which is code outside of trueness"):
        _ = Run(store, "0" * 40, {"study": {"kind": "evil.py:method"}}).study
    for name in ("evil.py:method", "blurred[evil.py:method]", f"{file}:method", "evil:method"):
        with told_by("A file"), pytest.raises(tn.UserError, match="run only if you name it yourself"):
            _ = TEXT_EXPLAINERS[name]
    assert not file.with_suffix(".run").exists()
    assert TEXT_EXPLAINERS["evil.py:method"].facts
    with told_by("A file"):  # the user named it before
        assert TEXT_EXPLAINERS["evil.py:method"].facts
