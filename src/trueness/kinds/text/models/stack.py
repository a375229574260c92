"""Models of one shape, trained as one: their weights are stacked, and every step is taken by all of them together.

Small recurrent models leave most of a GPU idle: each token is a short kernel. Stacked, it is one for all models.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trueness.kinds.text.data.batches import Batch, StackedSplits
from trueness.kinds.text.data.sequences import Sequences
from trueness.kinds.text.models.network import Prediction, TextNetwork
from trueness.kinds.text.models.recurrence import together
from trueness.models.cuda_graphs import GraphStepper, Together, step_bytes
from trueness.models.evaluation import Evaluation, measures
from trueness.models.loop import Loop, optimiser_of

DEVICES = ("cuda",)
"""Where models are stacked: a CPU has nothing idle to fill."""

_SHARE = 1 / 16
"""Of a GPU's memory that the steps, and the looks, of one stack may hold: a few large models fill a GPU as well as
many, and other processes need the rest."""


def run_loops(loops: Sequence[Loop[Any]]) -> None:
    """Train until every loop is finished: stacked on a GPU where they are alike, otherwise one step of each in turn."""
    stacks = stacks_of(loops)
    stacked = {id(loop) for stack in stacks for loop in stack.loops}
    while stacks:
        # One stack after the other: each may fill the memory it is allowed, which is free again when it is gone.
        stack = stacks.pop(0)
        while not all(loop.finished for loop in stack.loops):
            stack.epoch()
            stack.look()
        stack.release()
    others = [loop for loop in loops if id(loop) not in stacked]
    while left := [loop for loop in others if not loop.finished]:
        for _ in itertools.zip_longest(*(loop.steps() for loop in left)):
            pass
        for loop in left:
            loop.look()


def stacks_of(loops: Sequence[Loop[Any]]) -> list[Stack]:
    """The loops that are alike, in stacks as large as memory allows; others are in none."""
    groups: list[list[Loop[Any]]] = []
    for loop in filter(_may_stack, loops):
        group = next((group for group in groups if _alike(group[0], loop)), None)
        if group is None:
            groups.append([loop])
        else:
            group.append(loop)
    found = []
    for group in groups:
        first = group[0]
        each = step_bytes(first.network, first.train) * int(first.train.sizes.max()) * first.recipe.batch_size
        most = max(2, int(_memory(first.train.device) * _SHARE / each))
        parts = [group[begin : begin + most] for begin in range(0, len(group), most)]
        found += [Stack(part) for part in parts if len(part) > 1]
    return found


def _may_stack(loop: Loop[Any]) -> bool:
    return (
        loop.train.device.type in DEVICES
        and loop.network.kind is not None
        and isinstance(loop.objective, Together)
        and loop.checkpoint is None
    )


def _looks_of(loops: Sequence[Loop[Any]]) -> tuple[Evaluation, StackedSplits] | None:
    """How the first loop is measured, and the splits of all, if all of them can be measured at once."""
    found = [loop.measure for loop in loops if type(loop.measure) is Evaluation]
    splits = [look.split for look in found]
    same = len(splits) == len(loops) and all(np.array_equal(splits[0].sizes, other.sizes) for other in splits)
    return (found[0], StackedSplits(splits)) if same else None


def _alike(first: Loop[Any], other: Loop[Any]) -> bool:
    mine = first.objective
    return (
        isinstance(mine, Together)
        and type(other.objective) is type(mine)
        and mine.alike(other.objective)
        and other.network.kind == first.network.kind
        and other.recipe == first.recipe
        and np.array_equal(other.train.sizes, first.train.sizes)
    )


def _memory(device: torch.device) -> int:
    """Bytes of the device; not those that are free, so that what is stacked does not depend on other processes."""
    return int(torch.cuda.get_device_properties(device).total_memory) if device.type == "cuda" else 1 << 34


class Stack(GraphStepper):
    """Takes the steps of several loops at once; their networks get the weights after every epoch."""

    def __init__(self, loops: Sequence[Loop[Any]]) -> None:
        first = loops[0]
        each = step_bytes(first.network, first.train)
        largest = _memory(first.train.device) // 8 // each
        super().__init__(first.train.device, each, first.train.longest, largest=largest)
        self.loops, self.recipe = list(loops), first.recipe
        self._template: TextNetwork = first.network
        self._splits = StackedSplits([loop.train for loop in loops])
        self._looks = _looks_of(loops)
        objectives = [loop.objective for loop in loops]
        assert isinstance(objectives[0], Together)
        self._objective = objectives[0].joined(objectives, self.device)
        self.weights = {
            name: torch.stack([loop.network.get_parameter(name).detach() for loop in loops]).requires_grad_(
                own.requires_grad
            )
            for name, own in first.network.named_parameters()
        }
        self._epochs = first.progress.epoch
        self.total = torch.zeros(len(loops), device=first.train.device)
        """The summed loss of each model since the epoch began."""
        self._optimiser = optimiser_of(self.weights.items(), self.recipe)

    def epoch(self) -> None:
        """One pass over the data of every loop, and its weights and loss handed over.

        Every model has its own batches of texts of similar length, but all take those of one length together: the order
        of lengths is the first model's.
        """
        for loop in self.loops:
            loop.network.train()
        self.total.zero_()
        # A loop that has finished counts no more epochs, and the others still need other batches.
        draws = [np.random.default_rng([loop.seed, self._epochs]) for loop in self.loops]
        self._epochs += 1
        sorted_ = [
            loop.train.sorted_pieces(self.recipe.batch_size, rng) for loop, rng in zip(self.loops, draws, strict=True)
        ]
        taken = draws[0].permutation(len(sorted_[0]))
        orders = torch.from_numpy(
            np.stack([np.concatenate([pieces[number] for number in taken]) for pieces in sorted_])
        ).to(self.device)
        self.wait_for_data()
        begin = 0
        for number in taken:
            size = len(sorted_[0][number])
            widths = [loop.train.widths(pieces[number]) for loop, pieces in zip(self.loops, sorted_, strict=True)]
            # A view: a copy would be made on another stream than it is read on.
            index = orders[:, begin : begin + size]
            self.take(index, (max(one for one, _ in widths), max(other for _, other in widths)))
            begin += size
        self.be_waited_for()
        with torch.no_grad():
            for number, loop in enumerate(self.loops):
                for name, own in loop.network.named_parameters():
                    own.copy_(self.weights[name][number])
                loop.total.copy_(self.total[number])

    def look(self) -> None:
        """Measure the loops that are not finished, all at once if they are measured alike, and let each remember."""
        measured = [None] * len(self.loops) if self._looks is None else self._measured(*self._looks)
        for loop, found in zip(self.loops, measured, strict=True):
            if not loop.finished:
                loop.look(found)

    @torch.no_grad()
    def _measured(self, first: Evaluation, splits: StackedSplits) -> list[dict[str, float]]:
        """What `evaluate` gives for each model."""
        split, models = first.split, len(self.loops)
        logits = torch.zeros(models, len(split), first.classes, device=self.device)
        each = 4 * self._template.numbers_per_token(int(split.sizes.max(initial=1)))
        self._template.eval()
        for rows in split.rows_in_order(int(_memory(self.device) * _SHARE) // each // models):
            index = torch.from_numpy(rows).to(self.device)
            batch = splits.gather(index.expand(models, -1), split.widths(rows))
            logits[:, index] = self._predict(batch)[0].float()
        pairs = zip(logits.double().cpu().numpy(), splits.labels.cpu().numpy(), strict=True)
        return [measures(found, gold, first.classes) for found, gold in pairs]

    def step(self, index: Tensor, widths: tuple[int, int]) -> None:
        """Forward, loss, backward and update of all models, from the numbers (models, batch) of their examples."""
        batch = self._splits.gather(index, widths)
        logits, attention, *more = self._predict(batch)
        losses = self._objective(Prediction(logits, attention, logits, tuple(more)), batch, index)
        self.total += losses.detach().sum(dim=1)
        loss = losses.sum() / (index.shape[1] if self.recipe.loss == "mean" else 1)
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.recipe.clip is not None:
            self._clip(self.recipe.clip)
        self._optimiser.step()

    def _predict(self, batch: Batch) -> tuple[Tensor, ...]:
        """Logits, attention and what else a prediction has, all with the models as their first dimension."""
        parts = (batch.text.tokens, batch.text.lengths, batch.text.mask)
        others = () if batch.other is None else (batch.other.tokens, batch.other.lengths, batch.other.mask)
        guides = () if batch.guide is None else (batch.guide,)
        # Only tensors are mapped over; what they make up is put together again inside.
        seen = functools.partial(self._one, pair=bool(others), mask_token=batch.text.mask_token)
        with together():
            # Where models draw, each draws for itself.
            mapped = torch.vmap(seen, randomness="different")
            found: tuple[Tensor, ...] = mapped(self.weights, batch.labels, *parts, *others, *guides)
        return found

    def _one(
        self, weights: dict[str, Tensor], labels: Tensor, *parts: Tensor, pair: bool, mask_token: int
    ) -> tuple[Tensor, ...]:
        text = Sequences(parts[0], parts[1], parts[2], None, mask_token)
        other = Sequences(parts[3], parts[4], parts[5], None, mask_token) if pair else None
        guide = parts[-1] if len(parts) % 3 else None
        seen = torch.func.functional_call(self._template, weights, (Batch(text, labels, other, guide),))
        return seen.logits, seen.attention, *seen.more

    def _clip(self, most: float) -> None:
        """Gradients no longer than this, model by model."""
        grown = [weight.grad for weight in self.weights.values() if weight.grad is not None]
        squares = sum((part.flatten(1).square().sum(dim=1) for part in grown), torch.zeros_like(self.total))
        factor = (most / (squares.sqrt() + 1e-6)).clamp(max=1.0)
        for part in grown:
            part.mul_(factor.view(-1, *[1] * (part.dim() - 1)))
