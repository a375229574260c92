"""How likely answers are: whatever is shared and batched, the numbers are those of plain passes."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kinds.prompt.models import ALONE, CONTEXTS, EXAMPLE, QUESTION, of, slow_likelihood, slow_logits
from trueness.errors import UserError
from trueness.kinds.prompt.data.prompts import PromptExample
from trueness.kinds.prompt.models import reader as readers
from trueness.kinds.prompt.models.reader import Reader
from trueness.kinds.prompt.models.sequences import Wanted, calls, common, distinct
from trueness.models.network import inspecting

FAMILIES = ("llama", "gpt2", "mistral", "gemma2", "gemma3", "t5")


def without_each(coded):
    """Of a coded prompt, the tokens that are left without each unit, and all of them."""
    for gone in (*range(len(coded.names)), None):
        yield np.array([token for token, block in zip(coded.tokens, coded.block, strict=True) if block != gone])


@pytest.mark.parametrize("overhead", [0, 40, 10_000])
@pytest.mark.parametrize("family", FAMILIES)
def test_as_plain_passes(family, overhead, monkeypatch):
    monkeypatch.setitem(readers._OVERHEAD, "cpu", overhead)
    model = of(family)
    (coded,) = model.code([EXAMPLE])
    answers = [np.array(answer) for answer in coded.answers]
    wanted = [Wanted(prompt, answer) for prompt in without_each(coded) for answer in answers]
    reader = Reader(model.network.model)
    with inspecting(model.network):
        found = reader.likelihood(wanted, 1 << 30)
    assert reader.shares is (family != "t5")
    for number, one in enumerate(wanted):
        slow = slow_likelihood(model.network.model, one.prompt, one.answer)
        assert torch.allclose(found.own[number, : len(slow)], slow, atol=1e-5)


def test_runner_up():
    model = of("llama")
    (coded,) = model.code([ALONE])
    prompt, answer = np.array(coded.tokens), np.array(coded.answers[0])
    with inspecting(model.network):
        found = Reader(model.network.model).likelihood([Wanted(prompt, answer)], 1 << 30)
    sequence = torch.tensor([[*prompt, *answer]])
    with torch.no_grad():
        said = model.network.model(input_ids=sequence).logits[0, len(prompt) - 1 : -1].log_softmax(dim=-1)
    said[torch.arange(len(answer)), torch.from_numpy(answer)] = -torch.inf
    assert torch.allclose(found.runner_up[0], said.amax(dim=-1), atol=1e-5)


def test_little_memory_changes_nothing():
    model = of("llama")
    (coded,) = model.code([EXAMPLE])
    wanted = [Wanted(prompt, np.array(answer)) for prompt in without_each(coded) for answer in coded.answers]
    with inspecting(model.network):
        some, many = (Reader(model.network.model).likelihood(wanted, most).own for most in (1, 1 << 30))
    assert torch.allclose(some, many, atol=1e-5)


def test_logits_are_what_they_say():
    model = of("llama")
    split = model.coded([EXAMPLE])
    batch = split.batch([0, 0])
    hidden = batch.hide(torch.tensor([[False] * 4, [True, False, True, False]]))
    with inspecting(model.network):
        found = model.network.logits(hidden)
    slow = [slow_logits(model.network.model, split.coded[0], gone) for gone in ((), (0, 2))]
    assert torch.allclose(found, torch.stack(slow), atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES[:-1])
def test_from_embeddings(family):
    model = of(family)
    batch = model.coded([EXAMPLE, ALONE]).batch([0, 1])
    batch = batch.hide(torch.tensor([[True, False, False, False], [False, True, False, False]]))
    with inspecting(model.network):
        found = model.network.logits(batch, values=model.network.values(batch))
        assert torch.allclose(found, model.network.logits(batch), atol=1e-4)


def test_label_words():
    model = of("llama").with_(labels=("yes", "no", "good film"), score="likelihood")
    split = model.coded([PromptExample("It is a good film")])
    with inspecting(model.network):
        (found,) = model.network.logits(split.batch([0]))
    coded = split.coded[0]
    slow = [slow_likelihood(model.network.model, coded.tokens, answer).sum() for answer in coded.answers]
    assert torch.allclose(found, torch.stack(slow), atol=1e-5)
    with inspecting(model.network):
        contrast = model.with_(score="contrast").network.logits(split.batch([0]))[0]
    assert torch.allclose(contrast, found - found.mean(), atol=1e-5)
    with pytest.raises(UserError, match="two or more different"):
        model.with_(labels=("yes", "yes"))


def test_own_answers_are_predicted():
    model = of("llama")
    examples = [PromptExample(QUESTION, CONTEXTS[number:]) for number in range(4)]
    split = model.coded(examples)
    with inspecting(model.network):
        found = model.network.logits(split.batch(range(4)))
    assert (found.argmax(dim=-1) == 0).all()


def test_a_part_of_the_answer():
    model = of("llama")
    parts, rows = model.by_sentence([ALONE, EXAMPLE])
    assert rows == [0, 0, 1]
    assert [one.answer[slice(*one.part)] for one in parts] == ["red.", "It is old.", "blue by the sea"]
    coded = model.code(parts[:2])
    slow = slow_likelihood(model.network.model, coded[0].tokens, coded[0].answers[0])
    with inspecting(model.network):
        found = model.network.logits(model.coded(parts[:2]).batch([0, 1]))[:, 0]
    assert torch.allclose(found, torch.stack([slow[:2].mean(), slow[2:].mean()]), atol=1e-5)


def test_remembered_until_weights_change():
    model = of("llama")
    batch = model.coded([EXAMPLE]).batch([0])
    network = model.network
    with inspecting(network):
        first, computed = network.logits(batch), network.reader.computed
        assert torch.equal(network.logits(batch), first)
        assert network.reader.computed == computed
        with network.noisy(0.1, 0):
            assert not torch.equal(network.logits(batch), first)
        assert torch.equal(network.logits(batch), first)
        with torch.no_grad():
            next(network.parameters()).mul_(1.5)
        assert not torch.equal(network.logits(batch), first)


SEQUENCES = st.lists(
    st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=8), st.integers(1, 3)), min_size=1, max_size=9
)


@settings(max_examples=200, deadline=None)
@given(SEQUENCES, st.sampled_from([0, 3, 1000]))
def test_calls_hold_everything_once(drawn, overhead):
    wanted = [Wanted(np.array(tokens), np.array([1] * length)) for tokens, length in drawn]
    readings = distinct(wanted)
    assert sorted(number for one in readings for number in one.asked) == list(range(len(wanted)))
    made = list(calls(readings, overhead, 10_000))
    assert [one for call in made for one in call.readings] == readings
    before = np.zeros(0, dtype=np.int64)
    for call in made:
        assert call.shared <= common(before, call.readings[0].tokens)
        for one in call.readings:
            assert common(call.readings[0].tokens, one.tokens) >= call.ahead
            assert call.shared <= call.ahead <= one.first
        before = call.readings[-1].tokens
    if not overhead:  # every part of the tree is computed once, but for last tokens of prompts that two answers share
        tree = {tuple(one.tokens[:length].tolist()) for one in readings for length in range(1, len(one.tokens) + 1)}
        again = sum(len(one.tokens) - one.first for one in readings)
        assert len(tree) <= sum(call.tokens for call in made) <= len(tree) + again
