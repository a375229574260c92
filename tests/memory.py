"""How much memory tensors take."""

from collections.abc import Callable
from typing import Any

import torch


def peak_bytes(work: Callable[[], Any]) -> int:
    """The most that tensors on the CPU took at any time during `work`, beyond those there before: exact."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        work()
    held = most = 0
    events: Any = profile.profiler.kineto_results.events()
    for event in sorted((one for one in events if one.name() == "[memory]"), key=lambda one: one.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most
