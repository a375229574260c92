"""While a study runs: how it ends."""

import signal

import pytest
import typer

from trueness.cli.progress import resumable


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_with_the_way_on(capsys, number, status):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(typer.Exit) as end, resumable():
        signal.raise_signal(number)
    assert end.value.exit_code == status
    assert capsys.readouterr().err == "trueness: interrupted; the same command continues where it stopped.\n"
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_second_signal_ends_it_at_once():
    def ended() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    with pytest.raises(typer.Exit), resumable():
        ended()
