"""The one exception type for what a person can fix."""


class UserError(Exception):
    """Something the user can put right; the message is one sentence that names the fault and the fix."""
