"""The first minutes: what doctor says of a machine and a model, and what demo ends with."""

import json

import pytest

import trueness as tn
from tests.command import trueness
from trueness.api import checkup
from trueness.cli import demo
from trueness.errors import UserError


@pytest.fixture
def subject(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"film number {number} is {('bad', 'good')[number % 2]},{number % 2}" for number in range(60)]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *rows, ""]))
    (tmp_path / "mine.py").write_text(
        "def predict(texts):\n    return [[0.1, 0.9] if 'good' in text else [0.9, 0.1] for text in texts]\n"
    )
    return "mine.py:predict", "reviews.csv"


def test_what_is_missing_is_named_by_its_extra(monkeypatch):
    monkeypatch.setattr(checkup, "_installed", lambda name: name not in ("jinja2", "datasets"))
    missing = checkup.missing_extras()
    assert missing["report"] == ("jinja2",)
    assert missing["hub"] == ("datasets",)
    assert missing["serve"] == ()
    assert "dev" not in missing
    told = json.dumps(tn.doctor().to_json())
    assert "jinja2" in told


def test_doctor_says_what_an_audit_takes_and_decides(subject, tmp_path):
    found = tn.doctor(*subject, budgets=("10m", "1s"))
    (long, short) = found.prospects
    assert long.examples == 60
    assert long.seconds is not None
    assert 0 < long.seconds < 600
    assert (short.seconds, short.can_show) == (None, False)
    assert "A budget of 1 s is too small" in short.told[0]
    assert found.speed > 0
    assert "10m" in found._repr_html_()
    assert not (tmp_path / "runs").exists(), "nothing is left behind"


def test_a_budget_that_can_only_refuse_says_so(monkeypatch):
    plan = tn.AuditPlan(
        "m", "d", ("a",), (), {"examples": 60}, None, 50.0, {}, ("with 60 s no method can be shown",), {}, ()
    )
    monkeypatch.setattr(checkup, "_plans", lambda *_: {"1m": plan})
    assert [one.can_show for one in tn.doctor("m", "d").prospects] == [False]


def test_the_words_are_those_of_the_plan():
    from trueness.audits import sizes

    costs = {"trains": True}
    said = sizes._cannot_show({"planted_models": 0, "training_examples": 0}, costs, 1, 10, 10, None)
    assert checkup._NO_VERDICT in said[0]


def test_doctor_on_the_command_line(subject):
    told = trueness("doctor", *subject, "--budget", "10m")
    assert told.returncode == 0, told.stderr
    assert "extra report: " in told.stdout
    assert "This machine: " in told.stdout
    assert "may be shown, or must not" in told.stdout
    with pytest.raises(UserError, match="give both, or neither"):
        tn.doctor("model")
    assert trueness("doctor", "mine.py:predict").returncode == 2


def test_the_demo_ends_with_the_report_and_what_to_do_next(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    done = []

    class Trained:
        def save(self, folder):
            folder.mkdir(parents=True)
            (folder / "config.json").write_text("{}")

    monkeypatch.setattr(demo.tn, "train", lambda *given, **_: done.append(given) or Trained())
    monkeypatch.setattr(demo, "audit_command", lambda *given, out, **_: print(f"Report: {out}"))
    demo.demo_command()
    demo.demo_command()
    assert done == [("bilstm-additive", "movie-sentences")], "the model is trained once"
    assert capsys.readouterr().out.splitlines()[:2] == [
        "Report: demo/audit.html",
        "Next, with your own model and data: trueness audit my_classifier/ reviews.csv --budget 10m",
    ]
