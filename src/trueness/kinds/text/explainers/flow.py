"""The largest flow through the attention of several layers, exactly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_UNITS = 10**9
"""Capacities are whole numbers of this unit of 1: each is exact to 1e-9."""
_EDGES = 35_000  # of one call: the sinks of short texts are solved together, those of long ones with few edges first
_LARGEST = 16  # edges out of and into each token that are tried first
_PATIENCE = 8  # sinks for which few edges do not suffice, before it is given up where most are such


def attention_flow(layers: Floats) -> Floats:
    """(tokens,) the largest flow to each input token, from (layers, tokens, tokens) capacities, first layer first.

    An edge leads from a token to each token it attends to one layer below, with its weight as capacity; the source is
    the first token on top.
    """
    if len(layers) == 1:
        return np.array(layers[0, 0])
    capacities = np.rint(layers * _UNITS).clip(max=np.iinfo(np.int32).max).astype(np.int32)
    # Of the top layer only the source's row matters, and of the first layer only the column of the sink.
    top, between, columns = capacities[-1, 0], capacities[-2:0:-1], capacities[0].T
    found, sure = np.zeros(len(columns)), np.zeros(len(columns), dtype=bool)
    if 2 * np.count_nonzero(between) > _EDGES:
        for sink, flow in _with_few_edges(top, between, columns):
            found[sink], sure[sink] = flow, True
    for sinks, flows in _with_all_edges(top, between, columns, np.flatnonzero(~sure)):
        found[sinks] = flows
    return found / _UNITS


def _with_few_edges(top: Numbers, between: Numbers, columns: Numbers) -> Iterator[tuple[int, float]]:
    """Sinks with their largest flows, where few edges suffice: no flow is larger than a cut through all edges."""
    exact, there = between.astype(np.float64), between > 0  # sums of whole numbers below 2**53 are exact
    few = _largest(between)
    few[:, 0] = True
    failed = 0
    for sink, column in enumerate(columns):
        if failed > _PATIENCE and 2 * failed > sink:
            return
        some = few.copy()
        some[:, sink], some[:, :, sink] = True, True
        graph, into = _graph(top, between, np.flatnonzero(some & there))
        graph.data[into] = column
        source = graph.shape[0] - 2
        flow = maximum_flow(graph, source, source + 1)
        cut = min(top.sum(dtype=np.int64), column.sum(dtype=np.int64))
        if cut > flow.flow_value:
            left = graph - flow.flow
            left.eliminate_zeros()
            reached = np.zeros(graph.shape[0], dtype=bool)
            reached[breadth_first_order(left, source, return_predecessors=False)] = True
            cut = _cut(top, exact, column, reached[:source].reshape(-1, len(top)))
        if cut == flow.flow_value:
            yield sink, float(cut)
        else:
            failed += 1


def _largest(between: Numbers) -> Bools:
    """(layers, tokens, tokens): whether an edge is among the largest out of a token, or into one."""
    found, number = np.zeros(between.shape, dtype=bool), min(_LARGEST, between.shape[-1])
    for axis in (1, 2):
        order = np.argpartition(between, -number, axis=axis)
        np.put_along_axis(found, order.take(range(-number, 0), axis=axis), True, axis=axis)
    return found


def _cut(top: Numbers, between: Floats, column: Numbers, reached: Bools) -> float:
    """The capacity of all edges out of what is reached, (layers, tokens)."""
    inside = sum(
        float(weights[above].sum(axis=0)[~below].sum())
        for weights, above, below in zip(between, reached[:-1], reached[1:], strict=True)
    )
    return float(top[~reached[0]].sum(dtype=np.int64)) + inside + float(column[reached[-1]].sum(dtype=np.int64))


def _with_all_edges(top: Numbers, between: Numbers, columns: Numbers, sinks: Places) -> Iterator[tuple[Places, Floats]]:
    """Some sinks at a time with their largest flows.

    They are independent problems: several copies of the graph, with one source and one sink, are solved in one call.
    """
    if not len(sinks):
        return
    places, block = np.flatnonzero(between), (len(between) + 1) * len(top)
    calls = -(-len(sinks) // max(1, _EDGES // (len(places) + 2 * len(top))))
    copies = -(-len(sinks) // calls)
    graph, into = _graph(top, between, places, copies)
    source = graph.shape[0] - 2
    for begin in range(0, len(sinks), copies):
        group = sinks[begin : begin + copies]
        edges = np.zeros((copies, len(top)), dtype=np.int32)
        edges[: len(group)] = columns[group]
        graph.data[into] = edges.ravel()
        flow = maximum_flow(graph, source, source + 1).flow
        out = slice(flow.indptr[source], flow.indptr[source + 1])
        each = np.bincount(flow.indices[out] // block, weights=flow.data[out], minlength=copies)
        yield group, each[: len(group)].astype(np.float64)


def _graph(top: Numbers, between: Numbers, places: Places, copies: int = 1) -> tuple[csr_array, Places]:
    """Copies of some edges between the layers, then the source and the sink; and where the edges into the sink are."""
    tokens, block = len(top), (len(between) + 1) * len(top)
    start, size = np.arange(copies)[:, None] * block, copies * block + 2
    # Row by row: the tokens of all layers, of which the last have one edge, into the sink; the source.
    heads, below = np.divmod(places, tokens)
    tails = start + (heads // tokens + 1) * tokens + below
    lengths = np.append(np.bincount(heads, minlength=block - tokens), np.ones(tokens, np.int64))
    into = np.full((copies, tokens), size - 1)
    indices = np.append(np.hstack([tails, into]).ravel(), start + np.arange(tokens)).astype(np.int32)
    weights = np.append(between.ravel()[places], np.zeros(tokens, np.int32))
    data = np.append(np.tile(weights, copies), np.tile(top, copies))
    rows = np.concatenate([[0], np.tile(lengths, copies), [copies * tokens, 0]]).cumsum().astype(np.int32)
    return csr_array((data, indices, rows), shape=(size, size)), np.flatnonzero(indices == size - 1)
