import contextlib
import json
import shutil
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from trueness.errors import UserError
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.dataset import prepare
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.models.attentive import AttentiveClassifier
from trueness.kinds.text.models.families import train, train_many
from trueness.kinds.text.models.opening import load_model
from trueness.kinds.text.models.training import attentive_config
from trueness.models import loop as loops
from trueness.models import training
from trueness.models.cuda_graphs import CrossEntropy, Stepper
from trueness.models.evaluation import evaluate, predict, tokens_at_once
from trueness.models.recipes import RECIPES, Recipe

SMALL = {"embedding": 8, "hidden": 8}
QUICK = Recipe(epochs=4, batch_size=16, learning_rate=0.02)


def corpus(n=160, pairs=False):
    """One word decides: `good` or `bad` among filler."""
    rng = np.random.default_rng(0)
    raw = {}
    for split, size in (("train", n), ("dev", 60), ("test", 60)):
        raw[split] = []
        for index in range(size):
            words = rng.choice(["x", "y", "z"], rng.integers(3, 9)).tolist()
            words[rng.integers(len(words))] = ("bad", "good")[index % 2]
            raw[split].append(RawExample(" ".join(words), index % 2, "a question" if pairs else None))
    return prepare("toy", raw, Preparation())


DATA = corpus()


def weights(model):
    return {name: tensor.clone() for name, tensor in model.network.state_dict().items()}


@pytest.mark.parametrize("name", ["bilstm-additive", "cnn-dot", "average-additive", "average-uniform"])
def test_models_learn(name):
    model = train(name, DATA, recipe=QUICK, **SMALL)
    test = evaluate(model.network, EncodedSplit(DATA["test"], DATA.vocabulary), 2)
    assert test["accuracy"] > 0.95
    assert len(model.history) == 4


@pytest.mark.parametrize("head", ["query", "concat"])
def test_pair_models_learn(head):
    data = corpus(pairs=True)
    model = train("bilstm-additive", data, recipe=replace(QUICK, epochs=6, shape={"head": head}), **SMALL)
    assert evaluate(model.network, EncodedSplit(data["test"], data.vocabulary), 2)["accuracy"] > 0.9


def test_the_same_seed_gives_the_same_bytes_and_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    first, second = (train("bilstm-additive", DATA, recipe=replace(QUICK, epochs=2), seed=3, **SMALL) for _ in "ab")
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(a, weights(second)[name]) for name, a in weights(first).items())
    other = train("bilstm-additive", DATA, recipe=replace(QUICK, epochs=2), seed=4, **SMALL)
    assert not torch.equal(weights(first)["output.weight"], weights(other)["output.weight"])


@pytest.mark.parametrize("stop_after", [1, 3])
def test_an_interrupted_training_resumes_to_the_same_weights(tmp_path, monkeypatch, stop_after):
    undisturbed = train("bilstm-additive", DATA, recipe=QUICK, **SMALL)
    keep = loops.Checkpoint.keep

    def interrupt(self, loop):
        keep(self, loop)
        if loop.progress.epoch == stop_after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(loops.Checkpoint, "keep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train("bilstm-additive", DATA, recipe=QUICK, state=tmp_path / "state", **SMALL)
    resumed = train("bilstm-additive", DATA, recipe=QUICK, state=tmp_path / "state", **SMALL)
    assert resumed.history == undisturbed.history
    assert all(torch.equal(a, weights(resumed)[name]) for name, a in weights(undisturbed).items())
    with pytest.raises(UserError, match="another training"):
        train("bilstm-additive", DATA, recipe=QUICK, seed=1, state=tmp_path / "state", **SMALL)


STATE_DAMAGE = {
    "a flipped bit of the weights": lambda weights, record: weights.write_bytes(_flipped(weights.read_bytes())),
    "cut weights": lambda weights, record: weights.write_bytes(weights.read_bytes()[:-100]),
    "no weights": lambda weights, record: weights.unlink(),
    "a folder as weights": lambda weights, record: (weights.unlink(), weights.mkdir()),
    "a flipped bit of the record": lambda weights, record: record.write_bytes(_flipped(record.read_bytes())),
    "an empty record": lambda weights, record: record.write_text(""),
    "no JSON": lambda weights, record: record.write_text('{"identity": '),
    "a list": lambda weights, record: record.write_text("[1]"),
    "deep JSON": lambda weights, record: record.write_text("[" * 100_000),
    "not Unicode": lambda weights, record: record.write_bytes(b"\xff\xfe"),
    "a folder as record": lambda weights, record: (record.unlink(), record.mkdir()),
    "wrong types": lambda weights, record: _edit(record, file=3, progress=[]),
    "another epoch": lambda weights, record: _edit(record, progress={"epoch": 3}),
    "a record without a digest": lambda weights, record: _edit(record, digest=None),
}


def _flipped(data):
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]


def _edit(record, **changes):
    record.write_text(json.dumps({**json.loads(record.read_text()), **changes}))


@pytest.fixture(scope="module")
def interrupted_state(tmp_path_factory):
    """The state of a training after two epochs of three."""
    folder = tmp_path_factory.mktemp("state")
    keep = loops.Checkpoint.keep

    def interrupt(self, loop):
        keep(self, loop)
        if loop.progress.epoch == 2:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops.Checkpoint, "keep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train("average-additive", DATA, recipe=replace(QUICK, epochs=3), state=folder, **SMALL)
    return folder


@pytest.mark.parametrize("damage", STATE_DAMAGE)
def test_a_damaged_state_is_told_and_training_begins_again(interrupted_state, tmp_path, monkeypatch, damage):
    state = tmp_path / "state"
    shutil.copytree(interrupted_state, state)
    (weights_file,) = state.glob("*.safetensors")
    STATE_DAMAGE[damage](weights_file, state / "progress.json")
    passes = []
    steps = loops.Loop.steps
    monkeypatch.setattr(loops.Loop, "steps", lambda self: passes.append(self.progress.epoch) or steps(self))
    # What lies in the way of the new state cannot be replaced by a file.
    blocked = pytest.raises(UserError, match="cannot be written") if "a folder" in damage else contextlib.nullcontext()
    with pytest.warns(UserWarning, match=r"state in .* is damaged .*: training begins again\.$") as told, blocked:
        train("average-additive", DATA, recipe=replace(QUICK, epochs=3), state=state, **SMALL)
    assert len([warning for warning in told if "damaged" in str(warning.message)]) == 1
    assert "\n" not in str(told[0].message)
    assert passes[0] == 0
    if "a folder" not in damage:
        assert passes == [0, 1, 2]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            train("average-additive", DATA, recipe=replace(QUICK, epochs=3), state=state, **SMALL)
        assert passes == [0, 1, 2], "what was saved anew is complete"


def test_the_state_removes_its_own_files_only(tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    (state / "epoch-best.safetensors").write_text("not ours")
    train("average-additive", DATA, recipe=replace(QUICK, epochs=3), state=state, **SMALL)
    assert sorted(path.name for path in state.iterdir()) == [
        "epoch-3.safetensors",
        "epoch-best.safetensors",
        "progress.json",
    ]


def test_the_best_epoch_is_kept_by_the_stated_rule():
    loop_history = train("bilstm-additive", DATA, recipe=replace(QUICK, select="loss"), **SMALL)
    best = min(row["loss"] for row in loop_history.history)
    dev = EncodedSplit(DATA["dev"], DATA.vocabulary)
    assert evaluate(loop_history.network, dev, 2)["loss"] == pytest.approx(best)


def test_selection_may_skip_the_first_epoch_stop_early_or_look_at_the_test_split():
    class Fake(loops.Loop):
        def __init__(self, recipe):
            self.recipe, self.progress, self.best = recipe, loops.Progress(), {}
            self.network, self.checkpoint = torch.nn.Linear(1, 1), None
            self.total, self.train = torch.zeros(()), [0]

    loop = Fake(Recipe(epochs=9, skip_first=True, patience=2))
    for value in (0.9, 0.5, 0.6, 0.4, 0.4):
        assert not loop.finished
        loop.look({"accuracy": value})
    assert loop.progress.best_epoch == 2
    assert loop.finished
    loop = Fake(Recipe(epochs=9, stop_at=0.9))
    loop.look({"accuracy": 0.95, "on target": 0.0})
    assert not loop.finished, "of rationale models the rate of selection counts as well"
    loop.look({"accuracy": 0.95})
    assert loop.finished
    loop = Fake(Recipe(epochs=9, stop_at=0.9, select="loss"))
    for accuracy, loss in ((0.8, 0.1), (0.9, 0.2)):
        loop.look({"accuracy": accuracy, "loss": loss})
    assert loop.finished
    assert loop.progress.best_epoch == 1, "the epoch that is the aim is kept, whatever its loss"
    loop = Fake(Recipe(epochs=3, select="last"))
    for accuracy in (0.9, 0.7, 0.8):
        loop.look({"accuracy": accuracy})
    assert loop.progress.best_epoch == 2, "the last epoch is kept, whatever it reached"
    noted = train("average-additive", DATA, recipe=replace(QUICK, epochs=1, select_on="test"), **SMALL)
    assert any("chosen on the test split" in note for note in noted.notes)


@torch.no_grad()
def test_the_loss_of_jain_and_wallace():
    """Summed over the batch, class 1 weighted by N / N1 - 1: the first step's gradient equals the literal formula's."""
    uneven = prepare(
        "uneven", {s: [*DATA_RAW(s, 0)[:20], *DATA_RAW(s, 1)[:5]] for s in ("train", "dev")}, Preparation()
    )
    recipe = replace(RECIPES["jw2019"], batch_size=25)
    config = attentive_config(uneven, recipe, embedding=8, hidden=8)
    network = training.build(lambda: AttentiveClassifier(config), 0)
    split = EncodedSplit(uneven["train"], uneven.vocabulary)
    objective = CrossEntropy(split, weigh_positive=recipe.weigh_positive)
    stepper = Stepper(network, recipe, split, loops.optimiser_of(network.named_parameters(), recipe), objective)
    assert objective.weights.tolist() == [1.0, 25 / 5 - 1]
    batch = split.batch(range(25))
    logits, y = network(batch).logits, batch.labels.float()
    z = logits[:, 1] - logits[:, 0]
    literal = torch.nn.functional.binary_cross_entropy_with_logits(z, y, reduction="none")
    with torch.enable_grad():
        assert next(stepper.epoch(np.random.default_rng(0)), None) is None
    assert float(stepper.total) == pytest.approx(float((literal * (1 + y * 3)).sum()), rel=1e-5)


def DATA_RAW(split, label):
    return [RawExample(" ".join(e.tokens), e.label) for e in DATA[split] if e.label == label]


def test_weight_decay_spares_the_exempt_parts():
    network = training.build(lambda: AttentiveClassifier(attentive_config(DATA, QUICK, **SMALL)), 0)
    groups = loops.optimiser_of(network.named_parameters(), Recipe(exempt=("attention",))).param_groups
    assert [group["weight_decay"] for group in groups] == [1e-5, 0.0]
    assert len(groups[1]["params"]) == len(list(network.attention.parameters()))
    assert all(group["amsgrad"] for group in groups)


def test_a_recipe_that_does_not_fit_the_data_is_refused():
    pairs = corpus(pairs=True)
    three = replace(DATA, classes=("a", "b", "c"))
    for data, recipe, message in (
        (pairs, QUICK, "has pairs of texts"),
        (DATA, RECIPES["default-pair"], "has single texts"),
        (three, RECIPES["jw2019"], "has 3 classes"),
        (three, RECIPES["madsen2022"], "has 3 classes, and the recipe is for two: use default"),
    ):
        with pytest.raises(UserError, match=message):
            train("bilstm-additive", data, recipe=recipe)


def test_word_vectors_start_the_embedding(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("good 1 2 3\n")
    model = train(
        "average-uniform", DATA, recipe=replace(QUICK, epochs=1, learning_rate=0.0, weight_decay=0.0), vectors=path
    )
    assert model.network.embedding.weight[DATA.vocabulary.numbers["good"]].tolist() == [1, 2, 3]
    assert any("1 of " in note for note in model.notes)


def test_checkpoints(tmp_path):
    model = train("cnn-additive", DATA, recipe=replace(QUICK, epochs=1), **SMALL)
    again = load_model(model.save(tmp_path / "model"))
    split = EncodedSplit(DATA["test"], DATA.vocabulary)
    assert np.array_equal(predict(model.network, split)[0], predict(again.network, split)[0])
    assert (again.classes, again.coder, again.history) == (model.classes, model.coder, model.history)
    examples = again.read(["x good y"])
    assert again.network(again.batch(examples)).logits.shape == (1, 2)
    with pytest.raises(UserError, match="has no tokens"):
        again.read([" "])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format=2), "model format 2"),
        (lambda c: c["network"].update(hidden=12), "weights do not fit"),
        (lambda c: c["network"].update(encoder="bilstm"), "weights do not fit"),
        (lambda c: c.pop("words"), "does not describe a model"),
        (lambda c: c["words"].append("more"), "words for a network"),
        (lambda c: c["network"].update(nonsense=1), "does not describe a model"),
        (lambda c: c["network"].update(hidden="many"), "hidden should be a valid integer"),
        (lambda c: c["network"].update(hidden=0), "hidden should be greater"),
        (lambda c: c["network"].update(hidden=16384), "weights do not fit"),
        (lambda c: c["network"].update(temperature=float("nan")), "temperature should be a finite number"),
        (lambda c: c["network"].update(activation="x"), "activation should be 'tanh', 'relu' or 'identity'"),
        (lambda c: c.update(network=[]), "does not describe a model"),
        (lambda c: c.update(classes=["0", 1]), "classes are not text"),
        (lambda c: c.update(classes=["0"]), "1 classes for a network of 2"),
        (lambda c: c["words"].__setitem__(6, c["words"][7]), "the same one occurs twice"),
        (lambda c: c["words"].reverse(), "words do not begin with"),
        (lambda c: c["preparation"].update(tokeniser="x"), "tokeniser should be"),
        (lambda c: c.update(preparation=None), "does not describe a model"),
        (lambda c: c.update(history=7), "does not describe a model"),
        (lambda c: c.update(format=[2]), "has model format"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path, change, message):
    path = train("cnn-additive", DATA, recipe=replace(QUICK, epochs=1), **SMALL).save(tmp_path / "model")
    config = json.loads((path / "config.json").read_text())
    change(config)
    (path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=message):
        load_model(path)


def test_broken_checkpoints(tmp_path):
    with pytest.raises(UserError, match=r"has no config\.json"):
        load_model(tmp_path)
    path = train("cnn-additive", DATA, recipe=replace(QUICK, epochs=1), **SMALL).save(tmp_path / "model")
    (path / "weights.safetensors").write_bytes(b"broken")
    with pytest.raises(UserError, match="missing or unreadable"):
        load_model(path)
    (path / "config.json").write_text("{")
    with pytest.raises(UserError, match="not valid JSON"):
        load_model(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(tmp_path, value):
    path = train("cnn-additive", DATA, recipe=replace(QUICK, epochs=1), **SMALL).save(tmp_path / "model")
    weights = load_file(path / "weights.safetensors")
    weights["output.weight"][0, 0] = value
    save_file(weights, path / "weights.safetensors")
    with pytest.raises(UserError, match=r"model: the weights output\.weight hold NaN, infinity"):
        load_model(path)


@pytest.mark.parametrize("shape", [{"hidden": 0}, {"hidden": 6}, {"vocabulary": 1}, {"encoder": "cnn"}])
def test_a_shape_that_no_model_has_is_refused(shape):
    with pytest.raises(UserError, match=r"model's shape"):
        train("cnn-additive", DATA, **{**SMALL, **shape})


def test_text_that_is_not_utf_8_is_refused():
    model = train("cnn-additive", DATA, recipe=replace(QUICK, epochs=1), **SMALL)
    with pytest.raises(UserError, match="Text 2 is not UTF-8 text"):
        model.read(["x", "x \udcff"])


def test_names_and_divergence_are_refused():
    with pytest.raises(UserError, match="fine-tuned from a pretrained one and needs pretrained=FOLDER"):
        train("transformer", DATA)
    with pytest.raises(UserError, match="no recipe named 'jw2018'; did you mean jw2019"):
        train("bilstm-additive", DATA, recipe="jw2018")
    with pytest.raises(UserError, match="diverged in epoch 1"):
        train("average-additive", DATA, recipe=replace(QUICK, learning_rate=1e38), **SMALL)


def test_every_recipe_builds_a_model():
    for name in RECIPES:
        data = corpus(20, pairs="pair" in name or "babi" in name)
        assert attentive_config(data, RECIPES[name]).hidden in (32, 128, 200)
        assert RECIPES.describe(name)


def test_models_trained_together_equal_those_trained_alone(tmp_path):
    recipe = replace(QUICK, epochs=3, patience=1)
    states = [tmp_path / "a", tmp_path / "b"]
    together = train_many("bilstm-additive", DATA, [3, 4], recipe=recipe, states=states, **SMALL)
    for seed, model in zip((3, 4), together, strict=True):
        alone = train("bilstm-additive", DATA, recipe=recipe, seed=seed, **SMALL)
        assert alone.history == model.history
        assert all(torch.equal(tensor, weights(alone)[name]) for name, tensor in weights(model).items())
    assert train_many("bilstm-additive", DATA, [], recipe=recipe, **SMALL) == []


def test_frozen_parts_stay_as_they_begin():
    table = np.random.default_rng(0).normal(size=(len(DATA.vocabulary), 8)).astype(np.float32)
    model = train("bilstm-additive", DATA, recipe=Recipe(epochs=2, frozen=("embedding",)), vectors=table, hidden=8)
    assert torch.equal(model.network.embedding.weight, torch.from_numpy(table))
    assert model.network.embedding.weight.requires_grad, "and can be explained"
    moved = train("bilstm-additive", DATA, recipe=Recipe(epochs=2), vectors=table, hidden=8)
    assert not torch.equal(moved.network.embedding.weight, torch.from_numpy(table))


def test_looks_stay_within_memory(monkeypatch):
    """The more numbers a model holds for a token, the smaller the batches; predictions do not depend on them."""
    model = train("average-additive", corpus(), recipe=QUICK, **SMALL)
    split = EncodedSplit(corpus()["test"], model.coder)
    whole = predict(model.network, split)[0]
    assert tokens_at_once(model.network, split) == 1 << 17
    monkeypatch.setattr(type(model.network), "numbers_per_token", lambda self, width, **more: (1 << 30) // 20)
    assert tokens_at_once(model.network, split) == 20
    assert len(list(split.in_order(20))) > len(list(split.in_order()))
    assert np.allclose(predict(model.network, split)[0], whole, atol=1e-6)
