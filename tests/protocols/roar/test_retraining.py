"""One step with training replaced by networks of random weights: what is given to whom, and what is measured."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.models.test_attentive import VOCABULARY, build, examples
from tests.protocols.roar.by_hand import retraining
from trueness.explainers.simple import Random
from trueness.kinds import KINDS
from trueness.kinds.text import outlines
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.attentive import AttentiveClassifier, AttentiveConfig
from trueness.kinds.text.models.text_model import TextModel
from trueness.kinds.text.outlines import RECIPE, mask_only
from trueness.models.evaluation import evaluate
from trueness.models.training import build as drawn
from trueness.protocols.roar import companion
from trueness.protocols.roar.companion import ReferenceValues, _ranges, inner_values, masked_training, measure
from trueness.protocols.roar.hiding import Amount, accumulated, hide
from trueness.protocols.roar.step import Trained, everything, hide_next, largest_class, nothing, retrain
from trueness.studies.retraining import method_of

SIZES = {"train": (5, 4, 8, 3, 6), "dev": (4, 6, 3), "test": (3, 9, 4, 5, 7, 2)}
SPLITS = {name: [replace(one, label=n % 2) for n, one in enumerate(examples(sizes, pairs=False))]
          for name, sizes in SIZES.items()}  # fmt: skip
DATA = TextDataset("toy", ("no", "yes"), SPLITS, VOCABULARY, Preparation())
WHOLE = {name: EncodedSplit(some, VOCABULARY) for name, some in SPLITS.items()}


def network(seed):
    found = build("bilstm", classes=2, hidden=4, embedding=4)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in found.parameters():
            parameter.copy_(1.5 * torch.randn(parameter.shape, generator=generator))
    return found.float()


class Trainer:
    """Remembers what it is asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, data, seeds, *, views, device):
        self.asked.append((data, list(seeds), views, device))
        return [TextModel(network(seed), VOCABULARY, data.classes) for seed in seeds]


def first_words(name, split):
    """Hide the first word of every text."""
    found = torch.zeros(split.tokens, dtype=torch.bool)
    batch = split.batch(range(len(split)))
    found[split.addresses(np.arange(len(split)), batch.mask.shape[1])[:, 1]] = True
    return found


def test_models_are_trained_and_measured_on_what_is_left():
    train = Trainer()
    found = retrain(retraining(train, DATA), [17, 20], [first_words, nothing], leak=False)
    ((data, seeds, views, device),) = train.asked
    assert (data is DATA, seeds, device) == (True, [17, 20], "cpu")
    for split in WHOLE.values():
        batches = [view("train", split).batch(range(len(split))) for view in views]
        plain = split.batch(range(len(split)))
        assert torch.equal(batches[1].tokens, plain.tokens)
        hidden = plain.tokens.clone()
        hidden[:, 1] = 3
        assert VOCABULARY.words[3] == "[MASK]"
        assert torch.equal(batches[0].tokens, hidden)
    for seed, hiding, one in zip(seeds, (first_words, nothing), found, strict=True):
        seen = WHOLE["test"].hidden(hiding("test", WHOLE["test"]))
        expected = evaluate(network(seed), seen, 2)
        share = 6 / 30 if hiding is first_words else 0.0
        assert one.measured == pytest.approx({**expected, "hidden": share})
        assert list(one.splits) == list(one.hidden) == ["train", "dev", "test"]
        for name, split in one.splits.items():
            assert [len(text.tokens) for text in SPLITS[name]] == (split.sizes - 2).tolist()
            assert torch.equal(one.hidden[name], hiding(name, split))
    with pytest.raises(ValueError, match="zip"):
        retrain(retraining(train, DATA), [0], [nothing, nothing], leak=False)


def test_all_or_nothing_may_be_hidden():
    split = WHOLE["test"]
    assert int(everything("test", split).sum()) == 30, "neither begin nor end"
    assert int(nothing("test", split).sum()) == 0
    assert nothing("test", split).shape == everything("test", split).shape


@pytest.mark.parametrize(("leak", "epochs"), [(True, None), (7, 7)])
def test_with_leak_masks_alone_are_asked(leak, epochs, monkeypatch):
    asked = []

    def alone(*arguments):
        asked.append(arguments)
        return [0.75, 0.25]

    monkeypatch.setattr(outlines, "mask_only", alone)
    found = retrain(retraining(Trainer(), DATA), [17, 20], [first_words, nothing], leak=leak)
    ((splits, hidden, seeds, classes, how_long),) = asked
    assert splits is found[0].splits
    assert all(one is two.hidden for one, two in zip(hidden, found, strict=True))
    assert (seeds, classes, how_long) == ([17, 20], 2, epochs)
    assert [one.measured["mask-only"] for one in found] == [0.75, 0.25]
    assert [one.measured["largest-class"] for one in found] == [0.5, 0.5]


class Loop:
    """Trains nothing."""

    made: list["Loop"] = []  # noqa: RUF012

    def __init__(self, network, recipe, train, loss, measure, seed):
        self.network, self.recipe, self.train, self.loss, self.measure, self.seed = (
            network, recipe, train, loss, measure, seed,
        )  # fmt: skip
        Loop.made.append(self)

    def finish(self):
        return self.network


def outline(split, where):
    """Every token is the mask token or the unknown one."""
    batch = split.outline(where).batch(range(len(split)))
    return set(batch.tokens[batch.mask].tolist())


def test_classifiers_of_masks_read_outlines(monkeypatch):
    run = []
    Loop.made = []
    monkeypatch.setattr(outlines, "Loop", Loop)
    monkeypatch.setattr(outlines, "run_loops", run.extend)
    hidden = [{name: hiding(name, split) for name, split in WHOLE.items()} for hiding in (first_words, everything)]
    found = mask_only(WHOLE, hidden, [3, 4], 2)
    assert [loop.seed for loop in run] == [3, 4]
    assert run == Loop.made
    shape = {"encoder": "bilstm", "attention": "additive", "embedding": 8, "hidden": 16, "head": "linear"}
    config = AttentiveConfig(vocabulary=max(one.words for one in WHOLE.values()), classes=2, **shape)
    assert outline(WHOLE["train"], hidden[0]["train"]) == {3, 4}
    assert outline(WHOLE["train"], hidden[1]["train"]) == {3}
    for loop, where, accuracy in zip(run, hidden, found, strict=True):
        mine = drawn(lambda: AttentiveClassifier(config), loop.seed)
        for name, weights in mine.state_dict().items():
            assert torch.equal(weights, loop.network.state_dict()[name]), name
        assert loop.recipe == replace(RECIPE, epochs=150, patience=37), "600 steps, but no more than 150 epochs"
        assert len(loop.train) == 5
        seen = WHOLE["test"].outline(where["test"])
        assert accuracy == evaluate(mine, seen, 2)["accuracy"]
        dev = evaluate(mine, WHOLE["dev"].outline(where["dev"]), 2)
        assert loop.measure(mine)["accuracy"] == dev["accuracy"]
    mask_only(WHOLE, hidden[:1], [3], 2, 9)
    assert Loop.made[-1].recipe == replace(RECIPE, epochs=9, patience=None)


@pytest.mark.parametrize(("texts", "epochs", "patience"), [(5, 150, 37), (2560, 60, 15), (25_600, 8, 3)])
def test_few_texts_get_as_many_steps_as_many(texts, epochs, patience, monkeypatch):
    Loop.made = []
    monkeypatch.setattr(outlines, "Loop", Loop)
    monkeypatch.setattr(outlines, "run_loops", lambda loops: None)
    many = {**WHOLE, "train": EncodedSplit(SPLITS["train"] * (texts // 5), VOCABULARY)}
    mask_only(many, [{name: nothing(name, split) for name, split in many.items()}], [0], 2)
    assert (Loop.made[0].recipe.epochs, Loop.made[0].recipe.patience) == (epochs, patience)


def test_what_is_hidden_next_is_said_by_this_model():
    model, method = network(17), TEXT_EXPLAINERS["gradient"]
    trained = Trained(
        TextModel(model, VOCABULARY, DATA.classes),
        WHOLE,
        {name: first_words(name, split) for name, split in WHOLE.items()},
        {},
    )
    amounts = [Amount(0.5), Amount(2, "tokens")]
    for signed, target in ((False, "gold"), (True, "predicted")):
        found = hide_next(trained, method, amounts, target=target, signed=signed)
        assert len(found) == 2
        for name, split in WHOLE.items():
            expected = hide(model, method, split, trained.hidden[name], amounts, target=target, signed=signed)
            assert all(torch.equal(one[name], two) for one, two in zip(found, expected, strict=True))
    assert hide_next(trained, method, [], target="gold", signed=False) == []
    assert method_of(KINDS["text"], "random", 5) == Random(5)
    assert method_of(KINDS["text"], "lime", 5) is TEXT_EXPLAINERS["lime"]


def test_the_largest_class():
    assert largest_class(np.array([2, 0, 2, 2])) == 0.75
    assert largest_class(np.array(["a", "b"])) == 0.5


def test_the_top_tokens_hold_a_share_of_all_magnitude():
    class Places:
        """The place of each token, negative; nothing in texts of four words."""

        def attribute(self, model, batch, target):
            assert target == "gold"
            scores = -torch.arange(batch.mask.shape[1]).double() * batch.mask
            return scores * (batch.mask.sum(dim=1, keepdim=True) != 4)

    found = accumulated(network(0), Places(), WHOLE["test"], [Amount(1, "tokens"), Amount(0.5)])
    sizes = [3, 9, 5, 7, 2]  # 1 + 2 + ... + n in all
    totals = [n * (n + 1) / 2 for n in sizes]
    halves = [sum(range(n - n // 2 + 1, n + 1)) / total for n, total in zip(sizes, totals, strict=True)]
    assert found == pytest.approx(
        [np.mean([n / total for n, total in zip(sizes, totals, strict=True)]), np.mean(halves)]
    )

    class Silent(Places):
        def attribute(self, model, batch, target):
            return torch.zeros(batch.mask.shape)

    assert np.isnan(accumulated(network(0), Silent(), WHOLE["test"], [Amount(0.5)])).all()


def test_the_companion_is_measured_at_every_amount_and_both_ends():
    train, amounts = Trainer(), [Amount(0.3), Amount(0.6)]
    how = {"target": "gold", "signed": False, "bounded": 2, "beam": 2}
    methods = {name: TEXT_EXPLAINERS[name] for name in ("gradient", "attention-rollout")}
    first, refused, second, _ = measure(retraining(train, DATA), [17, 20], methods, amounts, **how)
    ((_, seeds, views, device),) = train.asked
    assert (seeds, device, len(views)) == ([17, 20], "cpu", 2)
    assert [one["seed"] for one in (first, refused, second)] == [17, 17, 20]
    assert [one["method"] for one in (first, refused, second)] == ["gradient", "attention-rollout", "gradient"]
    assert list(refused) == ["seed", "method", "refused"]
    method, test, dev = TEXT_EXPLAINERS["gradient"], WHOLE["test"], WHOLE["dev"]
    for one in (first, second):
        model = network(one["seed"])
        masks = hide(model, method, test, nothing("test", test), amounts, target="gold", signed=False)
        seen = [test, *map(test.hidden, masks), test.hidden(test.maskable)]
        assert one["test"] == [evaluate(model, split, 2) for split in seen]
        random = hide(model, Random(one["seed"] + 1), dev, nothing("dev", dev), amounts, target="gold")
        usual = [ReferenceValues(inner_values(model, dev.hidden(mask))) for mask in random]
        assert one["unusual"] == [
            float((known.p_values(inner_values(model, split)) < 0.05).mean())
            for known, split in zip(usual, seen[1:3], strict=True)
        ]
        assert len(one["bounded"]) == 2
        assert one["exact"] == [True] * 2
        assert all(value is None or 0 <= value <= 1 for pair in one["bounded"] for value in pair)


def test_texts_of_one_word_or_too_many_have_no_bounds(monkeypatch):
    monkeypatch.setattr(companion, "LONGEST", 6)
    sizes = (1, 2, 6, 7, 3)
    split = EncodedSplit([replace(one, label=0) for one in examples(sizes, pairs=False)], VOCABULARY)
    found = _ranges(network(17), split, 10, 1, "gold")
    order = [int(row) for row in np.random.default_rng(0).permutation(5)]
    assert [row for row, _, _ in found] == [row for row in order if row in (1, 2, 4)]
    assert [row for row, _, _ in _ranges(network(17), split, 2, 1, "gold")] == [row for row, _, _ in found][:2]


def test_training_and_development_texts_are_masked_by_other_draws():
    split = WHOLE["train"]
    views = [masked_training(5)(name, split) for name in ("train", "dev")]
    expected = [split.hidden_at_random(seed) for seed in (5, 6)]
    rows = range(len(split))
    for view, other in zip(views, expected, strict=True):
        assert torch.equal(view.batch(rows).tokens, other.batch(rows).tokens)
