"""The exception types for what a person can fix and for what a model cannot have; how to install; what passes."""

from __future__ import annotations

import traceback


class UserError(Exception):
    """Something the user can put right; the message is one sentence that names the fault and the fix."""


class Unsupported(UserError):  # noqa: N818  # it is no fault: this model cannot have that
    """What was asked for is not possible for this model; where many things are asked, it becomes an abstention."""


def install(extra: str) -> str:
    """How to install an extra, for the end of a message: the package is on no registry."""
    return f"in the repository of trueness run pip install --constraint constraints.txt '.[{extra}]'"


NO_MEMORY = "can't allocate memory"
"""What torch says where a CPU's memory does not suffice; waiting does not help."""


def no_room(error: BaseException | None) -> bool:
    """Whether it is that a GPU, which others may use as well, had no memory left; each library says so in its way."""
    while error is not None:
        said = "".join(traceback.format_exception_only(error))  # also of those that cannot be printed
        if type(error).__name__ == "OutOfMemoryError" or "out of memory" in said or "ALLOC_FAILED" in said:
            return True
        error = error.__cause__ or error.__context__
    return False
