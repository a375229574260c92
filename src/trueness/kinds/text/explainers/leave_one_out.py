"""Leave one token out and look again; attention is computed anew each time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import Tensor, nn

from trueness.explainers.leave_one_out import HideOne
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.models.attentive import AttentiveClassifier, Auxiliary
from trueness.kinds.text.models.encoders import BiLSTM
from trueness.kinds.text.models.network import TextNetwork
from trueness.models.packing import memory_for_batches


@dataclass(frozen=True)
class LeaveOneOut(HideOne):
    """The target's probability with a token minus that without it, deleted or masked: positive where it speaks for it.

    All (instance, position) variants are folded into batches of at most `max_bytes`; on a CPU a deletion in a BiLSTM
    reuses the input projection and the states before and after the token.
    """

    replace: Literal["delete", "mask"] = "delete"

    def logits(self, model: TextNetwork, batch: Batch) -> Tensor:  # type: ignore[override]
        # On a GPU a step of the recurrence costs a launch whatever its size, so one large rerun is faster there.
        shared = (
            isinstance(model, AttentiveClassifier)
            and isinstance(model.encoder, BiLSTM)
            and self.replace == "delete"
            and batch.tokens.device.type == "cpu"
        )
        return self._shared(cast(AttentiveClassifier, model), batch) if shared else super().logits(model, batch)

    def without(self, batch: Batch, unit: Tensor) -> Batch:
        if self.replace == "mask":
            return super().without(batch, unit)  # type: ignore[no-any-return]
        return Batch(batch.text.without(unit), batch.labels, batch.other)

    def _shared(self, model: AttentiveClassifier, batch: Batch) -> Tensor:
        """Deletion in a BiLSTM: some positions of some texts of about one length at a time."""
        limit = memory_for_batches(batch.tokens.device) if self.max_bytes is None else self.max_bytes
        limit //= model.embedding.weight.element_size()
        size, features = model.encoder.size, _numbers(model.decoding, model.encoder.size)
        seen = 0 if model.attention is None else _numbers(model.attention.read, size)
        others = 0 if batch.other is None else batch.other.tokens.shape[1]
        result = torch.zeros(len(batch), batch.width + 1, model.classes, dtype=model.dtype, device=model.device)
        waiting = batch.text.lengths.argsort(stable=True)
        while len(waiting):
            longest = int(batch.text.lengths[waiting[-1]])
            # Of a text: embeddings, gates, states and what is read of them, also of the other one of a pair. Of a
            # deletion: features, scores, a step.
            whole = longest * (2 * model.config.embedding + 6 * size + 2 * (seen + features))
            whole += others * (model.config.embedding + 6 * size)
            each = longest * (2 * features + 8) + 4 * size + 3 * seen
            alike = int((batch.text.lengths[waiting] >= longest - max(8, longest // 4)).sum())
            fitting = min(alike, max(1, limit // (whole + (longest + 1) * each)))
            waiting, rows = waiting[:-fitting], waiting[-fitting:]
            texts = batch.rows(rows).cut(longest, full=False)
            at_once = max(1, (limit // fitting - whole) // each - 1)
            explained = texts.mask.any(0).nonzero()[:, 0].tolist() or [0]
            for begin in range(explained[0], explained[-1] + 1, at_once):
                end = min(explained[-1] + 1, begin + at_once)
                found = _shared_states(model, texts, begin, end).to(result)
                result[rows, begin:end], result[rows, -1] = found[:, :-1], found[:, -1]
        return result


def _shared_states(model: AttentiveClassifier, batch: Batch, begin: int, end: int) -> Tensor:
    """Deletion in a BiLSTM: (batch, positions + 1, classes) logits without each token from begin to end, and with all.

    Forward states before the deleted token and backward states after it are those of the whole text, so that at every
    position one direction is the whole text's. Attention and decoder read states through linear layers: each direction
    is read by itself, and no state is kept.
    """
    encoder = model.encoder
    assert isinstance(encoder, BiLSTM)
    inputs = model.embed(batch).transpose(0, 1).contiguous()
    inside = torch.arange(len(inputs), device=inputs.device)[:, None] < batch.text.lengths
    directions = [
        _Direction(encoder.forwards, inputs, inside),
        _Direction(encoder.backwards, inputs, inside, back=True),
    ]
    seeing = None if model.attention is None else _Reader(model.attention.read, directions, bias=True)
    decoding = _Reader(model.decoding, directions, bias=False)  # added once, to what attention mixes
    auxiliary = model.auxiliary(batch)
    query = auxiliary.summary if auxiliary is not None and model.config.head == "query" else None
    number, (width, rows) = end - begin, inputs.shape[:2]
    scores = inputs.new_zeros(width, number + 1, rows)
    features = inputs.new_zeros(width, number + 1, rows, decoding.numbers)

    def keep(t: int | slice, place: int | slice, side: int, states: Tensor) -> None:
        """Attention's scores and the decoder's features at one or all positions, without the token at some place."""
        features[t, place] = decoding(states, side, t)
        if model.attention is not None and seeing is not None:
            seen = seeing(states, side, t)
            if query is None:
                scores[t, place] = model.attention.scores(seen, None)
            else:
                scores[t, place] = model.attention.scores(seen.transpose(0, 1), query).T

    keep(slice(None), number, 0, directions[0].whole)
    for side, direction in enumerate(directions):
        for t, places, states in direction.without_each(begin, end):
            keep(t, places, side, states)
    left = batch.mask.repeat(number + 1, 1, 1)
    left[:-1] &= ~torch.eye(width, dtype=torch.bool, device=left.device)[begin:end, None]
    if auxiliary is not None:
        context = None if auxiliary.context is None else auxiliary.context.repeat(number + 1, 1)
        auxiliary = Auxiliary(auxiliary.summary.repeat(number + 1, 1), context)
    weights = model.normalise(scores.flatten(1).T, left.flatten(0, 1))
    mixed = torch.einsum("bt,tbh->bh", weights, features.flatten(1, 2))
    logits = model.decode_read(mixed if model.decoding is None else mixed + model.decoding.bias, auxiliary)
    return logits.view(number + 1, rows, -1).transpose(0, 1)


class _Direction:
    """One direction of a BiLSTM over texts (tokens, batch, size): its states, of all tokens and without one."""

    def __init__(self, lstm: nn.LSTM, inputs: Tensor, inside: Tensor, *, back: bool = False) -> None:
        weights: dict[str, Tensor] = dict(lstm.named_parameters())
        size = lstm.hidden_size
        gate = torch.arange(4 * size, device=inputs.device).view(4, size)
        bias = weights["bias_ih_l0"] + weights["bias_hh_l0"]
        # The gates that are sigmoids stand together, and the one that is a tanh by itself.
        self._entering, self._recurrent = [], []
        for which in (gate[[0, 1, 3]].flatten(), gate[2]):
            entering = nn.functional.linear(inputs, weights["weight_ih_l0"][which], bias[which])
            if not inside.all():
                entering.masked_fill_(~inside[..., None], -torch.inf)  # all gates shut: the state is nothing
            self._entering.append(entering.unbind())
            self._recurrent.append(weights["weight_hh_l0"][which].T.contiguous())
        self._back = back
        self._order = range(len(inputs))[:: -1 if back else 1]
        self.whole, self._cells = inputs.new_empty(2, *inputs.shape[:2], size)
        h, c, room = self._nothing(1)
        for t in self._order:
            self._step(t, h, c, room)
            self.whole[t], self._cells[t] = h[0], c[0]

    def without_each(self, begin: int, end: int) -> Iterator[tuple[int, slice, Tensor]]:
        """A position, which of the deletions from begin to end it comes after, and their states (places, batch, size).

        A deletion that is still to come has the states of the whole text.
        """
        number = end - begin
        h, c, room = self._nothing(number)
        before = None
        for t in self._order:
            passed = min(max(t + 1 - begin if self._back else t - begin, 0), number)
            places = slice(passed, number) if self._back else slice(passed)
            running = len(h[places])
            if running:
                self._step(t, h[places], c[places], [gates[:running] for gates in room])
                yield t, places, h[places]
            if begin <= t < end and before is not None:  # A deletion starts from the state before it.
                h[t - begin], c[t - begin] = self.whole[before], self._cells[before]
            before = t

    def _nothing(self, number: int) -> tuple[Tensor, Tensor, list[Tensor]]:
        """States and cells of so many deletions before the text, and room for their gates."""
        rows, size = self.whole.shape[1:]
        h, c = self.whole.new_zeros(2, number, rows, size)
        return h, c, [h.new_empty(number, rows, 3 * size), torch.empty_like(h)]

    def _step(self, t: int, h: Tensor, c: Tensor, room: list[Tensor]) -> None:
        """Read the token at a position."""
        for gates, recurrent, entering in zip(room, self._recurrent, self._entering, strict=True):
            torch.mm(h.flatten(0, 1), recurrent, out=gates.flatten(0, 1))
            gates.add_(entering[t])
        i, f, o = room[0].sigmoid_().chunk(3, dim=-1)
        c.mul_(f).addcmul_(i, room[1].tanh_())
        torch.tanh(c, out=h).mul_(o)


class _Reader:
    """A linear layer (or none) over states of two directions: one direction's, beside the whole text's of the other."""

    def __init__(self, layer: nn.Linear | None, directions: list[_Direction], *, bias: bool) -> None:
        wholes = [direction.whole for direction in directions]
        self.numbers = _numbers(layer, 2 * wholes[0].shape[-1])
        self._weights = None if layer is None else [half.T.contiguous() for half in layer.weight.chunk(2, dim=1)]
        read = (
            wholes if self._weights is None else [one @ half for one, half in zip(wholes, self._weights, strict=True)]
        )
        if bias and layer is not None and layer.bias is not None:
            read = [one + layer.bias for one in read]
        self._beside = read[::-1]

    def __call__(self, states: Tensor, side: int, t: int | slice) -> Tensor:
        """(..., batch, numbers), of the states of one side at one or all positions."""
        beside = self._beside[side][t]
        if self._weights is not None:
            return (states @ self._weights[side]).add_(beside)
        both = [states, beside.expand_as(states)]
        return torch.cat(both[:: -1 if side else 1], dim=-1)


def _numbers(layer: nn.Linear | None, size: int) -> int:
    """How many numbers are read of a state."""
    return size if layer is None else layer.out_features
