"""How exactly a device multiplies while it explains: as torch is set, fully, or with fewer digits."""

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

Precision = Literal["default", "full", "tf32", "bf16", "auto"]
"""As torch is set; all digits; products of 10 binary digits, added up fully (NVIDIA's TF32); 7 binary digits; or what a
probe finds."""
PROBED = 8
"""Examples on which fewer digits are tried."""
WORTH = 120
"""With fewer examples than these a probe, six looks at its examples, costs more than it saves."""
_FASTER = 0.6  # the most time it may take, of that of full precision
_SAME = 0.999  # the least tau of an example's scores with those of full precision
_TOLERANCE = 0.01  # the most that their sum may be off, of the sum of magnitudes


class Computed(NamedTuple):
    """Scores, and the precision that was used."""

    scores: Tensor
    precision: str


def attribute(method: Explainer, model: Any, batch: Any, target: Target, precision: str = "default") -> Computed:
    """What a method says of a batch, at a precision.

    `auto` asks about the eight longest of at least 120 examples at every precision the device is fast at. It takes the
    fastest whose scores rank the units of each as full precision does (tau at least 0.999), sum to the same within
    1 %, and take at most 0.6 of the time. Of the other examples nothing is known.
    """
    if precision not in get_args(Precision):
        raise UserError(f"The precision must be {', '.join(get_args(Precision)[:-1])} or auto, not {precision!r}.")
    device = batch.labels.device
    if precision == "tf32" and device.type != "cuda":
        raise UserError("The precision tf32 is that of NVIDIA's devices; on a CPU use full, bf16 or auto.")
    used = precision
    if precision == "auto":
        lower = _offered(device) if len(batch) >= WORTH else []
        few = batch.rows(batch.mask.sum(dim=1).topk(min(PROBED, len(batch))).indices)
        used = _probed(method, model, few, target, lower) if lower else "full"
    with computing(used, device):
        scores = method.attribute(model, batch, target)
    return Computed(scores.float() if scores.dtype == torch.bfloat16 else scores, used)


@contextlib.contextmanager
def computing(precision: str, device: torch.device) -> Iterator[None]:
    """Multiply so; then as before."""
    if precision == "bf16":
        with torch.autocast(device.type, torch.bfloat16), _without_onednn(device):
            yield
        return
    if precision == "default" or device.type != "cuda":
        yield  # a CPU multiplies fully
        return
    # Torch's newer switches; the older ones must not be read where somebody has set these.
    backends: Any = torch.backends
    switches = [backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn]
    before = [switch.fp32_precision for switch in switches]
    for switch in switches:
        switch.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    try:
        yield
    finally:
        for switch, one in zip(switches, before, strict=True):
            switch.fp32_precision = one


@contextlib.contextmanager
def _without_onednn(device: torch.device) -> Iterator[None]:
    """On a CPU whose oneDNN has no bfloat16, its recurrent networks end in an error: torch's own ones do not."""
    mkldnn: Any = torch.backends.mkldnn
    operations: Any = torch.ops.mkldnn
    lacks = device.type == "cpu" and mkldnn.is_available() and not operations._is_mkldnn_bf16_supported()
    before = mkldnn.enabled
    if lacks:
        mkldnn.enabled = False
    try:
        yield
    finally:
        if lacks:
            mkldnn.enabled = before


def _offered(device: torch.device) -> list[str]:
    """Which precisions the device may be faster at than the full one."""
    if device.type == "cuda":
        return ["tf32", "bf16"] if torch.cuda.get_device_capability(device) >= (8, 0) else []
    quick = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return ["bf16"] if any(getattr(torch.cpu, name, bool)() for name in quick) else []


def _probed(method: Explainer, model: Any, few: Any, target: Target, lower: list[str]) -> str:
    """The fastest precision that says the same of a few examples."""
    found = {precision: _timed(method, model, few, target, precision) for precision in ("full", *lower)}
    full, seconds = found["full"]
    mask = few.mask.cpu().numpy()
    best, least = "full", _FASTER * seconds
    for precision in lower:
        scores, taken = found[precision]
        tau = kendall(scores.cpu().numpy(), full.cpu().numpy(), mask).statistic.values
        off = (scores.sum(dim=-1) - full.sum(dim=-1)).abs() / full.abs().sum(dim=-1).clamp(min=1e-12)
        # An example whose scores are all the same has no tau: nothing is known of it.
        if tau.filled(0.0).min() >= _SAME and float(off.max()) <= _TOLERANCE and taken <= least:
            best, least = precision, taken
    return best


def _timed(method: Explainer, model: Any, few: Any, target: Target, precision: str) -> tuple[Tensor, float]:
    """Scores, and seconds of a second look: the first one also sets up what the device needs."""
    device = few.labels.device
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
