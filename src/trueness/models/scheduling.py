"""Several trainings at once: which of them takes its steps when."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from trueness.models.checkpoint import Checkpoint
from trueness.models.loop import Loop
from trueness.models.stack import stacks_of


def run_loops(loops: Sequence[Loop[Any]], checkpoints: Sequence[Checkpoint]) -> None:
    """Train until every loop is finished: stacked on a GPU where they are alike, otherwise one step of each in turn."""
    stacks = stacks_of(loops, checkpoints)
    stacked = {id(loop) for stack in stacks for loop in stack.loops}
    while stacks:
        # One stack after the other: each may fill the memory it is allowed, which is free again when it is gone.
        stack = stacks.pop(0)
        while not all(loop.finished for loop in stack.loops):
            stack.epoch()
            stack.look()
        stack.release()
    others = [pair for pair in zip(loops, checkpoints, strict=True) if id(pair[0]) not in stacked]
    while left := [pair for pair in others if not pair[0].finished]:
        for _ in itertools.zip_longest(*(loop.steps() for loop, _ in left)):
            pass
        for loop, checkpoint in left:
            loop.look()
            checkpoint.keep(loop)
