"""LSTMs on a GPU: our kernels against cuDNN's bidirectional layer, and against a product for each token."""

import torch
from torch import nn

from benchmarks.report import line, ratio
from trueness.kinds.text.data.sequences import Sequences
from trueness.kinds.text.models.encoders import BiLSTM
from trueness.kinds.text.models.recurrence import _back_token_by_token, _token_by_token, recurrence

TOKENS, WIDTH = 188, 100


def main() -> None:
    if not torch.cuda.is_available():
        print("      LSTMs: the kernels need a GPU")
        return
    _explained(2000)
    _stacked(models=5, batch=32, hidden=128)
    _stacked(models=15, batch=50, hidden=32)


def _explained(texts: int) -> None:
    """Forward, and the gradient of the input: what most explanations take."""
    tokens = torch.zeros(texts, TOKENS, dtype=torch.long, device="cuda")
    lengths = torch.full((texts,), TOKENS, device="cuda")
    text = Sequences(tokens, lengths, torch.ones_like(tokens, dtype=torch.bool))
    values = torch.randn(texts, TOKENS, WIDTH, device="cuda", requires_grad=True)
    ours = BiLSTM(WIDTH, 128).cuda().requires_grad_(False)
    theirs = nn.LSTM(WIDTH, 128, batch_first=True, bidirectional=True).cuda().requires_grad_(False)

    def gradient(states: torch.Tensor) -> None:
        torch.autograd.grad(states.sum(), values)

    gradient(ours(values, text))  # compiles
    ahead = ratio(lambda: gradient(theirs(values)[0]), lambda: gradient(ours(values, text)))
    line(f"gradient of a BiLSTM's input, {texts} texts of {TOKENS} tokens, against cuDNN", ahead, "x", 1, at_least=True)


def _stacked(models: int, batch: int, hidden: int) -> None:
    """Forward and backward of the recurrence of several models, as in a training step."""
    gates = torch.randn(models, batch, TOKENS, 8 * hidden, device="cuda", requires_grad=True)
    weight = (torch.randn(models, 2, 4 * hidden, hidden, device="cuda") / hidden**0.5).requires_grad_()
    lengths = torch.full((models, batch), TOKENS, device="cuda")

    def ours() -> None:
        torch.vmap(recurrence)(gates, weight, lengths).sum().backward()  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def token_by_token() -> None:
        states, before, cells, saved = _token_by_token(gates, weight, lengths)
        found = _back_token_by_token(torch.ones_like(states), weight, lengths, cells, saved)
        for one, state in zip(found.flatten(1, 2).chunk(2, -1), before.flatten(1, 2).chunk(2, -1), strict=True):
            torch.bmm(one.transpose(1, 2), state)

    what = f"{models} BiLSTMs of {hidden} units at once, batch {batch}, there and back, against token by token"
    ours()
    line(what, ratio(token_by_token, ours), "x", 2, at_least=True)
