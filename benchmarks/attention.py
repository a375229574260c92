"""Permuted and adversarial attention: through per-token logits, in closed form and exactly, against what papers do."""

import functools
import subprocess
import sys
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.report import line, seconds
from trueness.kinds.text.attention.adversary import strongest_in_slab, vertex_adversary
from trueness.kinds.text.attention.permutation import permuted, permuted_logit, sampled_median
from trueness.kinds.text.attention.search import Search, _loss
from trueness.kinds.text.attention.view import AttentionView
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.models.attentive import AttentiveClassifier, AttentiveConfig
from trueness.stats.differentiable import total_variation

WORDS, BATCH, PERMUTATIONS, STEPS = 3000, 32, 100, 500
MEGABYTES, MANY = 64, 256


@torch.no_grad()
def main() -> None:
    view, model = _view(180)
    decoding = seconds(lambda: _decode_each(view, model))
    sampling = seconds(lambda: sampled_median(view, PERMUTATIONS))
    closed = seconds(lambda: permuted_logit(view).median_change())
    line(
        "100 permutations through token logits, 180 tokens, against decoding each",
        decoding / sampling,
        "x",
        4,
        at_least=True,
    )
    line("permutation in closed form, 180 tokens, against 100 samples", sampling / closed, "x", 5, at_least=True)
    truth = sampled_median(view, 5000, seed=1)
    line("median change of output, mean over the batch", 1000 * float(truth.mean()), "x 0.001", 50, at_least=True)
    for name, value in (
        ("closed form", permuted_logit(view).median_change()),
        ("100 samples", sampled_median(view, PERMUTATIONS, seed=2)),
    ):
        error = float((value - truth).abs().mean())
        line(
            f"median change of output, {name}: mean error against 5,000 samples, x 1000",
            1000 * error,
            "",
            20,
            at_least=False,
        )
    for tokens, limit in ((20, 100), (200, 20)):
        view, model = _view(tokens)
        exact = seconds(functools.partial(vertex_adversary, view, 0.01))
        searching = seconds(functools.partial(_published_search, view, model), 1)
        name = f"exact adversary, {tokens} tokens, batch {BATCH}, against the published search"
        line(name, searching / exact, "x", limit, at_least=True)
    used = float(subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True, check=True).stdout)
    name = f"exact adversary, 2,000 tokens, batch {MANY}, bounded to {MEGABYTES} MB: memory used"
    line(name, used, "MB", 4 * MEGABYTES, at_least=False)


def _view(tokens: int) -> tuple[AttentionView, AttentiveClassifier]:
    torch.manual_seed(0)
    words = [f"w{number}" for number in range(WORDS)]
    vocabulary = Vocabulary.of([TextExample(tuple(words), 0)])
    examples = [TextExample(tuple(words[n] for n in torch.randint(WORDS, (tokens,))), 0) for _ in range(BATCH)]
    config = AttentiveConfig(len(vocabulary), 2, embedding=100, hidden=128, one_logit=True)
    model = AttentiveClassifier(config).eval()
    for name, parameter in model.named_parameters():
        if name in ("attention.weights.weight", "output.weight"):
            parameter.mul_(40.0)  # about as peaked and as sure as a trained model
    return AttentionView(model, EncodedSplit(examples, vocabulary).batch(range(BATCH))), model


def _decode_each(view: AttentionView, model: AttentiveClassifier) -> Tensor:
    """Algorithm 2 as it is written: every permuted attention is decoded from the states."""
    generator = torch.Generator().manual_seed(0)
    changes = []
    for _ in range(PERMUTATIONS):
        weights = permuted(view.attention.float(), view.mask, 1, generator)[:, 0]
        changed = torch.softmax(model.decode(view.states, weights, view.batch), dim=-1)
        changes.append(total_variation(changed.double(), view.probability))
    return torch.stack(changes).quantile(0.5, dim=0)


def _published_search(view: AttentionView, model: AttentiveClassifier) -> None:
    """500 steps of Adam over 5 candidates, decoded from the states, as the authors' code does."""
    how = Search()
    logits = torch.randn(BATCH, how.candidates, view.mask.shape[1]).mul_(how.noise).requires_grad_()
    optimiser = torch.optim.Adam([logits], lr=how.learning_rate, amsgrad=True)
    observed, target = view.attention.float()[:, None], view.probability.float()[:, None]
    with torch.enable_grad():
        for _ in range(STEPS):
            attention = torch.softmax(logits.masked_fill(~view.mask[:, None], -torch.inf), dim=-1)
            mixed = torch.einsum("bkt,bth->bkh", attention, view.states)
            change = total_variation(torch.softmax(model._logits(mixed), dim=-1), target)
            (logits.grad,) = torch.autograd.grad(_loss(how, attention, observed, change, 2), logits)
            optimiser.step()


def _memory() -> None:
    """Print how many megabytes the exact adversary of long texts adds; no single token fits, so pairs decide."""
    torch.manual_seed(0)
    scores = torch.randn(MANY, 2000, dtype=torch.float64)
    attention = torch.softmax(torch.randn(MANY, 2000, dtype=torch.float64), dim=-1)
    middle = (scores * attention).sum(dim=-1)
    mask = torch.ones_like(scores, dtype=torch.bool)
    strongest_in_slab(scores[:1, :50], middle[:1], middle[:1], attention[:1, :50], mask[:1, :50])
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _peak()
    strongest_in_slab(scores, middle, middle, attention, mask, max_bytes=MEGABYTES << 20)
    print((_peak() - before) / 1024)


def _peak() -> int:
    """The largest resident memory of this process, in kilobytes."""
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1])


if __name__ == "__main__":
    _memory()
