import numpy as np
import pytest
import torch

from tests.models.test_training import DATA, SMALL
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.models.attentive import AttentiveClassifier
from trueness.kinds.text.models.training import attentive_config
from trueness.models.cuda_graphs import CrossEntropy, GraphStepper, Stepper, rounded_up
from trueness.models.loop import optimiser_of
from trueness.models.recipes import Recipe


def test_rounding_adds_at_most_an_eighth_and_leaves_few_widths():
    widths = np.arange(1, 2001)
    rounded = np.array([rounded_up(int(width)) for width in widths])
    assert (rounded >= widths).all()
    assert (rounded <= widths * 9 / 8).all()
    assert all(rounded_up(int(width)) == width for width in rounded)
    assert len(set(rounded.tolist())) < 80


def small_network():
    torch.manual_seed(0)
    return AttentiveClassifier(attentive_config(DATA, Recipe(), **SMALL))


def test_padding_to_a_rounded_width_changes_nothing():
    split = EncodedSplit(DATA["train"], DATA.vocabulary)
    rows = np.arange(20)
    with torch.no_grad():
        exact = small_network()(split.gather(torch.from_numpy(rows), split.widths(rows))).logits
        wider = small_network()(split.gather(torch.from_numpy(rows), (40, 0))).logits
    torch.testing.assert_close(exact, wider)


def test_no_width_is_rounded_beyond_the_longest_text():
    """A transformer of 300 positions cannot read 320."""
    stepper = GraphStepper(torch.device("cpu"), 1, (300, 0))
    assert [stepper._rounded((width, 0)) for width in (16, 17, 289, 300)] == [(16, 0), (18, 0), (300, 0), (300, 0)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="records steps on a GPU only")
def test_recorded_steps_equal_computed_ones():
    losses = []
    for device in ("cpu", "cuda"):
        network, split = small_network().to(device), EncodedSplit(DATA["train"], DATA.vocabulary, device)
        recipe = Recipe(batch_size=16, weigh_positive=True, clip=1.0)
        stepper = Stepper(
            network,
            recipe,
            split,
            optimiser_of(network.named_parameters(), recipe),
            CrossEntropy(split, weigh_positive=True),
        )
        losses.append([])
        for epoch in range(6):
            for _ in stepper.epoch(np.random.default_rng(epoch)):
                pass
            losses[-1].append(float(stepper.total))
        assert bool(stepper._graphs) == (device == "cuda")
    np.testing.assert_allclose(*losses, rtol=1e-3)
