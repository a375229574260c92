import numpy as np
import pytest
import torch

from tests.models.test_training import DATA, QUICK, SMALL
from trueness.errors import UserError
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.models.families import train, train_many
from trueness.kinds.text.models.twins import Reference
from trueness.models.evaluation import evaluate


def _on(word: str):
    """All attention on one word where it stands, else spread evenly."""
    number = DATA.vocabulary.encode((word,))[1]

    def guide(split):
        batch = split.batch(range(len(split)))
        here = ((batch.tokens == number) & batch.mask).float()
        weights = torch.where(here.any(-1, keepdim=True), here, batch.mask.float())
        wide = torch.zeros(len(split), batch.tokens.shape[1])
        wide[:] = weights / weights.sum(-1, keepdim=True)
        return wide

    return guide


def test_a_model_uses_the_attention_it_is_given():
    guide = _on("good")
    (model,) = train_many("average-frozen", DATA, [0], recipe=QUICK, guide=guide, **SMALL)
    split = EncodedSplit(DATA["test"], DATA.vocabulary)
    split.guide = guide(split)
    look = Reference.of(model.network, split)
    width = split.guide.shape[1]
    assert look.attention[:, :width].numpy() == pytest.approx(split.guide.numpy(), abs=1e-6)
    picked = split.batch([3, 0]).rows(torch.tensor([1, 0])).to("cpu")
    assert np.array_equal(picked.guide.numpy(), split.guide[[0, 3], : picked.guide.shape[1]].numpy())


def test_attention_on_the_word_that_decides_is_the_better_guide():
    def accuracy(guide):
        (model,) = train_many("average-frozen", DATA, [0], recipe=QUICK, guide=guide, **SMALL)
        split = EncodedSplit(DATA["test"], DATA.vocabulary)
        split.guide = guide(split)
        return evaluate(model.network, split, 2)["accuracy"]

    assert accuracy(_on("good")) > accuracy(_on("x")) + 0.1


def test_without_a_guide_frozen_attention_is_refused():
    with pytest.raises(UserError, match="needs the weights from outside"):
        train("average-frozen", DATA, recipe=QUICK, **SMALL)
