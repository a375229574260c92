"""Leave one token out and look again; attention is computed anew each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from trueness.data.batches import Batch
from trueness.explainers.contract import TEXT_EXPLAINERS, Explainer, Facts, Target
from trueness.explainers.text import target_class
from trueness.models.attentive import AttentiveClassifier, Auxiliary
from trueness.models.encoders import BiLSTM
from trueness.models.network import TextNetwork, inspecting
from trueness.models.recurrence import reversal


@dataclass(frozen=True)
class LeaveOneOut(Explainer):
    """The target's probability with a token minus that without it, deleted or masked: positive where it speaks for it.

    All (instance, position) variants are folded into large batches; on a CPU a deletion in a BiLSTM reuses the input
    projection and the states before and after the token. `max_bytes` bounds the states held at a time.
    """

    facts = Facts(machinery=("masking",))

    replace: Literal["delete", "mask"] = "delete"
    max_bytes: int = 2 << 30

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        with inspecting(model):
            logits = model(batch).logits
            before = torch.softmax(logits, dim=-1)
            after = torch.softmax(self._logits_without_each(model, batch), dim=-1)
            return self._measure(before[:, None] - after, target_class(logits, batch, target)) * batch.mask

    def _measure(self, change: Tensor, chosen: Tensor) -> Tensor:
        """(batch, tokens) from the change of every class's probability (batch, tokens, classes)."""
        return change.gather(2, chosen[:, None, None].expand(-1, change.shape[1], 1))[..., 0]

    def _logits_without_each(self, model: TextNetwork, batch: Batch) -> Tensor:
        """(batch, tokens, classes): the logits without the token at each position."""
        rows, width = batch.tokens.shape
        # On a GPU a step of the recurrence costs a launch whatever its size, so one large rerun is faster there.
        shared = (
            model
            if isinstance(model, AttentiveClassifier)
            and isinstance(model.encoder, BiLSTM)
            and self.replace == "delete"
            and batch.tokens.device.type == "cpu"
            else None
        )
        each = width * width * model.numbers_per_token(width) * model.embedding.weight.element_size()
        step = max(1, self.max_bytes // (each * (3 if shared is not None else 2)))
        parts = [batch.rows(index) for index in torch.split(torch.arange(rows, device=batch.tokens.device), step)]
        return torch.cat([_shared_states(shared, part) if shared else self._rerun(model, part) for part in parts])

    def _rerun(self, model: TextNetwork, batch: Batch) -> Tensor:
        """Every variant as an example of its own."""
        rows, width = batch.tokens.shape
        row, position = batch.mask.nonzero(as_tuple=True)
        variants = batch.rows(row)
        if self.replace == "delete":
            text = variants.text.without(position)
        else:
            text = variants.text.masked(torch.nn.functional.one_hot(position, width).bool())
        logits = model(Batch(text, variants.labels, variants.other)).logits
        result: Tensor = logits.new_zeros(rows, width, logits.shape[-1])
        result[row, position] = logits
        return result


class LeaveOneOutJW2019(LeaveOneOut):
    """Total variation when a token is left out (Jain and Wallace 2019): not negative, the same for every target."""

    facts = Facts(signed=False)

    def _measure(self, change: Tensor, chosen: Tensor) -> Tensor:  # noqa: ARG002  # all classes alike
        return change.abs().sum(dim=-1) / 2


def _shared_states(model: AttentiveClassifier, batch: Batch) -> Tensor:
    """Deletion in a BiLSTM: (batch, tokens, classes) logits without each token.

    Forward states before the deleted token and backward states after it are those of the whole text.
    """
    encoder = model.encoder
    assert isinstance(encoder, BiLSTM)
    embeddings = model.embed(batch)
    rows, width = batch.tokens.shape
    order = reversal(batch.text.lengths, width)
    there = _without_each(encoder.forwards, embeddings)
    mirrored = _without_each(encoder.backwards, embeddings.gather(1, order[..., None].expand_as(embeddings)))
    # Back from reversed coordinates, both of the deleted token and of the states.
    row = torch.arange(rows, device=order.device)
    back = mirrored[order.T[:, :, None], row[None, :, None], order[None]]
    states = torch.cat([there, back], dim=-1).reshape(width * rows, width, -1)
    left = batch.mask[None] & ~torch.eye(width, dtype=torch.bool, device=order.device)[:, None]
    mask = left.reshape(width * rows, width)
    auxiliary = model.auxiliary(batch)
    if auxiliary is not None:
        context = None if auxiliary.context is None else auxiliary.context.repeat(width, 1)
        auxiliary = Auxiliary(auxiliary.summary.repeat(width, 1), context)
    query = auxiliary.summary if auxiliary is not None and model.config.head == "query" else None
    weights = model.weigh(states, mask, query)
    logits = model.decode(states, weights, batch.rows(row.repeat(width)), auxiliary=auxiliary)
    return logits.reshape(width, rows, -1).transpose(0, 1)


def _without_each(lstm: nn.LSTM, inputs: Tensor) -> Tensor:
    """States of a one-directional LSTM that reads a sequence without the token at each position.

    (deleted position, batch, position, hidden); the entry at the deleted position itself is meaningless. At step t only
    the deletions at earlier positions run on; the later ones still share the states of the whole sequence.
    """
    rows, width, _ = inputs.shape
    hidden = lstm.hidden_size
    weights: dict[str, Tensor] = dict(lstm.named_parameters())
    projected = inputs @ weights["weight_ih_l0"].T + (weights["bias_ih_l0"] + weights["bias_hh_l0"])
    recurrent = weights["weight_hh_l0"].T
    # The last slot is the whole sequence, where nothing is deleted.
    h = inputs.new_zeros(width + 1, rows, hidden)
    c = torch.zeros_like(h)
    states = inputs.new_empty(width, rows, width, hidden)
    for t in range(width):
        # Deletions before t, then the whole sequence; a deletion at t starts from the whole sequence's present state.
        h[t], c[t] = h[width], c[width]
        active = torch.cat([h[:t], h[width:]])
        gates = active @ recurrent + projected[:, t]
        i, f, g, o = gates.chunk(4, dim=-1)
        cell = torch.sigmoid(f) * torch.cat([c[:t], c[width:]]) + torch.sigmoid(i) * torch.tanh(g)
        now = torch.sigmoid(o) * torch.tanh(cell)
        h[:t], c[:t], h[width], c[width] = now[:t], cell[:t], now[t], cell[t]
        states[:t, :, t] = now[:t]
        states[t:, :, t] = now[t]
    return states


TEXT_EXPLAINERS.add(
    "leave-one-out", LeaveOneOut(), "change of the target's probability when a token is deleted, signed"
)
TEXT_EXPLAINERS.add("leave-one-out-mask", LeaveOneOut("mask"), "the same with the token replaced by the mask token")
TEXT_EXPLAINERS.add("leave-one-out@jw2019", LeaveOneOutJW2019(), "total variation when a token is deleted")
