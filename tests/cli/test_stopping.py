import signal
import threading

import pytest
import typer

from trueness.cli.stopping import resumable


@pytest.fixture(autouse=True)
def as_on_a_terminal():
    """What a shell starts in the background ignores Ctrl-C, these tests too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_command_with_the_way_on(capsys, number, status):
    with pytest.raises(typer.Exit) as end, resumable():
        signal.raise_signal(number)
    assert end.value.exit_code == status
    assert capsys.readouterr().err == "trueness: interrupted; the same command continues where it stopped.\n"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_second_signal_at_once_changes_nothing():
    def ended() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(typer.Exit) as end, resumable():
        ended()
    assert end.value.exit_code == 143


def test_who_ignores_the_signal_is_not_ended():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with resumable():
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_it_works_in_other_threads():
    done = []

    def work() -> None:
        with resumable():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done
