"""What lasts tells how far it is; a bar shows it after two seconds, on a terminal only."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import trueness as tn
from tests.miniatures import one_word
from trueness.api import bar as shown
from trueness.engine import Listener
from trueness.models.recipes import Recipe
from trueness.progress import followed, tell, told


def test_shares_rise_to_one(tmp_path):
    heard = []
    with followed(lambda what, share: heard.append((what, share))):
        tn.train("average-additive", str(one_word(tmp_path / "data")), recipe=Recipe(epochs=3), hidden=4, embedding=4)
    assert [share for _, share in heard] == sorted(share for _, share in heard)
    assert heard[-1] == ("training, epoch 3 of 3 at most", 1.0)
    heard.clear()
    inputs = np.random.default_rng(0).normal(size=(40, 4))
    split = inputs, (inputs[:, 0] > 0).astype(int)
    with followed(lambda what, share: heard.append((what, share))):
        tn.recursive_roar(
            split,
            split,
            train=lambda x, y, _: (x, y),
            predict=lambda model, x: np.full(len(x), model[1][0]),
            explainers={"size": lambda _, x, __: np.abs(x)},
            steps=[0.25, 0.5],
            seeds=2,
            leak=False,
        )
    assert heard[0] == ("seed 0, random", 0.125)
    assert heard[-1] == ("seed 1, size", 1.0)


def test_the_outermost_follower_hears_and_nobody_need():
    tell("alone", 0.5)
    heard = []
    with followed(lambda what, _: heard.append(what)), followed(lambda *_: heard.append("inner")):
        assert list(told("ab", "letters", 2)) == ["a", "b"]
    assert heard == ["letters", "letters"]


def test_a_bar_is_one_line_with_time_left(monkeypatch):
    from rich import console

    page = io.StringIO()
    monkeypatch.setattr(shown, "PATIENCE", 0.0)
    plain = console.Console
    monkeypatch.setattr(console, "Console", lambda **_: plain(file=page, force_terminal=True, width=100))
    with shown.bar():
        tell("training, epoch 1 of 2 at most", 0.5)
    assert "training, epoch 1 of 2 at most" in page.getvalue()
    assert "left" in page.getvalue()


@pytest.fixture
def clock(monkeypatch):
    """Time that goes on as told."""
    now = [0.0]
    monkeypatch.setattr(shown.time, "monotonic", lambda: now[0])
    return now


def test_a_log_gets_a_line_after_each_tenth_or_half_a_minute(clock, capsys):
    with shown.bar():
        for share in range(1, 101):  # 200 seconds
            clock[0] += 2.0
            tell("training", share / 100)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "trueness: 10%, training; 20 s so far, 180 s left.".replace("180 s", "3 min")
    assert [line.split(",")[0] for line in lines] == [f"trueness: {tenth}0%" for tenth in range(1, 11)]
    with shown.bar():
        for share in range(1, 101):  # 2,000 seconds: a tenth takes over three minutes
            clock[0] += 20.0
            tell("training", share / 1000)
    assert len(capsys.readouterr().err.splitlines()) == 50, "every 40 seconds, as it is heard every 20"


def test_what_is_short_writes_nothing_to_a_log(clock, capsys):
    with shown.bar():
        for share in range(1, 10):
            clock[0] += 1.0
            tell("training", share / 9)
    assert capsys.readouterr().err == ""


def test_an_audit_and_a_study_in_python_say_how_far_they_are(clock, capsys):
    task = SimpleNamespace(type=SimpleNamespace(name="audit/read"))
    with shown.listening(None) as bar:
        bar.planned(4, 0)
        clock[0] += 15
        bar.finished(task, 45.0)
    assert capsys.readouterr().err == "trueness: 25%, audit/read, 1 of 4 tasks; 15 s so far, 45 s left.\n"
    own = Listener()
    with shown.listening(own) as given:
        assert given is own


def test_a_notebook_has_a_bar_without_widgets(clock, monkeypatch):
    from rich import console

    shows = []
    handle = SimpleNamespace(update=lambda page: shows.append(page))
    display = SimpleNamespace(HTML=str, display=lambda page, display_id: shows.append(page) or handle)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(console, "Console", lambda **_: SimpleNamespace(is_jupyter=True, is_terminal=False))
    with shown.bar():
        clock[0] += 3
        tell("<training>", 0.5)
    assert "&lt;training&gt; 3 s left" in shows[1]
    assert 'value="0.500"' in shows[1]
    assert shows[-1] == "", "it is gone at the end"
