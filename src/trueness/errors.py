"""The one exception type for what a person can fix, and how to know what passes by itself."""

from __future__ import annotations

import traceback


class UserError(Exception):
    """Something the user can put right; the message is one sentence that names the fault and the fix."""


def no_room(error: BaseException | None) -> bool:
    """Whether it is that a GPU, which others may use as well, had no memory left; each library says so in its way."""
    while error is not None:
        said = "".join(traceback.format_exception_only(error))  # also of those that cannot be printed
        if type(error).__name__ == "OutOfMemoryError" or "out of memory" in said or "ALLOC_FAILED" in said:
            return True
        error = error.__cause__ or error.__context__
    return False
