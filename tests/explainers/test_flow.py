import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueness.kinds.text.explainers import flow
from trueness.kinds.text.explainers.flow import attention_flow


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
    layers = layers_of(3, 6, 2.0)
    layers[layers < 0.05] = 0
    monkeypatch.setattr(flow, "_EDGES", 1)
    assert attention_flow(layers) == pytest.approx(literal(layers), abs=1e-7)


@settings(max_examples=25, deadline=None)
@given(depth=st.integers(2, 5), tokens=st.integers(1, 7), sharp=st.floats(0, 5), seed=st.integers(0, 99))
def test_few_edges_suffice_or_all_are_taken(depth, tokens, sharp, seed):
    layers = layers_of(depth, tokens, sharp, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow, "_EDGES", 1)
        patch.setattr(flow, "_LARGEST", 1)
        assert attention_flow(layers) == pytest.approx(literal(layers), abs=1e-7)


def test_of_a_long_text_few_edges_give_what_all_give(monkeypatch):
    layers = layers_of(6, 100, 2.5)
    capacities = np.rint(layers * 1e9).astype(np.int32)
    few = dict(flow._with_few_edges(capacities[-1, 0], capacities[-2:0:-1], capacities[0].T))
    assert len(few) > 80, "nearly all flows are sure at once"
    found = attention_flow(layers)
    monkeypatch.setattr(flow, "_EDGES", 10**9)
    assert (attention_flow(layers) == found).all()
    for largest in (1, 4):
        monkeypatch.setattr(flow, "_LARGEST", largest)
        monkeypatch.setattr(flow, "_EDGES", 35_000)
        assert (attention_flow(layers) == found).all()


def test_it_never_exceeds_what_the_first_layer_and_the_source_let_through():
    layers = layers_of(6, 12, 3.0)
    found = attention_flow(layers)
    assert (found <= np.minimum(layers[0].sum(axis=0), 1.0) + 1e-7).all()
    assert attention_flow(layers[:1]) == pytest.approx(layers[0, 0])
