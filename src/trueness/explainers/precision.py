"""How exactly a device multiplies while it explains: fully, or with fewer digits where a probe finds no difference."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor

from trueness.errors import UserError
from trueness.explainers.contract import Explainer, Target
from trueness.stats import kendall

Precision = Literal["full", "tf32", "bf16", "auto"]
"""All digits; products of 10 binary digits, added up fully (NVIDIA's TF32); 7 binary digits; or what a probe finds."""
PROBED = 8
"""Texts on which fewer digits are tried."""
WORTH = 10 * PROBED
"""With fewer texts than these a probe, six looks at its texts, costs more than it saves."""
_SAME = 0.999  # the least tau of a text's scores with those of full precision
_FASTER = 0.8  # the most time it may take, of that of full precision
_TOLERANCE = 0.01  # the most that their sum may be off, of the sum of magnitudes


class Computed(NamedTuple):
    """Scores, and the precision that was used."""

    scores: Tensor
    precision: str


def attribute(method: Explainer, model: Any, batch: Any, target: Target, precision: str = "full") -> Computed:
    """What a method says of a batch, at a precision.

    `auto` asks about the first eight of at least 80 texts at every precision the device is fast at. It takes the
    fastest whose scores rank the tokens of each as full precision does (tau at least 0.999), sum to the same within
    1 %, and take at most 0.8 of the time. Of the other texts nothing is known.
    """
    if precision not in get_args(Precision):
        raise UserError(f"The precision must be full, tf32, bf16 or auto, not {precision!r}.")
    device = batch.tokens.device
    if precision == "tf32" and device.type != "cuda":
        raise UserError("The precision tf32 is that of NVIDIA's devices; on a CPU use full, bf16 or auto.")
    used = precision
    if precision == "auto":
        lower = _offered(device) if len(batch) >= WORTH else []
        few = batch.rows(torch.arange(min(PROBED, len(batch)), device=device))
        used = _probed(method, model, few, target, lower) if lower else "full"
    with computing(used, device):
        return Computed(method.attribute(model, batch, target).float(), used)


@contextlib.contextmanager
def computing(precision: str, device: torch.device) -> Iterator[None]:
    """Multiply so; then as before."""
    if precision == "bf16":
        with torch.autocast(device.type, torch.bfloat16):
            yield
        return
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]


def _offered(device: torch.device) -> list[str]:
    """Which precisions the device may be faster at than the full one."""
    if device.type == "cuda":
        return ["tf32", "bf16"] if torch.cuda.get_device_capability(device) >= (8, 0) else []
    quick = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return ["bf16"] if any(getattr(torch.cpu, name, bool)() for name in quick) else []


def _probed(method: Explainer, model: Any, few: Any, target: Target, lower: list[str]) -> str:
    """The fastest precision that says the same of a few texts."""
    found = {precision: _timed(method, model, few, target, precision) for precision in ("full", *lower)}
    full, seconds = found["full"]
    least = _FASTER * seconds
    mask = few.mask.cpu().numpy()
    best = "full"
    for precision in lower:
        scores, taken = found[precision]
        tau = kendall(scores.cpu().numpy(), full.cpu().numpy(), mask).statistic.values
        off = (scores.sum(dim=-1) - full.sum(dim=-1)).abs() / full.abs().sum(dim=-1).clamp(min=1e-12)
        # A text whose scores are all the same has no tau: nothing is known of it.
        if tau.filled(0.0).min() >= _SAME and float(off.max()) <= _TOLERANCE and taken <= least:
            best, least = precision, taken
    return best


def _timed(method: Explainer, model: Any, few: Any, target: Target, precision: str) -> tuple[Tensor, float]:
    """Scores, and seconds of a second look: the first one also sets up what the device needs."""
    device = few.tokens.device
    with computing(precision, device):
        method.attribute(model, few, target)
        _wait(device)
        begin = time.perf_counter()
        scores = method.attribute(model, few, target).double()
        _wait(device)
    return scores, time.perf_counter() - begin


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
