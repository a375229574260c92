"""The command line within this process: what it prints and its exit status, without waiting for imports."""

import contextlib
import io
import os
import subprocess
import sys
from unittest import mock

from trueness.cli.main import main


def trueness(*arguments, **environment):
    """As `subprocess.run` would tell it."""
    given = [str(argument) for argument in arguments]
    out, err = io.StringIO(), io.StringIO()
    status = 0
    with mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(given)
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return subprocess.CompletedProcess(given, status, out.getvalue(), err.getvalue())


def separately(*arguments, **environment):
    """The same in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "trueness", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
