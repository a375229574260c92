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
            logits = self._logits(model, batch)
            said = torch.softmax(logits, dim=-1)
            chosen = target_class(logits[:, -1], batch, target)
            return self._measure(said[:, -1:] - said[:, :-1], chosen) * batch.mask

    def _measure(self, change: Tensor, chosen: Tensor) -> Tensor:
        """(batch, tokens) from the change of every class's probability (batch, tokens, classes)."""
        return change.gather(2, chosen[:, None, None].expand(-1, change.shape[1], 1))[..., 0]

    def _logits(self, model: TextNetwork, batch: Batch) -> Tensor:
        """(batch, tokens + 1, classes): without the token at each position, then of the whole text."""
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
        result = self._empty(model, batch)
        for length in sorted(set(batch.text.lengths.tolist())):
            # Of every deletion: what is read of states, what attention makes of it, and the step at hand.
            numbers = length * (2 * sum(len(bias) for _, bias in _readers(model)) + 8) + 16 * model.encoder.size
            fitting = max(1, limit // (numbers * model.embedding.weight.element_size()) - 1)
            at_once = min(length, fitting)
            for rows in torch.split((batch.text.lengths == length).nonzero()[:, 0], max(1, fitting // (length + 1))):
                texts = batch.rows(rows).cut(length, full=True)
                for begin in range(0, length, at_once):
                    end = min(length, begin + at_once)
                    found = _shared_states(model, texts, begin, end).to(result)
                    result[rows, begin:end], result[rows, -1] = found[:, :-1], found[:, -1]
        return result

    def _rerun(self, model: TextNetwork, batch: Batch) -> Tensor:
        """Every variant as an example of its own."""
        row, position = batch.mask.nonzero(as_tuple=True)
        result = self._empty(model, batch)
        result[:, -1] = logits_of(model, batch, self.max_bytes)

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

    def _empty(self, model: TextNetwork, batch: Batch) -> Tensor:
        rows, width = batch.tokens.shape
        return model.embedding.weight.new_zeros(rows, width + 1, model.classes)


class LeaveOneOutJW2019(LeaveOneOut):
    """Total variation when a token is left out (Jain and Wallace 2019): not negative, the same for every target."""

    facts = Facts(signed=False)

    def _measure(self, change: Tensor, chosen: Tensor) -> Tensor:  # noqa: ARG002  # all classes alike
        return change.abs().sum(dim=-1) / 2


def _shared_states(model: AttentiveClassifier, batch: Batch, begin: int, end: int) -> Tensor:
    """Deletion in a BiLSTM: (batch, positions + 1, classes) logits without each token from begin to end, and with all.

    Forward states before the deleted token and backward states after it are those of the whole text. Attention and
    decoder read them through a linear layer, so each direction is read by itself, a shared state once, and no state is
    kept. The texts have one length.
    """
    encoder = model.encoder
    assert isinstance(encoder, BiLSTM)
    embeddings = model.embed(batch)
    rows, width = batch.tokens.shape
    number, hidden = end - begin, encoder.forwards.hidden_size
    (by_attention, bias), (by_decoder, added) = _readers(model)
    weight, bias = torch.cat([by_attention, by_decoder], dim=1), torch.cat([bias, torch.zeros_like(added)])
    read = embeddings.new_empty(width, number + 1, rows, len(bias))
    _read_without_each(encoder.forwards, embeddings, begin, weight[:hidden], bias, read)
    _read_without_each(encoder.backwards, embeddings, begin, weight[hidden:], bias, read, reverse=True)
    left = batch.mask.repeat(number + 1, 1, 1)
    left[:-1] &= ~torch.eye(width, dtype=torch.bool, device=read.device)[begin:end, None]
    auxiliary = model.auxiliary(batch)
    if auxiliary is not None:
        context = None if auxiliary.context is None else auxiliary.context.repeat(number + 1, 1)
        auxiliary = Auxiliary(auxiliary.summary.repeat(number + 1, 1), context)
    query = auxiliary.summary if auxiliary is not None and model.config.head == "query" else None
    seen, features = read.flatten(1, 2).transpose(0, 1).tensor_split([by_attention.shape[1]], dim=-1)
    weights = model.weigh_read(seen, left.flatten(0, 1), query)
    logits = model.decode_read(torch.einsum("bt,bth->bh", weights, features) + added, auxiliary)
    return logits.view(number + 1, rows, -1).transpose(0, 1)


def _readers(model: AttentiveClassifier) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """What attention and decoder read of a state (size,): times a matrix (size, numbers), and a bias (numbers,)."""
    whole = torch.eye(model.encoder.size).to(model.embedding.weight)
    nothing = (whole[:, :0], whole[0, :0])

    def of(layer: nn.Linear | None) -> tuple[Tensor, Tensor]:
        if layer is None:
            return whole, torch.zeros_like(whole[0])
        return layer.weight.T, layer.weight.new_zeros(len(layer.weight)) if layer.bias is None else layer.bias

    return nothing if model.attention is None else of(model.attention.read), of(model.decoding)


def _read_without_each(
    lstm: nn.LSTM,
    inputs: Tensor,
    begin: int,
    weight: Tensor,
    bias: Tensor,
    read: Tensor,
    *,
    reverse: bool = False,
) -> None:
    """What is read of the states of a one-directional LSTM, without the token at each of some positions from `begin`.

    Into `read` (position, deleted position, batch, numbers), of the whole text last; with `reverse` the text is gone
    through from its end, and what is read is added. The entry at the deleted position itself is meaningless. At each
    step only deletions of tokens that were passed run on; the others still share the states of the whole text.
    """
    width, number, rows, numbers = len(read), read.shape[1] - 1, *read.shape[2:]
    hidden = lstm.hidden_size
    # tanh(x) is 2 sigmoid(2x) - 1, at a third of the cost: cells are kept twice and states half as large as they are.
    weight = 2 * weight
    weights: dict[str, Tensor] = dict(lstm.named_parameters())
    twice = torch.tensor([1.0, 1.0, 2.0, 1.0]).to(inputs).repeat_interleave(hidden)
    projected = (inputs @ weights["weight_ih_l0"].T + (weights["bias_ih_l0"] + weights["bias_hh_l0"])) * twice
    recurrent = 2 * weights["weight_hh_l0"].T * twice
    # The whole text stands beside the deletion that begins first, so that all that run on stand together.
    whole, first = (number, 0) if reverse else (0, 1)
    h = inputs.new_zeros(number + 1, rows, hidden)
    c = torch.zeros_like(h)
    gates = inputs.new_empty(number + 1, rows, 4 * hidden)
    for t in reversed(range(width)) if reverse else range(width):
        if 0 <= t - begin < number:  # A deletion starts from the whole text's present state.
            h[first + t - begin], c[first + t - begin] = h[whole], c[whole]
        passed = min(max(t + 1 - begin, 0), number) if reverse else min(max(t - begin, 0), number)
        low, high = (passed, number) if reverse else (0, passed)
        active, now, cell = gates[: high - low + 1], h[low : high + 1], c[low : high + 1]
        torch.mm(now.view(-1, hidden), recurrent, out=active.view(-1, 4 * hidden))
        active += projected[:, t]
        i, f, g, o = active.sigmoid_().chunk(4, dim=-1)
        cell.mul_(f).addcmul_(i, g, value=4).sub_(i, alpha=2)
        torch.sigmoid(cell, out=now).sub_(0.5).mul_(o)
        own, states = read[t, low:high].view(-1, numbers), h[first + low : first + high].view(-1, hidden)
        if reverse:
            own.addmm_(states, weight)
            shared = h[whole] @ weight
            read[t, :low] += shared
            read[t, -1] += shared
        else:
            torch.addmm(bias, states, weight, out=own)
            read[t, high:] = torch.addmm(bias, h[whole], weight)
