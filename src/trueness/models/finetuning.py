"""Fine-tune a pretrained transformer: AdamW, warm-up, linear decay, the best epoch by the development split."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from trueness.data.batches import EncodedSplit
from trueness.data.examples import TextDataset
from trueness.errors import UserError
from trueness.models.evaluation import evaluate
from trueness.models.training import View
from trueness.models.transformer import (
    Subwords,
    Transformer,
    TransformerModel,
    find_pretrained,
    longest_text,
    open_folder,
)
from trueness.registry import Registry


@dataclass(frozen=True)
class FineTuning:
    """How a transformer is fine-tuned."""

    epochs: int = 3
    batch_size: int = 16
    learning_rate: float = 2e-5
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.01
    """Of all but biases and layer norms."""
    warm_up: float = 0.06
    """Share of the steps over which the learning rate rises; then it falls linearly to 0."""
    decay: bool = True
    clip: float | None = 1.0
    select: Literal["accuracy", "macro-f1", "auc", "loss"] = "accuracy"
    patience: int | None = None
    """Stop after so many epochs without improvement."""


FINE_TUNINGS: Registry[FineTuning] = Registry("fine-tuning recipe")
FINE_TUNINGS.add("fine-tune", FineTuning(), "a pretrained transformer: AdamW 2e-5, warm-up, linear decay, 3 epochs")
FINE_TUNINGS.add(
    "fine-tune@madsen2022",
    FineTuning(betas=(0.9, 0.98), clip=None),
    "a pretrained transformer as RoBERTa in Madsen et al. 2022",
)
FINE_TUNINGS.add(
    "fine-tune@court2022",
    FineTuning(40, 64, 1e-5, weight_decay=0.01, warm_up=0.0, decay=False, clip=None, patience=5),
    "a pretrained transformer as DistilBERT in Order in the Court 2022",
)


def fine_tune(
    pretrained: str | Path,
    data: TextDataset,
    *,
    recipe: str | FineTuning = "fine-tune",
    seed: int = 0,
    device: str = "cpu",
    progress: Callable[[dict[str, float]], None] | None = None,
    uniform: bool = False,
    view: View | None = None,
) -> TransformerModel:
    """A classifier of `data` from a pretrained model in a folder, as it was after its best epoch.

    With `uniform` its attention weights are all equal, in training and after: what attention adds is what is lost.
    With `view` it sees the splits changed, for example with tokens masked.
    """
    how = FINE_TUNINGS[recipe] if isinstance(recipe, str) else recipe
    labels = dict(enumerate(data.classes))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # the classification head is new
        model, tokenizer = open_folder(
            find_pretrained(pretrained),
            num_labels=len(labels),
            id2label=labels,
            label2id={name: number for number, name in labels.items()},
            ignore_mismatched_sizes=True,  # a head for other classes is replaced
        )
    network, coder = Transformer(model, uniform=uniform).to(device), Subwords(tokenizer, longest_text(model, tokenizer))
    train, dev = (EncodedSplit(data[split], coder, device) for split in ("train", "dev"))
    if view is not None:
        train, dev = view("train", train), view("dev", dev)
    optimiser = _optimiser(network, how)
    total = how.epochs * -(-len(train) // how.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _rate(step, total, how))
    best, best_value, since = copy.deepcopy(network.state_dict()), -np.inf, 0
    devices = [torch.device(device)] if torch.device(device).type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        for epoch in range(how.epochs):
            loss = _pass(network, train, optimiser, schedule, how, np.random.default_rng([seed, epoch]))
            found = {"epoch": epoch + 1, "train_loss": loss, **evaluate(network, dev, len(data.classes))}
            if progress is not None:
                progress(found)
            value = -found["loss"] if how.select == "loss" else found[how.select]
            since += 1
            if value > best_value:
                best, best_value, since = copy.deepcopy(network.state_dict()), value, 0
            if how.patience is not None and since >= how.patience:
                break
    network.load_state_dict(best)
    return TransformerModel(network.eval(), coder, data.classes)


def _pass(
    network: Transformer,
    train: EncodedSplit,
    optimiser: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    how: FineTuning,
    rng: np.random.Generator,
) -> float:
    network.train()
    total = torch.zeros((), device=train.device)
    for rows in train.shuffled(how.batch_size, rng):
        batch = train.batch(rows)
        loss = torch.nn.functional.cross_entropy(network(batch).logits, batch.labels)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if how.clip is not None:
            torch.nn.utils.clip_grad_norm_(network.parameters(), how.clip)
        optimiser.step()
        schedule.step()
        total += loss.detach() * len(batch)
    mean = float(total) / len(train)
    if not np.isfinite(mean):
        raise UserError("Fine-tuning diverged: the loss is not finite; try a smaller learning rate.")
    return mean


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
    decayed = [
        {"params": groups[True], "weight_decay": how.weight_decay},
        {"params": groups[False], "weight_decay": 0.0},
    ]
    on_gpu = network.embedding.weight.is_cuda
    return torch.optim.AdamW(decayed, lr=how.learning_rate, betas=how.betas, fused=on_gpu)
