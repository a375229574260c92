"""Work on files of other people is done first in a copy of the process, which may be ended."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from trueness.errors import UserError
from trueness.rehearsal import rehearse

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="without fork nothing is rehearsed")


def spin():
    while True:
        pass


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (spin, "a file is not read within 0.5 s"),
        (lambda: time.sleep(60), "a file is not read within 0.5 s"),
        (lambda: bytearray(3 << 30), "a file takes more than 0.25 GiB of memory"),
        (os.abort, "a file takes more than 0.25 GiB of memory, or breaks what reads it"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), r"a file ends the process that reads it \(SIGSEGV\)"),
    ],
)
def test_what_takes_too_much_is_one_sentence(work, message):
    begin = time.monotonic()
    with pytest.raises(UserError, match=message):
        rehearse("a file", work, seconds=0.5, memory=1 << 28)
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize("work", [int, lambda: 1 / 0, lambda: os._exit(0), lambda: os.write(1, b"heard")])
def test_what_raises_is_met_again_by_who_asked(work, capfd):
    rehearse("a file", work)
    assert capfd.readouterr() == ("", "")


def children():
    """Of this process, ended ones that nobody waited for included."""
    return {one for file in Path("/proc/self/task").glob("*/children") for one in file.read_text().split()}


def test_a_copy_changes_nothing_here_and_is_gone():
    seen, before = [], children()
    rehearse("a file", lambda: seen.append(1))
    assert not seen
    assert children() <= before


def test_it_works_in_a_thread():
    failed = []

    def work():
        try:
            rehearse("a file", spin, seconds=0.3)
        except UserError as error:
            failed.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failed
