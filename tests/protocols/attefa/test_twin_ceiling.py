import math

from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.datasets import load_text
from trueness.kinds.text.models.families import train
from trueness.kinds.text.models.twins import Apartness, Reference, train_twins
from trueness.models.recipes import Recipe
from trueness.protocols.attefa.score import type_ceiling


def test_no_twin_of_an_average_encoder_exceeds_the_ceiling_on_a_mock_set():
    """All filler tokens get the same attention, whatever the twin does."""
    data = load_text("mock-1@vader")
    small = type(data)(
        data.name,
        data.classes,
        {split: part[:300] for split, part in data.splits.items()},
        data.vocabulary,
        data.preparation,
    )
    shape = {"embedding": 8, "hidden": 8}
    base = train("average-additive", small, recipe=Recipe(epochs=3, learning_rate=0.02), **shape)
    recipe = Recipe(epochs=6, select="loss", learning_rate=0.05)
    (twin,) = train_twins(base, small, [(1, math.inf)], recipe=recipe)
    split = EncodedSplit(small["test"], small.vocabulary)
    look = Reference.of(base.network, split)
    batch = split.batch(range(len(split)))
    width = batch.tokens.shape[1]
    ceiling = type_ceiling(look.attention[:, :width], batch.tokens, batch.mask).numpy()
    reached = Apartness.between(Reference.of(twin.model.network, split), look).divergence
    assert (reached <= ceiling + 1e-5).all()
    assert reached.mean() > 0.5 * ceiling.mean()
    filler = Reference.of(twin.model.network, split).attention[:, :width]
    values, counts = batch.tokens[batch.mask].unique(return_counts=True)
    most = values[counts.argmax()]
    for row in range(20):
        weights = filler[row][(batch.tokens[row] == most) & batch.mask[row]]
        assert weights.max() - weights.min() < 1e-6
