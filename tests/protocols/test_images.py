"""The protocols of texts on images: the same functions, which do not ask what they are given."""

import numpy as np
import pytest
import torch

import trueness as tn
from trueness.api.explaining import looked_at
from trueness.errors import UserError
from trueness.kinds.image.data.batches import ImageSplit
from trueness.kinds.image.data.datasets import photo_crops
from trueness.kinds.image.data.images import ImageDataset, Images
from trueness.kinds.image.explainers.catalogue import IMAGE_EXPLAINERS
from trueness.protocols.randomisation import randomisation
from trueness.protocols.roar.hiding import Amount, hide
from trueness.protocols.roar.step import everything


@pytest.fixture(scope="module")
def squares():
    """Images with noise; class 1 has a bright square in the upper left corner, which is all that tells."""
    rng = np.random.default_rng(0)
    splits = {}
    for name, size in (("train", 160), ("dev", 40), ("test", 40)):
        pixels, labels = rng.integers(60, 140, (size, 16, 16, 3), dtype=np.uint8), np.arange(size) % 2
        pixels[labels == 1, 2:6, 2:6] = 230
        splits[name] = Images(pixels, labels.astype(np.int64))
    return ImageDataset("squares", ("plain", "square"), splits)


@pytest.fixture(scope="module")
def model(squares):
    return tn.train("small-cnn", squares, recipe="image[epochs=8, batch_size=32, learning_rate=0.01]")


def test_a_model_is_trained_saved_and_loaded(model, squares, tmp_path):
    assert tn.evaluate(model, squares)["accuracy"] > 0.9
    again = tn.load_model(model.save(tmp_path / "model"))
    some = squares["test"].pick([0, 1])
    maps = [tn.explain(one, some, "gradient").scores for one in (model, again)]
    assert np.array_equal(*maps)
    assert maps[0].shape == (2, 16, 16)
    (tmp_path / "model" / "weights.safetensors").write_bytes(b"broken")
    with pytest.raises(UserError, match=r"weights\.safetensors is missing or unreadable"):
        tn.load_model(tmp_path / "model")


def test_agreement_and_hiding_cost_on_images(model, squares):
    names = ["gradient", "integrated-gradients[n_steps=10]", "random[seed=1]"]
    agreed = tn.agreement(model, squares, names, instances=20)
    assert {score.dataset for score in agreed.scores} == {"squares"}
    found = tn.faithfulness(model, squares, [*names, "occlusion"], instances=30)
    cost = {score.method: score for score in found.scores if score.quantity == "cost of hiding"}
    assert cost["occlusion"].value > 0.2
    assert cost["random[seed=1]"].low < 0 < cost["random[seed=1]"].high
    with pytest.raises(UserError, match="A model of images needs images, not texts"):
        tn.agreement(model, ["a text", "another"])


def test_an_edge_detector_fails_the_randomisation_trial(model, squares):
    split = model.coded(squares["test"].pick(range(20)))
    for name, depends in (("gradient", True), ("edges", False)):
        table = randomisation(model.network, split, IMAGE_EXPLAINERS[name], orders=["all at once"])
        assert table["output change"].mean() > 0.01
        fall = float((table["ceiling"] - table["similarity"]).mean())
        assert (fall > 0.25) if depends else fall == pytest.approx(0), name
    smooth = randomisation(model.network, split, IMAGE_EXPLAINERS["gradient"], orders=["all at once"], smooth=2)
    assert smooth["similarity"].notna().all()


def test_what_is_hidden_next_is_what_is_important(model, squares):
    split = ImageSplit(squares["test"].pick(range(10)), cell=4)
    method = IMAGE_EXPLAINERS["occlusion"]
    nothing = torch.zeros(split.tokens, dtype=torch.bool)
    (found,) = hide(model.network, method, split, nothing, [Amount(2, "tokens")], target="gold")
    assert found.view(10, -1).sum(dim=1).tolist() == [2] * 10
    scores = method.attribute(model.network, split.batch(range(10)), "gold").abs()
    assert torch.equal(found.view(10, -1), scores >= scores.sort(dim=1, descending=True).values[:, 1:2])
    shown = split.hidden(found).batch(range(10)).pixels
    where = found.view(10, 4, 4).repeat_interleave(4, 1).repeat_interleave(4, 2)
    assert torch.allclose(shown.permute(0, 2, 3, 1)[where], split.batch([0]).blank)
    assert everything("test", split).all()
    outline = split.outline(found).batch(range(10)).pixels
    assert torch.equal(outline[:, 0] == 1, where)


@pytest.mark.slow
def test_recursive_roar_follows_images_and_its_guard_finds_the_leak(squares):
    small = ImageDataset("squares", squares.classes, {name: squares[name] for name in ("train", "test")})
    recipe = "image[epochs=3, batch_size=32, learning_rate=0.02]"
    found = tn.recursive_roar("small-cnn", small, ["edges"], seeds=3, steps=[0.1], recipe=recipe)
    assert set(found.records["method"]) >= {"edges", "random", "nothing hidden", "all hidden"}
    # Edges of the square are hidden in its class alone: the mask tells the label.
    masks = found.records[found.records["method"] == "edges"]["mask-only"]
    assert masks.mean() > 0.8


def test_both_kinds_of_split_answer_the_same_questions():
    from trueness.data.inputs import Split
    from trueness.kinds.text.data.batches import EncodedSplit

    asked = {name for name in vars(Split) if not name.startswith("_")} | {"__len__"}
    for kind in (EncodedSplit, ImageSplit):
        assert asked <= {*dir(kind), "device", "labels"}, kind


def test_a_dry_run_of_a_folder_of_images(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    from PIL import Image

    data = photo_crops(16, train=40, dev=2, test=2)
    for row, (pixels, label) in enumerate(zip(data["train"].pixels, data["train"].labels, strict=True)):
        place = tmp_path / "data" / data.classes[label]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / f"{row}.png")
    with ThreadPoolExecutor(1) as executor:
        run = tn.dry_run(
            tmp_path / "data",
            store=tmp_path / "store",
            executor=executor,
            size=16,
            seeds=1,
            manipulations=["brightness"],
            explainers=["gradient", "random"],
            instances=4,
            examples=0,
            training={"epochs": 1, "batch_size": 16},
        )
    assert {score.quantity for score in run.scores} >= {"accuracy"}
    assert run.study.kind == "ground-truth-images"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raising", r"nets.py:raising failed, nets.py line 5: ValueError: no such thing\."),
        ("Forward", r"nets.py:Forward failed, nets.py line 10: RuntimeError: .*shapes"),
        ("fixed", r"nets.py:fixed failed: RuntimeError: .*shapes"),
        ("nothing", "nets.py:nothing makes a network without weights to train"),
        ("Two", "nets.py:Two failed: TypeError: .*missing 1 required"),
    ],
)
def test_a_mistake_in_a_network_of_ones_own_is_told_with_its_line(name, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").write_text(
        "from torch import nn\n\n"
        "def raising(classes):\n"
        "    # a comment\n"
        "    raise ValueError('no such thing')\n"
        "class Forward(nn.Module):\n"
        "    def __init__(self, classes):\n"
        "        super().__init__(); self.linear = nn.Linear(3, classes)\n"
        "    def forward(self, images):\n"
        "        return self.linear(images.mean((2, 3))[:, :2])\n"
        "def fixed(classes): return nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, classes))\n"
        "def nothing(classes): return nn.Flatten()\n"
        "class Two(nn.Module):\n"
        "    def __init__(self, classes, other): super().__init__()\n"
    )
    with pytest.raises(UserError, match=said):
        tn.train(f"nets.py:{name}", "photo-crops", size=24)


def test_maps_of_a_whole_dataset_are_of_what_is_looked_at(squares):
    model = tn.train("small-cnn", squares, recipe="image[epochs=1]")
    maps = tn.explain(model, squares, "gradient").scores
    assert np.array_equal(maps, tn.explain(model, squares.default_split(), "gradient").scores)
    turned = ImageDataset(
        "turned", squares.classes[::-1], {"test": Images(squares["test"].pixels, 1 - squares["test"].labels)}
    )
    gold = tn.explain(model, squares, "gradient", target="gold").scores
    assert np.array_equal(gold, tn.explain(model, turned, "gradient", target="gold").scores)
    assert tn.evaluate(model, turned) == tn.evaluate(model, squares)
    coded, *_ = looked_at(model, turned, None, 12, gold=True)
    assert coded.labels.tolist() == looked_at(model, squares, None, 12, gold=True)[0].labels.tolist()
    others = ImageDataset("others", ("cat", "dog"), turned.splits)
    with pytest.raises(UserError, match="The labels are cat, dog"):
        tn.explain(model, others, "gradient", target="gold")
    with pytest.raises(UserError, match="images need the shape"):
        tn.explain(model, [1])
    with pytest.raises(UserError, match="There is no model"):
        tn.explain("folder", squares)
    with pytest.raises(UserError, match="int"):
        tn.recursive_roar("small-cnn", 3, ["edges"])
    with pytest.raises(UserError, match="by its address: name it"):
        tn.audit(model, squares, family=len)
    with pytest.raises(UserError, match="list holds no images"):
        tn.audit(model, ["text"])
