import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.models.test_training import DATA, QUICK, SMALL
from trueness.kinds.text.data import mock as mocks
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.dataset import prepare
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.models.families import train
from trueness.kinds.text.models.twins import Apartness, Reference, TwinObjective, train_twins
from trueness.models.evaluation import evaluate
from trueness.models.recipes import RECIPES, Recipe

LN2 = math.log(2)
TWIN = Recipe(epochs=6, patience=3, select="loss", batch_size=16, learning_rate=0.02)


@pytest.fixture(scope="module")
def base():
    return train("bilstm-additive", DATA, recipe=QUICK, **SMALL)


@pytest.fixture(scope="module")
def split():
    return EncodedSplit(DATA["test"], DATA.vocabulary)


def test_a_model_is_not_apart_from_itself(base, split):
    look = Reference.of(base.network, split)
    assert look.probability.sum(dim=-1).numpy() == pytest.approx(np.ones(len(split)), abs=1e-5)
    assert look.attention.sum(dim=-1).numpy() == pytest.approx(np.ones(len(split)), abs=1e-5)
    apart = Apartness.between(look, Reference.of(base.network, split))
    assert apart.change.max() < 1e-6
    assert apart.divergence.max() < 1e-6


def test_the_look_is_in_the_order_of_the_split(base, split):
    look = Reference.of(base.network, split)
    for row in (0, 13, 40):
        with torch.no_grad():
            alone = base.network(split.batch([row]))
        assert look.probability[row].numpy() == pytest.approx(alone.logits.softmax(-1)[0].numpy(), abs=1e-5)
        width = alone.attention.shape[1]
        assert look.attention[row, :width].numpy() == pytest.approx(alone.attention[0].numpy(), abs=1e-5)
        assert look.attention[row, width:].sum() == 0


@pytest.mark.parametrize("weight", [0.0, 1.0, 3.0, math.inf])
def test_the_objective_is_equation_4(base, split, weight):
    """Literally: per example TVD / 0.5 - JSD / ln 2, with TVD of one sigmoid and an epsilon in the logs."""
    torch.manual_seed(1)
    other = train("bilstm-additive", DATA, recipe=QUICK, seed=5, **SMALL)
    index = torch.arange(12)
    batch = split.batch(range(12))
    with torch.no_grad():
        prediction = other.network(batch)
        ours = TwinObjective(Reference.of(base.network, split), weight)(prediction, batch, index)
        mine = base.network(batch)
    for row in range(12):
        a, b = prediction.logits.softmax(-1)[row, 1], mine.logits.softmax(-1)[row, 1]
        tvd = 0.5 * abs(float(a) - float(b))
        p, q = prediction.attention[row].double(), mine.attention[row].double()
        m = (p + q) / 2
        kl = lambda x, m=m: float((x * (torch.log(x + 1e-10) - torch.log(m + 1e-10))).sum())  # noqa: E731
        jsd = (kl(p) + kl(q)) / 2
        expected = -jsd / LN2 if math.isinf(weight) else tvd / 0.5 - weight * jsd / LN2
        assert float(ours[row]) == pytest.approx(expected, abs=1e-5)


def test_twins_attend_elsewhere_and_those_trained_together_equal_those_trained_alone(base, split):
    jobs = [(0, 1.0), (1, 1.0), (0, math.inf)]
    together = train_twins(base, DATA, jobs, recipe=TWIN)
    assert [(twin.seed, twin.weight) for twin in together] == jobs
    (alone,) = train_twins(base, DATA, [jobs[1]], recipe=TWIN)
    for name, tensor in alone.model.network.state_dict().items():
        assert torch.equal(tensor, together[1].model.network.state_dict()[name])
    look = Reference.of(base.network, split)
    apart = [Apartness.between(Reference.of(twin.model.network, split), look) for twin in together]
    seeds = Reference.of(train("bilstm-additive", DATA, recipe=QUICK, seed=7, **SMALL).network, split)
    between_seeds = Apartness.between(seeds, look)
    assert apart[0].divergence.mean() > between_seeds.divergence.mean()
    assert apart[2].divergence.mean() >= apart[0].divergence.mean() - 0.05, "attention is all that is asked of it"
    kept = [row["loss"] for row in together[0].model.history]
    assert together[0].epoch == int(np.argmin(kept)) + 1


def test_an_interrupted_twin_continues(base, tmp_path, monkeypatch):
    from trueness.models import loop as loops

    whole = train_twins(base, DATA, [(3, 1.0)], recipe=TWIN)[0]
    keep = loops.Checkpoint.keep

    def interrupt(self, loop):
        keep(self, loop)
        if loop.progress.epoch == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(loops.Checkpoint, "keep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train_twins(base, DATA, [(3, 1.0)], recipe=TWIN, states=[tmp_path])
    again = train_twins(base, DATA, [(3, 1.0)], recipe=TWIN, states=[tmp_path])[0]
    assert again.model.history == whole.model.history


def test_selection_on_the_test_split_is_said(base):
    twin = train_twins(base, DATA, [(0, 1.0)], recipe=Recipe(epochs=1, select="loss", select_on="test"))[0]
    assert any("test split" in note for note in twin.model.notes)


def test_looks_at_different_splits_are_refused(base, split):
    other = EncodedSplit(DATA["test"][:5], DATA.vocabulary)
    with pytest.raises(ValueError, match="same split"):
        Apartness.between(Reference.of(base.network, split), Reference.of(base.network, other))


def test_the_base_model_is_looked_at_once_however_many_twins_there_are(base, monkeypatch):
    calls = []
    forward = type(base.network).forward

    def counted(self, *arguments, **named):
        calls.append(self is base.network)
        return forward(self, *arguments, **named)

    monkeypatch.setattr(type(base.network), "forward", counted)
    counts = []
    for jobs in ([(0, 1.0)], [(0, 1.0), (1, 1.0), (2, 0.5)]):
        calls.clear()
        train_twins(base, DATA, jobs, recipe=Recipe(epochs=2, select="loss", batch_size=16))
        counts.append(sum(calls))
    assert counts[0] == counts[1] == 2, "one batch of each of two splits"


def test_kullback_leibler_of_a_twin_is_finite_where_the_base_model_has_no_weight():
    probability = torch.tensor([[0.3, 0.7]])
    base = Reference(probability, torch.tensor([[0.0, 0.0, 1.0]]))
    attention = torch.tensor([[0.0, 1.0, 0.0]], requires_grad=True)
    objective = TwinObjective(base, 0.5, "kullback-leibler")
    loss = objective.whole(Reference(probability, attention)).sum()
    assert float(loss.detach()) == pytest.approx(-0.5 * math.log(1000), rel=1e-5), "the most there is"
    loss.backward()
    assert torch.isfinite(attention.grad).all()
    near = torch.tensor([[0.25, 0.25, 0.5]])
    spread = Reference(probability, torch.tensor([[0.5, 0.25, 0.25]]))
    exact = float((near * (near / spread.attention).log()).sum())
    found = float(TwinObjective(spread, 1.0, "kullback-leibler").whole(Reference(probability, near)))
    assert found == pytest.approx(-exact, rel=5e-3), "the skew hardly matters where both have weight"


def test_twins_can_be_pushed_away_by_kullback_leibler(base, split):
    (twin,) = train_twins(base, DATA, [(0, 0.1)], recipe=TWIN, divergence="kullback-leibler")
    apart = Apartness.between(Reference.of(base.network, split), Reference.of(twin.model.network, split))
    assert apart.divergence.mean() > 0.1


def test_twins_of_mock_1_keep_the_task(tmp_path, monkeypatch):
    """Weight decay must not outweigh the loss: under the mean over a batch of n texts it weighs n times as much.

    In miniature it takes more weight decay than the recipe's to show.
    """
    monkeypatch.setattr(mocks, "SHORTEST", 5)
    monkeypatch.setattr(mocks, "LONGEST", 8)
    (tmp_path / "positive-words.txt").write_text("good\nfine\n")
    (tmp_path / "negative-words.txt").write_text("bad\npoor\n")
    raw = mocks.mock("mock-1", lexicon=tmp_path, train=160, test=60)
    data = prepare("mock", {**raw, "dev": raw["test"]}, Preparation())
    shape = {"hidden": 4, "embedding": 8}
    base = train("bilstm-additive", data, recipe=Recipe(epochs=15, learning_rate=0.02, weight_decay=0.0), **shape)
    test = EncodedSplit(data["test"], data.vocabulary)
    look = Reference.of(base.network, test)
    for name in ("twin", "twin@attefa2022"):
        assert RECIPES[name].loss == "sum"
    recipe = replace(RECIPES["twin@attefa2022"], weight_decay=0.03, learning_rate=0.01, epochs=25)
    accuracy = {}
    for loss in ("sum", "mean"):
        twins = train_twins(base, data, [(1, 1.0), (2, 1.0)], recipe=replace(recipe, loss=loss))
        accuracy[loss] = [evaluate(twin.model.network, test, 2)["accuracy"] for twin in twins]
        apart = [Apartness.between(look, Reference.of(twin.model.network, test)) for twin in twins]
        assert min(one.divergence.mean() for one in apart) > 0.3, "attention moved away in any case"
    assert min(accuracy["sum"]) > 0.95
    assert max(accuracy["mean"]) < 0.7
