"""Leave one token out and look again; attention is computed anew each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from trueness.data.batches import Batch
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.text import target_class
from trueness.models.attentive import AttentiveClassifier, Auxiliary
from trueness.models.encoders import BiLSTM
from trueness.models.network import TextNetwork, inspecting
from trueness.models.packing import in_batches, logits_of, memory_for_batches


@dataclass(frozen=True)
class LeaveOneOut(Explainer):
    """The target's probability with a token minus that without it, deleted or masked: positive where it speaks for it.

    All (instance, position) variants are folded into batches of at most `max_bytes`; on a CPU a deletion in a BiLSTM
    reuses the input projection and the states before and after the token.
    """

    facts = Facts(machinery=("masking",))

    replace: Literal["delete", "mask"] = "delete"
    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        with inspecting(model):
            logits = logits_of(model, batch, self.max_bytes)
            before = torch.softmax(logits, dim=-1)
            after = torch.softmax(self._logits_without_each(model, batch), dim=-1)
            return self._measure(before[:, None] - after, target_class(logits, batch, target)) * batch.mask

    def _measure(self, change: Tensor, chosen: Tensor) -> Tensor:
        """(batch, tokens) from the change of every class's probability (batch, tokens, classes)."""
        return change.gather(2, chosen[:, None, None].expand(-1, change.shape[1], 1))[..., 0]

    def _logits_without_each(self, model: TextNetwork, batch: Batch) -> Tensor:
        """(batch, tokens, classes): the logits without the token at each position."""
        # On a GPU a step of the recurrence costs a launch whatever its size, so one large rerun is faster there.
        shared = (
            model
            if isinstance(model, AttentiveClassifier)
            and isinstance(model.encoder, BiLSTM)
            and self.replace == "delete"
            and batch.tokens.device.type == "cpu"
            else None
        )
        return self._rerun(model, batch) if shared is None else self._shared(shared, batch)

    def _shared(self, model: AttentiveClassifier, batch: Batch) -> Tensor:
        """Deletion in a BiLSTM: some positions of some texts of one length at a time."""
        limit = memory_for_batches(batch.tokens.device) if self.max_bytes is None else self.max_bytes
        result = model.embedding.weight.new_zeros(*batch.tokens.shape, model.classes)
        for length in sorted(set(batch.text.lengths.tolist())):
            # Of every deletion: states of both directions, what attention makes of them, and the step at hand.
            numbers = length * (3 * model.encoder.size + 8) + 16 * model.encoder.size
            fitting = max(1, limit // (numbers * model.embedding.weight.element_size()))
            at_once = min(length, fitting)
            for rows in torch.split((batch.text.lengths == length).nonzero()[:, 0], max(1, fitting // length)):
                texts = batch.rows(rows).cut(length, full=True)
                for begin in range(0, length, at_once):
                    end = min(length, begin + at_once)
                    result[rows, begin:end] = _shared_states(model, texts, begin, end).to(result)
        return result

    def _rerun(self, model: TextNetwork, batch: Batch) -> Tensor:
        """Every variant as an example of its own."""
        row, position = batch.mask.nonzero(as_tuple=True)
        result = model.embedding.weight.new_zeros(*batch.tokens.shape, model.classes)

        def work(places: Tensor, variants: Batch) -> Tensor:
            at = position[places]
            if self.replace == "delete":
                text = variants.text.without(at)
            else:
                text = variants.text.masked(nn.functional.one_hot(at, variants.tokens.shape[1]).bool())
            return model.logits(Batch(text, variants.labels, variants.other))

        for places, logits in in_batches(model, batch, row, work, max_bytes=self.max_bytes):
            result[row[places], position[places]] = logits.to(result)
        return result


class LeaveOneOutJW2019(LeaveOneOut):
    """Total variation when a token is left out (Jain and Wallace 2019): not negative, the same for every target."""

    facts = Facts(signed=False)

    def _measure(self, change: Tensor, chosen: Tensor) -> Tensor:  # noqa: ARG002  # all classes alike
        return change.abs().sum(dim=-1) / 2


def _shared_states(model: AttentiveClassifier, batch: Batch, begin: int, end: int) -> Tensor:
    """Deletion in a BiLSTM: (batch, positions, classes) logits without the token at each position from begin to end.

    Forward states before the deleted token and backward states after it are those of the whole text. The texts have one
    length.
    """
    encoder = model.encoder
    assert isinstance(encoder, BiLSTM)
    embeddings = model.embed(batch)
    rows, width = batch.tokens.shape
    number, hidden = end - begin, encoder.forwards.hidden_size
    states = embeddings.new_empty(number, rows, width, 2 * hidden)
    _without_each(encoder.forwards, embeddings, begin, end, states[..., :hidden])
    _without_each(encoder.backwards, embeddings.flip(1), width - end, width - begin, states[..., hidden:], reverse=True)
    states = states.view(number * rows, width, -1)
    left = batch.mask[None] & ~torch.eye(width, dtype=torch.bool, device=states.device)[begin:end, None]
    mask = left.reshape(number * rows, width)
    auxiliary = model.auxiliary(batch)
    if auxiliary is not None:
        context = None if auxiliary.context is None else auxiliary.context.repeat(number, 1)
        auxiliary = Auxiliary(auxiliary.summary.repeat(number, 1), context)
    query = auxiliary.summary if auxiliary is not None and model.config.head == "query" else None
    weights = model.weigh(states, mask, query)
    row = torch.arange(rows, device=states.device).repeat(number)
    logits = model.decode(states, weights, batch.rows(row), auxiliary=auxiliary)
    return logits.reshape(number, rows, -1).transpose(0, 1)


def _without_each(
    lstm: nn.LSTM, inputs: Tensor, begin: int, end: int, states: Tensor, *, reverse: bool = False
) -> None:
    """States of a one-directional LSTM that reads a sequence without the token at each position from begin to end.

    Into `states` (deleted position, batch, position, hidden), with `reverse` the last deletion and the last position
    first; the entry at the deleted position itself is meaningless. At step t only the deletions at earlier positions
    run on; the later ones still share the states of the whole sequence.
    """
    rows, width, _ = inputs.shape
    hidden, number = lstm.hidden_size, end - begin
    weights: dict[str, Tensor] = dict(lstm.named_parameters())
    # The three sigmoid gates stand together, so that one call computes them.
    order = torch.arange(4 * hidden, device=inputs.device).view(4, hidden)[[0, 1, 3, 2]].flatten()
    projected = inputs @ weights["weight_ih_l0"][order].T + (weights["bias_ih_l0"] + weights["bias_hh_l0"])[order]
    recurrent = weights["weight_hh_l0"][order].T.contiguous()
    # First the whole sequence, where nothing is deleted, then the deletions in the order in which they begin.
    h = inputs.new_zeros(number + 1, rows, hidden)
    c = torch.zeros_like(h)
    gates = inputs.new_empty(number + 1, rows, 4 * hidden)
    for t in range(width):
        n = min(max(t - begin, 0), number)
        if begin <= t < end:  # a deletion starts from the whole sequence's present state
            h[n + 1], c[n + 1] = h[0], c[0]
        active, now, cell = gates[: n + 1], h[: n + 1], c[: n + 1]
        torch.mm(now.view(-1, hidden), recurrent, out=active.view(-1, 4 * hidden))
        active += projected[:, t]
        i, f, o = active[..., : 3 * hidden].sigmoid_().chunk(3, dim=-1)
        g = active[..., 3 * hidden :].tanh_()
        cell.mul_(f).addcmul_(i, g)
        torch.tanh(cell, out=now)
        now.mul_(o)
        if reverse:
            states[number - n :, :, width - 1 - t] = now[1:].flip(0)
            states[: number - n, :, width - 1 - t] = now[0]
        else:
            states[:n, :, t] = now[1:]
            states[n:, :, t] = now[0]
