"""What lasts tells how far it is; a bar shows it after two seconds, on a terminal only."""

import io

import numpy as np

import trueness as tn
from tests.miniatures import one_word
from trueness.api import bar as shown
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
    assert "left at most" in page.getvalue()
