import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueness.explainers.transformers import attention_flow


def layers_of(depth, tokens, sharp=1.0, seed=0):
    weights = np.exp(sharp * np.random.default_rng(seed).normal(size=(depth, tokens, tokens)))
    weights /= weights.sum(axis=-1, keepdims=True)
    return (weights + np.eye(tokens)) / 2


def literal(layers):
    """Abnar and Zuidema's graph, one maximum flow per input token."""
    graph = nx.DiGraph()
    depth, tokens, _ = layers.shape
    for layer in range(depth):
        for above in range(tokens):
            for below in range(tokens):
                graph.add_edge((layer + 1, above), (layer, below), capacity=layers[layer, above, below])
    return [nx.maximum_flow_value(graph, (depth, 0), (0, token)) for token in range(tokens)]


@settings(max_examples=25, deadline=None)
@given(depth=st.integers(1, 4), tokens=st.integers(1, 7), sharp=st.floats(0, 5), seed=st.integers(0, 99))
def test_it_equals_networkx(depth, tokens, sharp, seed):
    layers = layers_of(depth, tokens, sharp, seed)
    assert attention_flow(layers) == pytest.approx(literal(layers), abs=1e-7)


def test_zero_capacities_and_several_calls(monkeypatch):
    from trueness.explainers import transformers

    layers = layers_of(3, 6, 2.0)
    layers[layers < 0.05] = 0
    monkeypatch.setattr(transformers, "_EDGES", 1)
    assert attention_flow(layers) == pytest.approx(literal(layers), abs=1e-7)


def test_it_never_exceeds_what_the_first_layer_and_the_source_let_through():
    layers = layers_of(6, 12, 3.0)
    found = attention_flow(layers)
    assert (found <= np.minimum(layers[0].sum(axis=0), 1.0) + 1e-7).all()
    assert attention_flow(layers[:1]) == pytest.approx(layers[0, 0])
