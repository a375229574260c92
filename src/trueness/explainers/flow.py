"""Attention flow (Abnar and Zuidema 2020): the largest flow from the first token's last state to each input token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
from torch import Tensor

from trueness.data.batches import Batch
from trueness.explainers.contract import TEXT_EXPLAINERS, Explainer, Facts, Target
from trueness.explainers.transformers import need_transformer
from trueness.models.inspecting import inspecting
from trueness.models.network import TextNetwork

Floats = npt.NDArray[np.float64]
_UNITS = 10**9
"""Capacities are whole numbers of this unit of 1: each is exact to 1e-9."""
_EDGES = 35_000  # of one call: some sinks are solved together, which saves the calls


def attention_flow(layers: Floats) -> Floats:
    """(tokens,) the largest flow to each input token, from (layers, tokens, tokens) capacities, first layer first.

    An edge leads from a token to each token it attends to one layer below, with its weight as capacity; the source is
    the first token on top.
    """
    if len(layers) == 1:
        found: Floats = np.array(layers[0, 0])
        return found
    capacities = np.rint(layers * _UNITS).clip(max=np.iinfo(np.int32).max).astype(np.int32)
    # Of the top layer only the source's row matters, and of the first layer only the column of the sink.
    top, between, columns = capacities[-1, 0], capacities[-2:0:-1], capacities[0].T
    return _largest(top, between, columns) / _UNITS


def _largest(
    top: npt.NDArray[np.int32], between: npt.NDArray[np.int32], columns: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """The largest flow to each sink: `top` are the source's edges, `columns` (sinks, tokens) the edges into each.

    Sinks are independent problems: several copies of the graph, with one source and one sink, are solved in one call.
    """
    tokens, block = len(top), (len(between) + 1) * len(top)
    heads, tails, weights = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0, np.int32)]
    for above, layer in enumerate(between):
        head, tail = np.nonzero(layer)
        heads.append(above * tokens + head)
        tails.append((above + 1) * tokens + tail)
        weights.append(layer[head, tail])
    head, tail, weight = (np.concatenate(parts) for parts in (heads, tails, weights))
    calls = -(-len(columns) // max(1, _EDGES // (len(head) + 2 * tokens)))
    copies = -(-len(columns) // calls)
    start, source, sink = np.arange(copies)[:, None] * block, copies * block, copies * block + 1
    first, last = (start + place + np.arange(tokens) for place in (0, block - tokens))
    rows = [(start + head).ravel(), np.full(first.size, source), last.ravel()]
    onto = [(start + tail).ravel(), first.ravel(), np.full(last.size, sink)]
    # The edges into the sink are set for each group of sinks.
    amounts = [np.tile(weight, copies), np.tile(top, copies), np.ones(last.size, np.int32)]
    size = copies * block + 2
    graph = csr_array((np.concatenate(amounts), (np.concatenate(rows), np.concatenate(onto))), shape=(size, size))
    graph.sort_indices()
    into = np.flatnonzero(graph.indices == sink)  # in the order of copies, then tokens
    found = np.zeros(len(columns), dtype=np.int64)
    for begin in range(0, len(columns), copies):
        group = columns[begin : begin + copies]
        edges = np.zeros((copies, tokens), dtype=np.int32)
        edges[: len(group)] = group
        graph.data[into] = edges.ravel()
        flow = maximum_flow(graph, source, sink).flow
        out = slice(flow.indptr[source], flow.indptr[source + 1])
        each = np.bincount(flow.indices[out] // block, weights=flow.data[out], minlength=copies)
        found[begin : begin + copies] = np.rint(each[: len(group)]).astype(np.int64)
    return found


@dataclass(frozen=True)
class AttentionFlow(Explainer):
    """The largest flow through a transformer's attention to each token: not negative, the same for every target.

    Every layer is half its attention (averaged over heads) and half the token itself. In deep models the flow is often
    no more than what the first layer lets through; `saturation` tells for how many tokens.
    """

    facts = Facts(signed=False, slow=True, needs=("layers",), machinery=("attention",))

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        """(batch, tokens)."""
        scores = torch.zeros(batch.mask.shape, dtype=torch.float64)
        for row, layers in enumerate(self._graphs(model, batch)):
            scores[row, : layers.shape[1]] = torch.from_numpy(attention_flow(layers))
        return scores.to(batch.tokens.device, model.embedding.weight.dtype) * batch.mask

    def checks(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> dict[str, Tensor]:  # noqa: ARG002
        """How much of it is the first layer's attention."""
        return {"saturation": self.saturation(model, batch)}

    def saturation(self, model: TextNetwork, batch: Batch) -> Tensor:
        """(batch,) share of the tokens whose flow is all that the first layer (or the source) lets through: no news."""
        shares = []
        for layers in self._graphs(model, batch):
            most = np.minimum(layers[0].sum(axis=0), 1.0)
            shares.append(float(np.isclose(attention_flow(layers), most, atol=1e-6).mean()))
        return torch.tensor(shares)

    def _graphs(self, model: TextNetwork, batch: Batch) -> Iterator[Floats]:
        network = need_transformer(model, "attention-flow")
        with inspecting(network):
            _, layers = network.attentions(batch)
        mixed = [attention.mean(dim=1).double().cpu().numpy() for attention in layers]
        for row, length in enumerate(batch.text.lengths.tolist()):
            inside = np.stack([attention[row, :length, :length] for attention in mixed])
            yield (inside + np.eye(length)) / 2


TEXT_EXPLAINERS.add("attention-flow", AttentionFlow(), "the largest flow through all of a transformer's attention")
