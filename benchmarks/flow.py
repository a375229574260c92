"""Attention flow against networkx at 32 tokens and 6 layers, and its time at 240 tokens."""

import time

import networkx as nx
import numpy as np

from benchmarks.report import line, seconds
from trueness.kinds.text.explainers.flow import attention_flow

LAYERS = 6


def main() -> None:
    short, long = _layers(32), _layers(240)
    ours = seconds(lambda: attention_flow(short), 5)
    graph = nx.DiGraph()
    for layer in range(LAYERS):
        for above in range(32):
            for below in range(32):
                graph.add_edge((layer + 1, above), (layer, below), capacity=short[layer, above, below])
    begin = time.process_time()
    tokens = 8
    for token in range(tokens):
        nx.maximum_flow_value(graph, (LAYERS, 0), (0, token))
    theirs = (time.process_time() - begin) / tokens * 32
    line(f"attention flow, 32 tokens, {LAYERS} layers, against networkx", theirs / ours, "x", 200, at_least=True)
    taken = seconds(lambda: attention_flow(long), 1)
    line(f"attention flow, 240 tokens, {LAYERS} layers, one instance", taken, "s", 2, at_least=False)
    line("the same, per token pair", taken / 240**2 * 1e6, "us", 2 / 240**2 * 1e6, at_least=False)


def _layers(tokens: int) -> np.ndarray:
    weights = np.exp(np.random.default_rng(0).normal(size=(LAYERS, tokens, tokens)))
    weights /= weights.sum(axis=-1, keepdims=True)
    mixed: np.ndarray = (weights + np.eye(tokens)) / 2
    return mixed
