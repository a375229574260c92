import builtins
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from trueness import process_state
from trueness.boundary import calling, importing
from trueness.errors import UserError


def torch_hooks():
    return list(torch.nn.modules.module._global_forward_hooks)


STATE = {
    "folder": (os.getcwd, lambda: os.chdir("/")),
    "environment": (lambda: dict(os.environ), lambda: os.environ.update(PATH="x", NEW="y")),
    "variable": (lambda: dict(os.environ), lambda: os.environ.pop("PATH")),
    "stdout": (lambda: (sys.stdout, sys.stdout.closed), lambda: sys.stdout.close()),
    "stderr": (lambda: sys.stderr, lambda: setattr(sys, "stderr", None)),
    "interrupts": (lambda: signal.getsignal(signal.SIGINT), lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)),
    "ends": (lambda: signal.getsignal(signal.SIGTERM), lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)),
    "alarms": (lambda: signal.getsignal(signal.SIGALRM), lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN)),
    "timer": (lambda: signal.getitimer(signal.ITIMER_REAL), lambda: signal.setitimer(signal.ITIMER_REAL, 9)),
    "errors of numpy": (np.geterr, lambda: np.seterr(all="raise")),
    "numbers of torch": (torch.get_default_dtype, lambda: torch.set_default_dtype(torch.float16)),
    "gradients": (torch.is_grad_enabled, lambda: torch.set_grad_enabled(False)),
    "threads of torch": (torch.get_num_threads, lambda: torch.set_num_threads(2)),
    "determinism": (
        torch.are_deterministic_algorithms_enabled,
        lambda: torch.use_deterministic_algorithms(True),
    ),
    "methods of classes": (lambda: torch.Tensor.__add__, lambda: setattr(torch.Tensor, "__add__", None)),
    "calls of modules": (lambda: torch.nn.Module.__call__, lambda: setattr(torch.nn.Module, "__call__", None)),
    "functions of numpy": (lambda: np.asarray, lambda: setattr(np, "asarray", None)),
    "functions of Python": (
        lambda: (os.replace, json.dumps),
        lambda: (setattr(json, "dumps", 1), delattr(os, "replace")),
    ),
    "built-in functions": (lambda: print, lambda: setattr(builtins, "print", None)),
    "depth": (sys.getrecursionlimit, lambda: sys.setrecursionlimit(150)),
    "rights of new files": (process_state._umask, lambda: os.umask(0o777)),
    "hooks": (torch_hooks, lambda: torch.nn.modules.module.register_module_forward_hook(lambda *_: None)),
}


@pytest.mark.parametrize("name", STATE)
@pytest.mark.parametrize("end", [None, ValueError, SystemExit])
def test_the_process_is_what_it_was(name, end):
    look, change = STATE[name]
    before = look()

    def called():
        with calling("mine", None):
            change()
            if end is not None:
                raise end

    if end is None:
        called()
    else:
        with pytest.raises(UserError, match="mine failed"):
            called()
    assert look() == before


def test_what_is_drawn_at_random_goes_on():
    drawn = []
    for _ in range(2):
        with calling("mine", None):
            drawn.append(torch.rand(1).item())
    assert drawn[0] != drawn[1]


def test_a_module_may_set_the_environment(monkeypatch):
    monkeypatch.setenv("SET_BY_A_MODULE", "before")
    with importing("mine"):
        os.environ["SET_BY_A_MODULE"] = "x"
    assert os.environ["SET_BY_A_MODULE"] == "x"


def test_what_code_prints_is_no_output_of_the_command_and_is_cut(capfd, monkeypatch):
    monkeypatch.setattr(process_state, "MOST_OUTPUT", 1000)
    monkeypatch.setattr(process_state, "_printed", {"characters": 0})
    for _ in range(100):
        with calling("mine", None):
            print("x" * 99)
            sys.stdout.flush()
    print("ours")
    found = capfd.readouterr()
    assert found.out == "ours\n"
    assert found.err.count("x") == 990
    assert found.err.endswith("\ntrueness: What your code prints from here on is cut.\n")


def test_a_call_that_hangs_is_ended(monkeypatch):
    monkeypatch.setenv(process_state.VARIABLE, "0.2")
    begin = time.monotonic()

    def hangs():
        while True:
            with contextlib.suppress(Exception):
                time.sleep(60)

    with (
        pytest.raises(UserError, match=r"line \d+: OverdueError: it did not come back within 0\.2 s"),
        calling("mine", hangs),
    ):
        hangs()
    assert time.monotonic() - begin < 10
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    monkeypatch.setenv(process_state.VARIABLE, "soon")
    with calling("mine", hangs):
        assert 3590 < signal.getitimer(signal.ITIMER_REAL)[0] <= 3600


HANGS = """
import os
from trueness.boundary import calling
from trueness import process_state
process_state._GRACE = 0.5
process_state.may_end({process})
with calling("mine", None):
    sum(iter(int, 1))
"""


def test_a_call_that_no_signal_reaches_ends_its_process():
    """But only one of ours: that of a notebook is its user's."""
    environment = {**os.environ, process_state.VARIABLE: "0.5"}
    ours = [sys.executable, "-c", HANGS.format(process="os.getpid()")]
    assert subprocess.run(ours, env=environment, timeout=60, check=False).returncode == 1
    theirs = [sys.executable, "-c", HANGS.format(process="0")]
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(theirs, env=environment, timeout=5, check=False)
