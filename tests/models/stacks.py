"""Loops that can be trained as one, and the literal version: every model alone."""

import copy

import numpy as np
import pytest
import torch

from tests.models.test_attentive import VOCABULARY
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.models import stack
from trueness.kinds.text.models.attentive import AttentiveClassifier
from trueness.models.evaluation import Evaluation
from trueness.models.loop import Loop
from trueness.models.training import build

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))]


def fresh(config, seed):
    """A network of that shape, fixed by the seed."""
    return build(lambda: AttentiveClassifier(config), seed)


def pairs(count=40):
    rng = np.random.default_rng(1)
    words = list(VOCABULARY.words[5:])
    return [
        TextExample(tuple(rng.choice(words, rng.integers(3, 9))), int(rng.integers(2)), tuple(rng.choice(words, 4)))
        for _ in range(count)
    ]


def loops_of(config, recipe, splits, objectives, seeds, device):
    return [
        Loop(
            fresh(config, seed).to(device),
            recipe,
            split,
            objective,
            Evaluation(split, config.classes),
            seed,
        )
        for seed, split, objective in zip(seeds, splits, objectives, strict=True)
    ]


def separately(loops, device, epochs):
    """The literal version: every model alone, with the batches that the stack gives it."""
    found = []
    for loop in loops:
        network, recipe = copy.deepcopy(loop.network), loop.recipe
        network.to("cpu").to(device)  # a copy's LSTM weights are scattered, which cuDNN warns of
        groups = [
            [own for name, own in network.named_parameters() if (name.split(".")[0] in recipe.exempt) == exempt]
            for exempt in (False, True)
        ]
        decays = [recipe.weight_decay, 0.0]
        optimiser = torch.optim.Adam(
            [{"params": some, "weight_decay": decay} for some, decay in zip(groups, decays, strict=True) if some],
            lr=recipe.learning_rate,
            amsgrad=True,
        )
        total = 0.0
        for epoch in range(epochs):
            first = np.random.default_rng([loops[0].seed, epoch])
            order = first_order = loops[0].train.sorted_pieces(recipe.batch_size, first)
            if loop is not loops[0]:
                order = loop.train.sorted_pieces(recipe.batch_size, np.random.default_rng([loop.seed, epoch]))
            total = 0.0
            for number in first.permutation(len(first_order)):
                batch = loop.train.batch(order[number])
                index = torch.from_numpy(order[number]).to(device)
                losses = loop.objective(network(batch), batch, index)
                total += float(losses.detach().sum())
                optimiser.zero_grad()
                (losses.mean() if recipe.loss == "mean" else losses.sum()).backward()
                if recipe.clip is not None:
                    torch.nn.utils.clip_grad_norm_(network.parameters(), recipe.clip)
                optimiser.step()
        found.append((network, total))
    return found


def check(loops, wanted):
    for loop, (network, total) in zip(loops, wanted, strict=True):
        assert float(loop.total) == pytest.approx(total, rel=1e-3, abs=1e-3)
        for name, own in loop.network.named_parameters():
            assert torch.allclose(own, network.get_parameter(name), atol=2e-4), name


def stack_of(loops):
    before, stack.DEVICES = stack.DEVICES, ("cpu", "cuda")
    try:
        return stack.stacks_of(loops)
    finally:
        stack.DEVICES = before
