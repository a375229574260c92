"""The kernels compute the recurrence, token by token. Without a GPU Triton interprets them: `pip install triton`."""

import itertools
import os

import pytest
import torch

from tests.models.stacks import loops_of, separately
from tests.models.test_attentive import VOCABULARY, build
from tests.protocols.roar.test_hiding import texts
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.models import encoders
from trueness.kinds.text.models import recurrence as literal
from trueness.kinds.text.models.stack import Stack
from trueness.models.cuda_graphs import CrossEntropy
from trueness.models.network import inspecting
from trueness.models.recipes import Recipe

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported
pytest.importorskip("triton", reason="needs Triton, which comes with torch for GPUs")
kernels = pytest.importorskip("trueness.kinds.text.models.recurrence_kernels")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def one_direction(gates, weight, order):
    """States, the states before them, cells, and gates after their functions of one row: equations of an LSTM."""
    state = cell = torch.zeros(weight.shape[-1], dtype=torch.double)
    found = {}
    for token in order:
        parts = (gates[token].double() + weight.double() @ state).chunk(4)
        entering, forgetting, leaving = (parts[which].sigmoid() for which in (0, 1, 3))
        new = parts[2].tanh()
        before, cell = state, forgetting * cell + entering * new
        state = leaving * cell.tanh()
        found[token] = (state, before, cell, torch.cat([entering, forgetting, new, leaving]))
    return [torch.stack([found[token][which] for token in sorted(found)]) for which in range(4)]


def token_by_token(gates, weight, lengths):
    """The same of both directions, the second backwards within a row's length, and of all rows and models."""
    models, batch, tokens, _ = gates.shape
    rows = []
    for model, row in itertools.product(range(models), range(batch)):
        there, back = gates[model, row].chunk(2, dim=-1)
        length = int(lengths[model, row])
        first = one_direction(there, weight[model, 0], range(tokens))
        second = one_direction(back, weight[model, 1], [*range(length - 1, -1, -1), *range(length, tokens)])
        rows.append([torch.cat(parts, dim=-1) for parts in zip(first, second, strict=True)])
    return [torch.stack(parts).view(models, batch, tokens, -1) for parts in zip(*rows, strict=True)]


# Fewer rows than a program takes, and more; units that fill what is compiled, and that do not; one token.
SHAPES = [(1, 1, 1, 4), (3, 5, 7, 16), (1, 40, 3, 20), (2, 33, 6, 24)]


def some(models, batch, tokens, hidden):
    """Gates, weights and lengths."""
    lengths = torch.randint(1, tokens + 1, (models, batch))
    return torch.randn(models, batch, tokens, 8 * hidden), torch.randn(models, 2, 4 * hidden, hidden), lengths


@pytest.mark.parametrize(("hidden", "warps"), [(8, 2), (20, 4), (32, 4), (64, 8), (128, 8)])
def test_programs_are_as_large_as_their_units(hidden, warps):
    grid, how = kernels._how(torch.empty(50, 250, 1, 1), hidden)
    assert (how["ROWS"], how["num_warps"]) == (16, warps)
    assert grid == (100, 16), "both directions"


@pytest.mark.parametrize("shape", SHAPES)
def test_states_are_those_of_lstms(shape):
    torch.manual_seed(0)
    parts = some(*shape)
    found = kernels.forwards(*(part.to(DEVICE) for part in parts))
    for mine, theirs in zip(found, token_by_token(*parts), strict=True):
        assert mine.shape == theirs.shape
        assert (mine.cpu() - theirs).norm() <= 2e-3 * theirs.norm()
    (alone,) = kernels.forwards(*(part.to(DEVICE) for part in parts), keep=False)
    assert torch.equal(alone, found[0])


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_those_of_the_equations(shape):
    torch.manual_seed(1)
    gates, weight, lengths = some(*shape)
    leaf = gates.double().requires_grad_()
    states, _, cells, saved = token_by_token(leaf, weight, lengths)
    grown = torch.randn(states.shape)
    (wanted,) = torch.autograd.grad((states * grown).sum(), leaf)
    for factor in (1.0, 1e-12):
        first, *rest = (part.detach().float().to(DEVICE) for part in (grown * factor, weight, cells, saved))
        found = kernels.backwards(first, rest[0], lengths.to(DEVICE), *rest[1:]).cpu().double() / factor
        assert (found - wanted).norm() < 1e-3 * wanted.norm()


def rounded(values, digits=10):
    """Numbers with so many binary digits after the first: TF32 has ten."""
    fraction, exponent = torch.frexp(values)
    return torch.ldexp((fraction * 2 ** (digits + 1)).round() / 2 ** (digits + 1), exponent)


def test_products_are_rounded_no_more_than_cudnn_rounds_them():
    torch.manual_seed(4)
    gates, weight = torch.randn(1, 8, 30, 8 * 32), torch.randn(1, 2, 4 * 32, 32) * 0.3
    lengths = torch.full((1, 8), 30)
    exact = token_by_token(gates, weight, lengths)[0]
    errors = {}
    for digits in (9, 10):
        both = []
        for direction, tokens in enumerate((range(30), range(29, -1, -1))):
            state = cell = torch.zeros(8, 32)
            states = {}
            for token in tokens:
                inner = rounded(state, digits) @ rounded(weight[0, direction], digits).T
                outer = gates[0, :, token].chunk(2, dim=-1)[direction]
                entering, forgetting, new, leaving = (outer + inner).chunk(4, dim=-1)
                cell = forgetting.sigmoid() * cell + entering.sigmoid() * new.tanh()
                states[token] = state = leaving.sigmoid() * cell.tanh()
            both.append(torch.stack([states[token] for token in range(30)], dim=1))
        errors[digits] = float((torch.cat(both, dim=-1)[None] - exact).norm())
    found = kernels.forwards(gates.to(DEVICE), weight.to(DEVICE), lengths.to(DEVICE))[0].cpu()
    assert float((found - exact).norm()) < 1.2 * errors[10] < errors[9]


def test_inputs_that_are_views_are_read_as_they_are_meant():
    torch.manual_seed(2)
    gates = torch.randn(3, 2, 7, 64).transpose(0, 1)
    weight = torch.randn(2, 2, 8, 32).transpose(2, 3)
    lengths = torch.tensor([[7, 2], [1, 4], [3, 5]]).T
    found = kernels.forwards(gates.to(DEVICE), weight.to(DEVICE), lengths.to(DEVICE))
    for mine, theirs in zip(found, token_by_token(gates, weight, lengths), strict=True):
        assert (mine.cpu() - theirs).norm() <= 2e-3 * theirs.norm()


def test_training_through_the_kernels_is_training_token_by_token(monkeypatch):
    torch.manual_seed(3)
    gates, weight = torch.randn(5, 6, 32, device=DEVICE), torch.randn(2, 16, 4, device=DEVICE)
    grown, lengths = torch.randn(5, 6, 8, device=DEVICE), torch.tensor([6, 1, 3, 5, 6], device=DEVICE)
    found = {}
    for name, chosen in (("kernels", kernels), ("loop", None)):
        monkeypatch.setattr(literal, "kernels_for", lambda *_, chosen=chosen: chosen)
        leaves = [part.clone().requires_grad_() for part in (gates, weight)]
        both = [leaf[None].expand(2, *leaf.shape) for leaf in leaves]
        mapped = torch.vmap(literal.recurrence, in_dims=(0, 0, None))(*both, lengths)
        found[name] = [mapped, *torch.autograd.grad((mapped * grown).sum(), leaves)]
    for mine, theirs in zip(found["kernels"], found["loop"], strict=True):
        assert (mine - theirs).norm() < 2e-3 * theirs.norm()


@pytest.mark.parametrize("gradients", [False, True])
def test_a_model_is_the_same_through_the_kernels(gradients, monkeypatch):
    network = build("bilstm").float().to(DEVICE)
    batch = EncodedSplit(texts(), VOCABULARY, DEVICE).batch([0, 3, 5, 7])
    found = {}
    for name, chosen in (("kernels", kernels), ("library", None)):
        for module in (literal, encoders):
            monkeypatch.setattr(module, "kernels_for", lambda *_, chosen=chosen: chosen)
        with inspecting(network, gradients=gradients):
            embeddings = network.embed(batch).detach().requires_grad_(gradients)
            seen = network(batch, embeddings=embeddings)
            found[name] = [seen.logits, seen.attention]
            if gradients:
                found[name] += torch.autograd.grad(seen.logits[:, 0].sum(), embeddings)
    for mine, theirs in zip(found["kernels"], found["library"], strict=True):
        assert (mine - theirs).norm() < 2e-3 * theirs.norm()


def test_a_stack_is_trained_the_same_through_the_kernels(monkeypatch):
    split = EncodedSplit(texts(40), VOCABULARY, DEVICE)
    recipe = Recipe(epochs=1, batch_size=16)
    loops = loops_of(build("bilstm").config, recipe, [split] * 3, [CrossEntropy(split)] * 3, [3, 4, 5], DEVICE)
    wanted = separately(loops, DEVICE, 1)
    used = []
    monkeypatch.setattr(literal, "kernels_for", lambda values, _: used.append(values.shape[0]) or kernels)
    Stack(loops).epoch()
    assert set(used) == {3}, "all models at once"
    for loop, (network, total) in zip(loops, wanted, strict=True):
        assert float(loop.total) == pytest.approx(total, rel=1e-2)
        for name, own in loop.network.named_parameters():
            assert torch.allclose(own, network.get_parameter(name), atol=4e-3), name


def full(*_, **__):
    raise RuntimeError("CUDA error: out of memory")


def refuse(*_, **__):
    raise RuntimeError("out of resource: shared memory\nand more")


@pytest.mark.parametrize(
    ("name", "wrong", "reason"),
    [
        ("forwards", refuse, "out of resource: shared memory"),
        ("backwards", lambda *parts: torch.zeros_like(parts[-1]), "its results are wrong"),
    ],
)
def test_where_triton_does_not_work_there_is_another_way(name, wrong, reason, monkeypatch):
    assert literal._kernels.__wrapped__(torch.device(DEVICE), 8) is kernels
    assert literal._kernels.__wrapped__(torch.device(DEVICE), kernels.WIDEST + 1) is None
    monkeypatch.setattr(kernels, name, full)
    with pytest.raises(RuntimeError, match="CUDA error: out of memory"):  # another time there may be room
        literal._kernels.__wrapped__(torch.device(DEVICE), 8)
    monkeypatch.setattr(kernels, name, wrong)
    with pytest.warns(UserWarning, match=rf"Triton does not work here \({reason}\)"):
        assert literal._kernels.__wrapped__(torch.device(DEVICE), 8) is None


@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU")
def test_they_are_chosen_where_products_may_be_rounded(monkeypatch):
    values = torch.zeros(1, 1, 1, 16, device=DEVICE)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    assert literal.kernels_for(values, 4) is kernels
    assert literal.kernels_for(values.double(), 4) is None
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    assert literal.kernels_for(values, 4) is None
