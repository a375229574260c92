"""Stacked training is the training of each model, as far as it has the same batches."""

import functools

import numpy as np
import pytest
import torch

from tests.models.stacks import DEVICES, check, fresh, loops_of, pairs, separately, stack_of
from tests.models.test_attentive import VOCABULARY, build
from tests.protocols.roar.test_hiding import texts
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.sequences import Sequences
from trueness.kinds.text.models import stack
from trueness.kinds.text.models.families import train_many
from trueness.kinds.text.models.rationale import RationaleClassifier, RationaleObjective
from trueness.kinds.text.models.recurrence import together
from trueness.kinds.text.models.twins import Reference, TwinObjective
from trueness.models.cuda_graphs import CrossEntropy
from trueness.models.evaluation import Evaluation, evaluate
from trueness.models.loop import Checkpoint, Loop
from trueness.models.recipes import Recipe


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("encoder", "head", "more"),
    [
        ("bilstm", "linear", {}),
        ("bilstm", "linear", {"clip": 0.1, "loss": "sum"}),
        ("bilstm", "query", {}),
        ("bilstm", "concat", {}),
        ("cnn", "linear", {}),
        ("cnn", "query", {}),
        ("average", "linear", {"exempt": ()}),
    ],
)
def test_each_model_of_a_stack_is_trained_as_if_alone(encoder, head, more, device, monkeypatch):
    config = build(encoder, head=head).config
    split = EncodedSplit(texts(40) if head == "linear" else pairs(), VOCABULARY, device)
    # As in Recursive ROAR: the same texts, other tokens hidden.
    hidden = [split.hidden(split.maskable & (torch.arange(split.tokens, device=device) % k == 0)) for k in (2, 3, 5)]
    recipe = Recipe(epochs=2, batch_size=16, **more)
    loops = loops_of(config, recipe, hidden, [CrossEntropy(one) for one in hidden], [3, 4, 5], device)
    wanted = separately(loops, device, 2)
    stacked = stack.Stack(loops)
    monkeypatch.setattr(Evaluation, "__call__", None)  # all are looked at together
    for _ in range(2):
        stacked.epoch()
        stacked.look()
    for loop in loops:
        measured = evaluate(loop.network, loop.train, config.classes)
        assert {name: loop.progress.history[-1][name] for name in measured} == pytest.approx(measured, rel=1e-4)
    check(loops, wanted)


@pytest.mark.parametrize("tokens", [1, 2, 3, 4, 9])
def test_convolutions_by_one_product_are_the_usual_ones(tokens):
    """Also of texts shorter than the kernels."""
    network = build("cnn").encoder
    text = Sequences(torch.zeros(3, tokens, dtype=torch.long), torch.tensor([1, tokens, -(-tokens // 2)]), None)
    seen = torch.randn(3, tokens, 8, dtype=torch.double, requires_grad=True)
    alone = network(seen, text)
    with together():
        joined = network(seen, text)
    assert torch.allclose(joined, alone, atol=1e-12)
    weights = [seen, *network.parameters()]
    for mine, wanted in zip(
        torch.autograd.grad(joined.square().sum(), weights),
        torch.autograd.grad(alone.square().sum(), weights),
        strict=True,
    ):
        assert torch.allclose(mine, wanted, atol=1e-11)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_with_rounded_products_the_training_is_nearly_the_same(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    config = build("bilstm", hidden=128).config
    split = EncodedSplit(texts(40), VOCABULARY, "cuda")
    recipe = Recipe(epochs=2, batch_size=16)
    loops = loops_of(config, recipe, [split] * 2, [CrossEntropy(split)] * 2, [3, 4], "cuda")
    wanted = separately(loops, "cuda", 2)
    stacked = stack.Stack(loops)
    for _ in range(2):
        stacked.epoch()
        stacked.look()
    for loop, (network, total) in zip(loops, wanted, strict=True):
        assert float(loop.total) == pytest.approx(total, rel=1e-2)
        for name, own in loop.network.named_parameters():
            assert torch.allclose(own, network.get_parameter(name), atol=4e-3), name


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("divergence", ["jensen-shannon", "kullback-leibler"])
def test_twins_of_several_weights_are_one_stack(divergence, device):
    split = EncodedSplit(texts(40), VOCABULARY, device)
    base = build("bilstm").float().to(device)
    look = Reference.of(base, split)
    weights = (0.1, float("inf"), 1.0, float("inf"))
    objectives = [TwinObjective(look, weight, divergence) for weight in weights]
    loops = loops_of(base.config, Recipe(epochs=1, batch_size=16), [split] * 4, objectives, [1, 2, 3, 4], device)
    stacks = stack_of(loops)
    # Those that ignore the prediction have no gradient at the output at all, which is not one of 0.
    assert [stacked.loops for stacked in stacks] == [[loops[0], loops[2]], [loops[1], loops[3]]]
    for stacked in stacks:
        wanted = separately(stacked.loops, device, 1)
        stacked.epoch()
        check(stacked.loops, wanted)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("by_text", [False, True])
@pytest.mark.parametrize("method", ["reinforce", "hardkuma"])
def test_rationale_models_of_several_rates_are_one_stack(method, by_text, device):
    """Without draws, which each model makes for itself."""
    split = EncodedSplit(texts(40), VOCABULARY, device)
    loops = []
    for seed, rate in enumerate((0.1, 0.3, 0.5)):
        torch.manual_seed(seed)
        network = RationaleClassifier(len(VOCABULARY), 3, method, embedding=6, hidden=4).to(device)
        objective = RationaleObjective(method, rate, by_text=by_text)
        measure = functools.partial(evaluate, split=split, classes=3)
        loops.append(Loop(network, Recipe(epochs=2, batch_size=16, clip=0.5), split, objective, measure, seed))
    (stacked,) = stack_of(loops)
    assert stacked.loops == loops
    wanted = separately(loops, device, 2)
    for _ in range(2):
        stacked.epoch()
        for loop in loops:
            loop.look()
    check(loops, wanted)
    dependent = RationaleClassifier(len(VOCABULARY), 3, method, embedding=6, hidden=4, dependent=True)
    assert dependent.kind is None


@pytest.mark.parametrize("device", DEVICES)
def test_every_model_sees_the_masks_that_are_drawn_for_its_pass(device):
    split = EncodedSplit(texts(40), VOCABULARY, device)
    views = [split.hidden_at_random(seed) for seed in range(3)]
    config = build("bilstm").config
    recipe = Recipe(epochs=2, batch_size=16, learning_rate=0.01)
    loops = loops_of(config, recipe, views, [CrossEntropy(split) for _ in views], range(3), device)
    (stacked,) = stack_of(loops)
    index = torch.arange(16, device=device).expand(3, -1)
    seen = []
    for _ in range(2):
        stacked.epoch()
        tokens = stacked._splits.gather(index, (9, 0)).text.tokens
        for view, own in zip(views, tokens, strict=True):
            assert torch.equal(own, view.gather(index[0], (9, 0)).text.tokens)
        seen.append(tokens)
        stacked.look()
    assert not torch.equal(*seen), "drawn anew"
    assert not torch.equal(seen[0][0], seen[0][1]), "for each model"
    stacked.release()


def test_loops_that_differ_are_not_stacked(tmp_path):
    split = EncodedSplit(texts(40), VOCABULARY)
    config = build("bilstm").config
    recipe = Recipe(epochs=1)

    def make(config=config, recipe=recipe, split=split, objective=None):
        return loops_of(config, recipe, [split], [objective or CrossEntropy(split)], [0], "cpu")[0]

    assert len(stack_of([make(), make()])) == 1
    assert stack_of([make()]) == [], "one model alone"
    for other in (
        make(config=build("bilstm", hidden=6).config),
        make(recipe=Recipe(epochs=2)),
        make(split=EncodedSplit(texts(41), VOCABULARY)),
        make(objective=lambda prediction, batch, index: prediction.logits[:, 0]),
        make(objective=CrossEntropy(split, weigh_positive=True)),
    ):
        assert stack_of([make(), other]) == []
    sparse = build("bilstm", normaliser="sparsemax").config
    assert stack_of([make(config=sparse), make(config=sparse)]) == []
    loops = [make(), make()]
    assert stack.stacks_of(loops) == [], "not on a CPU"
    stack.DEVICES, before = ("cpu",), stack.DEVICES
    try:
        for loop in loops:
            loop.checkpoint = Checkpoint(tmp_path, {})
        assert stack.stacks_of(loops) == [], "its states are to be kept"
    finally:
        stack.DEVICES = before


def test_training_stops_model_by_model(monkeypatch):
    monkeypatch.setattr(stack, "DEVICES", ("cpu",))
    split = EncodedSplit(texts(40), VOCABULARY)
    config = build("average").config
    scripted = {0: iter([0.5, 0.9, 0.8, 0.7]), 1: iter([0.5, 0.6, 0.7, 0.8])}

    def measure(seed, network):
        return {"loss": 1.0, "accuracy": next(scripted[seed])}

    recipe = Recipe(epochs=4, patience=1, select="accuracy", skip_first=False)
    loops = [
        Loop(
            fresh(config, seed),
            recipe,
            split,
            CrossEntropy(split),
            functools.partial(measure, seed),
            seed,
        )
        for seed in (0, 1)
    ]
    stack.run_loops(loops)
    assert [loop.progress.epoch for loop in loops] == [3, 4]
    assert [loop.best_epoch for loop in loops] == [2, 4]


def test_looks_under_attention_from_outside_and_in_little_memory(monkeypatch):
    split = EncodedSplit(texts(40), VOCABULARY)
    inside = split.batch(range(40)).mask
    split.guide = torch.rand(inside.shape) * inside
    config = build("bilstm", attention="frozen").config
    loops = loops_of(config, Recipe(epochs=1), [split] * 2, [CrossEntropy(split)] * 2, [0, 1], "cpu")
    stacked = stack.Stack(loops)
    stacked.epoch()
    monkeypatch.setattr(Evaluation, "__call__", None)
    monkeypatch.setattr(stack, "_memory", lambda _: 1 << 10)  # one text at a time
    stacked.look()
    for loop in loops:
        measured = evaluate(loop.network, split, config.classes)
        assert {name: loop.progress.history[-1][name] for name in measured} == pytest.approx(measured, rel=1e-4)


def test_models_that_go_on_get_new_batches_when_the_first_has_stopped(monkeypatch):
    split = EncodedSplit(texts(40), VOCABULARY)
    loops = loops_of(build("average").config, Recipe(epochs=9), [split] * 2, [CrossEntropy(split)] * 2, [0, 1], "cpu")
    stacked = stack.Stack(loops)
    taken = []
    monkeypatch.setattr(stacked, "take", lambda index, widths: taken.append(index.clone()))
    for _ in range(3):
        stacked.epoch()  # no loop looks, as if both had finished
    epochs = [torch.cat(taken[begin : begin + 2], dim=1) for begin in (0, 2, 4)]
    assert not torch.equal(epochs[0], epochs[1])
    assert not torch.equal(epochs[1], epochs[2])
    assert all((epoch.sort(dim=1).values == torch.arange(40)).all() for epoch in epochs)


def test_a_whole_training_is_as_good(monkeypatch):
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(20)]
    splits = {
        split: [
            TextExample((*rng.choice(words, rng.integers(3, 8)), ("bad", "good")[row % 2]), row % 2)
            for row in range(size)
        ]
        for split, size in (("train", 120), ("dev", 40), ("test", 60))
    }
    from trueness.kinds.text.data.vocabulary import Vocabulary

    data = TextDataset("small", ("0", "1"), splits, Vocabulary.of(splits["train"]), Preparation())
    recipe = Recipe(epochs=8, batch_size=16, learning_rate=0.01)
    how = {"recipe": recipe, "hidden": 8, "embedding": 8}
    alone = train_many("bilstm-additive", data, [0, 1], **how)
    monkeypatch.setattr(stack, "DEVICES", ("cpu",))
    stacked = train_many("bilstm-additive", data, [0, 1], **how)
    test = EncodedSplit(data["test"], data.vocabulary)
    for models in (alone, stacked):
        assert [evaluate(model.network, test, 2)["accuracy"] for model in models] == pytest.approx([1, 1], abs=0.05)
    assert [len(model.history) for model in stacked] == [8, 8]
