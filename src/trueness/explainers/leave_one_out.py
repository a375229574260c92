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
from trueness.models.packing import every_text, in_batches, logits_of, memory_for_batches
from trueness.models.recurrence import reversal


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
        """Deletion in a BiLSTM, some positions of some texts at a time."""
        rows, width = batch.tokens.shape
        limit = memory_for_batches(batch.tokens.device) if self.max_bytes is None else self.max_bytes
        each = 3 * width * model.numbers_per_token(width) * model.embedding.weight.element_size()
        some = max(1, limit // (each * width))
        if some > 1 or limit // each >= width:
            return torch.cat([_shared_states(model, batch.rows(part)) for part in torch.split(every_text(batch), some)])
        result = model.embedding.weight.new_zeros(rows, width, model.classes)
        for row, length in enumerate(batch.text.lengths.tolist()):
            text = batch.rows(torch.tensor([row])).cut(length, full=True)
            for begin in range(0, length, max(1, limit // each)):
                end = min(length, begin + max(1, limit // each))
                result[row, begin:end] = _shared_states(model, text, (begin, end))[0]
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
            result[row[places], position[places]] = logits
        return result


class LeaveOneOutJW2019(LeaveOneOut):
    """Total variation when a token is left out (Jain and Wallace 2019): not negative, the same for every target."""

    facts = Facts(signed=False)

    def _measure(self, change: Tensor, chosen: Tensor) -> Tensor:  # noqa: ARG002  # all classes alike
        return change.abs().sum(dim=-1) / 2


def _shared_states(model: AttentiveClassifier, batch: Batch, deleted: tuple[int, int] | None = None) -> Tensor:
    """Deletion in a BiLSTM: (batch, positions, classes) logits without the token at each position.

    Forward states before the deleted token and backward states after it are those of the whole text. With `deleted`
    only the positions from the first to before the second one, of texts of one length.
    """
    encoder = model.encoder
    assert isinstance(encoder, BiLSTM)
    embeddings = model.embed(batch)
    rows, width = batch.tokens.shape
    order = reversal(batch.text.lengths, width)
    reverse = embeddings.gather(1, order[..., None].expand_as(embeddings))
    row = torch.arange(rows, device=order.device)
    begin, end = deleted or (0, width)
    there = _without_each(encoder.forwards, embeddings, begin, end)
    mirrored = _without_each(
        encoder.backwards, reverse, *((0, width) if deleted is None else (width - end, width - begin))
    )
    # Back from reversed coordinates, both of the deleted token and of the states.
    back = mirrored[order.T[:, :, None], row[None, :, None], order[None]] if deleted is None else mirrored.flip(0, 2)
    number = end - begin
    states = torch.cat([there, back], dim=-1).reshape(number * rows, width, -1)
    left = batch.mask[None] & ~torch.eye(width, dtype=torch.bool, device=order.device)[begin:end, None]
    mask = left.reshape(number * rows, width)
    auxiliary = model.auxiliary(batch)
    if auxiliary is not None:
        context = None if auxiliary.context is None else auxiliary.context.repeat(number, 1)
        auxiliary = Auxiliary(auxiliary.summary.repeat(number, 1), context)
    query = auxiliary.summary if auxiliary is not None and model.config.head == "query" else None
    weights = model.weigh(states, mask, query)
    logits = model.decode(states, weights, batch.rows(row.repeat(number)), auxiliary=auxiliary)
    return logits.reshape(number, rows, -1).transpose(0, 1)


def _without_each(lstm: nn.LSTM, inputs: Tensor, begin: int, end: int) -> Tensor:
    """States of a one-directional LSTM that reads a sequence without the token at each position from begin to end.

    (deleted position, batch, position, hidden); the entry at the deleted position itself is meaningless. At step t only
    the deletions at earlier positions run on; the later ones still share the states of the whole sequence.
    """
    rows, width, _ = inputs.shape
    hidden = lstm.hidden_size
    weights: dict[str, Tensor] = dict(lstm.named_parameters())
    projected = inputs @ weights["weight_ih_l0"].T + (weights["bias_ih_l0"] + weights["bias_hh_l0"])
    recurrent = weights["weight_hh_l0"].T
    # The last slot is the whole sequence, where nothing is deleted.
    number = end - begin
    h = inputs.new_zeros(number + 1, rows, hidden)
    c = torch.zeros_like(h)
    states = inputs.new_empty(number, rows, width, hidden)
    for t in range(width):
        # Deletions before t, then the whole sequence; a deletion at t starts from the whole sequence's present state.
        n = min(max(t - begin, 0), number)
        if begin <= t < end:
            h[n], c[n] = h[number], c[number]
        active = torch.cat([h[:n], h[number:]])
        gates = active @ recurrent + projected[:, t]
        i, f, g, o = gates.chunk(4, dim=-1)
        cell = torch.sigmoid(f) * torch.cat([c[:n], c[number:]]) + torch.sigmoid(i) * torch.tanh(g)
        now = torch.sigmoid(o) * torch.tanh(cell)
        h[:n], c[:n], h[number], c[number] = now[:n], cell[:n], now[n], cell[n]
        states[:n, :, t] = now[:n]
        states[n:, :, t] = now[n]
    return states
