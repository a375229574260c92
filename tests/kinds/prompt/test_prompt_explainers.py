"""Explainers of language models: right about a model built by hand, and as their definitions say."""

import itertools

import numpy as np
import pytest
import torch

from tests.kinds.prompt.models import ALONE, CONTEXTS, EXAMPLE, QUESTION, copier, of, slow_logits
from trueness.errors import Unsupported
from trueness.kinds.prompt.data.prompts import PromptExample
from trueness.kinds.prompt.explainers.catalogue import FOILS, PROMPT_EXPLAINERS
from trueness.kinds.prompt.explainers.masked_copies import sparse
from trueness.kinds.prompt.explainers.told import cited
from trueness.models.network import inspecting

COLOURS = ("blue", "green", "black", "white", "gold", "pink")
NUMBERS = ("11", "22", "33", "44", "55", "66")


def conflict(seed):
    """Six boxes with codes; two of the same colour have different ones, and the later one is what the model says."""
    rng = np.random.default_rng(seed)
    colours, codes = rng.permutation(COLOURS), rng.permutation(NUMBERS)
    early, late = sorted(rng.choice(6, 2, replace=False))
    colours[early] = colours[late]
    contexts = tuple(f"the box {colour} {code} is in town" for colour, code in zip(colours, codes, strict=True))
    question = f"code of the box {colours[late]}"
    return PromptExample(question, contexts, str(codes[late]), alternatives=(str(codes[early]),)), int(late)


RIGHT = ("leave-one-out", "context-cite", "kernel-shap", "lime", "occlusion[sliding_window_shapes=1]")


@pytest.mark.parametrize("name", RIGHT)
def test_names_the_source(name):
    model = copier()
    drawn = [conflict(seed) for seed in range(20)]
    split = model.coded([one for one, _ in drawn])
    scores = PROMPT_EXPLAINERS[name].attribute(model.network, split.batch(range(20)))
    assert scores.argmax(dim=-1).tolist() == [source for _, source in drawn]


@pytest.mark.parametrize("name", ["overlap-question", "random", "position", "position-first", "retriever-order"])
def test_foils_do_not(name):
    model = copier()
    drawn = [conflict(seed) for seed in range(40)]
    scores = PROMPT_EXPLAINERS[name].attribute(model.network, model.coded([one for one, _ in drawn]).batch(range(40)))
    wins = sum(int(row.argmax()) == source for row, (_, source) in zip(scores, drawn, strict=True))
    assert wins < 25  # of two passages that are alike, overlap takes the first; the model reads the second


@pytest.mark.parametrize("family", ["llama", "t5"])
@pytest.mark.parametrize("units", ["passages", "sentences", "words"])
def test_leave_one_out_by_plain_passes(family, units):
    model = of(family)
    split = model.coded([EXAMPLE], units)
    (coded,), batch = split.coded, split.batch([0])
    found = PROMPT_EXPLAINERS["leave-one-out"].attribute(model.network, batch, 0)[0]
    whole = slow_logits(model.network.model, coded)[0]
    each = [whole - slow_logits(model.network.model, coded, (unit,))[0] for unit in range(len(coded.names))]
    assert torch.allclose(found, torch.stack(each), atol=1e-5)


def test_kernel_shap_by_all_coalitions():
    model = of("llama")
    split = model.coded([EXAMPLE])
    found = PROMPT_EXPLAINERS["kernel-shap"].attribute(model.network, split.batch([0]), 0)[0]
    count = len(CONTEXTS)
    said = {
        kept: float(slow_logits(model.network.model, split.coded[0], set(range(count)) - set(kept))[0])
        for size in range(count + 1)
        for kept in itertools.combinations(range(count), size)
    }
    for unit in range(count):
        gains = []
        for order in itertools.permutations(range(count)):
            before = tuple(sorted(order[: order.index(unit)]))
            gains.append(said[tuple(sorted((*before, unit)))] - said[before])
        assert float(found[unit]) == pytest.approx(np.mean(gains), abs=1e-4)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3"])
def test_attention_is_that_of_a_plain_pass(family):
    model = of(family)
    split = model.coded([ALONE])
    batch, (coded,) = split.batch([0]), split.coded
    read = [*coded.tokens, *coded.answers[0][:-1]]
    network = model.network.model
    network.set_attn_implementation("eager")
    with torch.no_grad():
        layers = network(input_ids=torch.tensor([read]), output_attentions=True).attentions
    network.set_attn_implementation("sdpa")
    rows = torch.stack(layers)[:, 0, :, len(coded.tokens) - 1 :]
    unit = torch.tensor(coded.unit)

    def summed(per_token):
        return torch.stack([per_token[: len(unit)][unit == number].sum() for number in range(3)])

    found = {
        name: PROMPT_EXPLAINERS[name].attribute(model.network, batch)[0] for name in ("attention", "attention-last")
    }
    assert torch.allclose(found["attention"], summed(rows.mean(dim=(0, 1, 2))), atol=1e-5)
    assert torch.allclose(found["attention-last"], summed(rows[-1].mean(dim=(0, 1))), atol=1e-5)
    one = PROMPT_EXPLAINERS["attention[1,2]"].attribute(model.network, batch)[0]
    assert torch.allclose(one, summed(rows[0, 1].mean(dim=0)), atol=1e-5)
    mixed = torch.eye(len(read))
    for layer in layers:
        mixed = (layer[0].mean(dim=0) + torch.eye(len(read))) / 2 @ mixed
    rolled = PROMPT_EXPLAINERS["attention-rollout"].attribute(model.network, batch)[0]
    assert torch.allclose(rolled, summed(mixed[len(coded.tokens) - 1 :].mean(dim=0)), atol=1e-5)
    assert network.config._attn_implementation == "sdpa"
    with pytest.raises(Unsupported, match="layers 1 to"):
        PROMPT_EXPLAINERS["attention[4]"].attribute(model.network, batch)


@pytest.mark.parametrize("units", ["passages", "tokens"])
@pytest.mark.parametrize("family", ["llama", "gpt2", "t5"])
def test_every_explainer_runs(family, units):
    model = of(family)
    split = model.coded([EXAMPLE, PromptExample(QUESTION, CONTEXTS[:2], "red [2]")], units)
    batch = split.batch([0, 1])
    refused = []
    for name in (*PROMPT_EXPLAINERS, "attention[1]"):
        for some in (batch, batch.finest()):
            try:
                scores = PROMPT_EXPLAINERS[name].attribute(model.network, some)
            except Unsupported:
                refused.append(name)
                continue
            assert scores.shape == some.mask.shape
            assert bool(scores[some.mask].abs().sum() > 0), name
    gradients = {"gradient", "input-x-gradient", "integrated-gradients", "smooth-gradient", "gradient-shap"}
    expected = gradients | {"attention-rollout"} if family == "t5" else set()
    assert set(refused) == expected
    assert set(FOILS) < set(PROMPT_EXPLAINERS)


def test_citations():
    assert cited(PromptExample("", ("a", "b", "c"), "It is so [2], or so [1, 9].")) == (1, 0)
    assert cited(PromptExample("", ("a", "b"), "It is so [2].", citations=(0, 5))) == (0,)
    assert cited(PromptExample("", ("a", "b"), "It is so.")) is None
    model = of("llama")
    with pytest.raises(Unsupported, match="None of these answers cites"):
        PROMPT_EXPLAINERS["citations"].attribute(model.network, model.coded([EXAMPLE]).batch([0]))


def test_sparse_regression_finds_what_counts():
    rng = np.random.default_rng(0)
    keep = (rng.random((64, 12)) < 0.5).astype(float)
    said = 3 * keep[:, 4] - 2 * keep[:, 7] + 0.01 * rng.standard_normal(64)
    found = sparse(keep, said, 0.01)
    assert found[4] == pytest.approx(3, abs=0.1)
    assert found[7] == pytest.approx(-2, abs=0.1)
    assert np.abs(np.delete(found, [4, 7])).max() < 0.05
    assert not sparse(keep, np.ones(64), 0.01).any()


def test_same_in_any_company():
    model = of("llama")
    both = model.coded([EXAMPLE, ALONE])
    for name in ("context-cite", "lime", "random"):
        together = PROMPT_EXPLAINERS[name].attribute(model.network, both.batch([0, 1]), 0)
        with inspecting(model.network):
            alone = PROMPT_EXPLAINERS[name].attribute(model.network, both.batch([1]), 0)
        assert torch.allclose(together[1, :3], alone[0], atol=1e-4)
