"""Fine-tune a pretrained transformer: AdamW, warm-up, linear decay, the best epoch by the development split."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import Tensor

from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.models.pretrained import find_pretrained, longest_text, open_folder
from trueness.kinds.text.models.transformer import Subwords, Transformer, TransformerModel
from trueness.models.cuda_graphs import CrossEntropy, Stepper
from trueness.models.evaluation import Evaluation
from trueness.models.loop import Checkpoint, Loop
from trueness.models.recipes import FINE_TUNINGS, FineTuning, Recipe
from trueness.models.training import SplitView

LARGEST = 1 << 13
"""Tokens of a batch whose step is still recorded: with more a GPU is busy anyway, and would hold much for each."""


def fine_tune(
    pretrained: str | Path,
    data: TextDataset,
    *,
    recipe: str | FineTuning = "fine-tune",
    seed: int = 0,
    device: str = "cpu",
    progress: Callable[[dict[str, float]], None] | None = None,
    uniform: bool = False,
    view: SplitView | None = None,
    state: str | Path | None = None,
) -> TransformerModel:
    """A classifier of `data` from a pretrained model in a folder, as it was after its best epoch.

    With `uniform` its attention weights are all equal, in training and after: what attention adds is what is lost.
    With `view` it sees the splits changed, for example with tokens masked. With `state`, a folder, an interrupted
    fine-tuning continues after its last epoch; on a GPU other values may be dropped out then.
    """
    how = FINE_TUNINGS[recipe] if isinstance(recipe, str) else recipe
    labels = dict(enumerate(data.classes))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # the classification head is new
        model, tokenizer = open_folder(
            find_pretrained(pretrained),
            new_head=True,
            problem_type="single_label_classification",
            num_labels=len(labels),
            id2label=labels,
            label2id={name: number for number, name in labels.items()},
        )
    if how.max_length is not None:
        tokenizer.model_max_length = min(how.max_length, longest_text(model, tokenizer))  # which is saved with it
    network, coder = Transformer(model, uniform=uniform).to(device), Subwords(tokenizer, longest_text(model, tokenizer))
    train, dev = (EncodedSplit(data[split], coder, device) for split in ("train", "dev"))
    if view is not None:
        train, dev = view("train", train), view("dev", dev)
    steps = Steps(network, train, how)
    identity = {"pretrained": str(pretrained), "recipe": asdict(how), "seed": seed, "data": data.name}
    checkpoint = None if state is None else Checkpoint(state, {**identity, "uniform": uniform}, draws=True)
    devices = [torch.device(device)] if torch.device(device).type == "cuda" else []
    with torch.random.fork_rng(devices=devices), contextlib.closing(steps):
        torch.manual_seed(seed)
        measure = Evaluation(dev, len(data.classes))
        loop = Loop(network, steps.recipe, train, steps.objective, measure, seed, checkpoint, steps)
        steps.skip(loop.progress.epoch)
        while not loop.finished:
            for _ in loop.steps():
                pass
            loop.look()
            if progress is not None:
                progress({"epoch": loop.progress.epoch, **loop.progress.history[-1]})
    return TransformerModel(loop.finish(), coder, data.classes)


class Steps(Stepper):
    """Takes the steps, each at a learning rate of its own."""

    def __init__(self, network: Transformer, train: EncodedSplit, how: FineTuning, *, largest: int = LARGEST) -> None:
        recipe = Recipe(how.epochs, how.batch_size, select=how.select, clip=how.clip)
        recipe = replace(recipe, patience=how.patience, stop_at=how.stop_at)
        super().__init__(network, recipe, train, _optimiser(network, how), CrossEntropy(train), largest=largest)
        self._how, self._taken = how, 0
        self._all = how.epochs * -(-len(train) // how.batch_size)

    def skip(self, epochs: int) -> None:
        """So many were taken before."""
        self._taken = epochs * -(-len(self.train) // self._how.batch_size)

    def close(self) -> None:
        """Give the memory of recorded steps back, also after an error."""
        self.optimiser.zero_grad(set_to_none=True)  # gradients lie in it
        self.release()

    def take(self, index: Tensor, widths: tuple[int, int]) -> None:
        """One step: computed, or replayed."""
        rate = self._how.learning_rate * _rate(self._taken, self._all, self._how)
        self._taken += 1
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):  # recorded steps read it there
                with torch.cuda.stream(self._stream):
                    group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        super().take(index, widths)


def _rate(step: int, total: int, how: FineTuning) -> float:
    rising = how.warm_up * total
    if step < rising:
        return step / rising
    return max(0.0, (total - step) / max(total - rising, 1)) if how.decay else 1.0


def _optimiser(network: Transformer, how: FineTuning) -> torch.optim.AdamW:
    groups: dict[bool, list[torch.nn.Parameter]] = {True: [], False: []}
    for name, parameter in network.named_parameters():
        # Biases and the weights of layer norms are the parameters of one dimension.
        groups[parameter.dim() > 1 and not name.endswith("bias")].append(parameter)
    decayed = [{"params": groups[decay], "weight_decay": decay * how.weight_decay} for decay in (True, False)]
    on_gpu = network.embedding.weight.is_cuda
    rate = torch.tensor(how.learning_rate, device=network.embedding.weight.device) if on_gpu else how.learning_rate
    return torch.optim.AdamW(decayed, lr=rate, betas=how.betas, fused=on_gpu, capturable=on_gpu)
