"""The command audit: bad input, the gate's exit status, and the files that it writes."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from tests.audit import tiny
from trueness.cli.main import main

SIZES = [part for name, value in tiny.SMALLEST.items() for part in ("--set", f"{name}={json.dumps(value)}")]
EXPLAINERS = ["--explainer", "leave-one-out", "--explainer", "mine.py:saliency"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Everything that a good call needs, and what bad ones name."""
    place = tiny.make_place(tmp_path_factory.mktemp("command"))
    rows = tiny.make_rows(200)
    tiny.write_csv(place / "one-class.csv", [(text, "yes") for text, _ in rows])
    tiny.write_csv(place / "ten.csv", rows[:10])
    tiny.write_csv(place / "other-labels.csv", [(text, {"yes": "up", "no": "down"}[label]) for text, label in rows])
    tiny.write_csv(place / "same.csv", rows[:1] * 200)
    (place / "open.csv").write_text('text,label\na film,yes\n"a film,yes\n' + "a dull film,no\n" * 200)
    (place / "no-model").mkdir()
    (place / "broken.toml").write_text("verdict = 7 [")
    return place


def call(*arguments):
    """The exit status; 0 where the command returns."""
    try:
        main(list(map(str, arguments)))
    except SystemExit as stopped:
        return stopped.code or 0
    return 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no-model", "reviews.csv"], "no-model is not a model: it has no config.json."),
        (
            ["mine.py", "reviews.csv"],
            "mine.py is not a model: it has no config.json; a function in it is named mine.py:NAME.",
        ),
        (["gone", "reviews.csv"], "There is no model gone."),
        (["gone.py:predict", "reviews.csv"], "There is no file gone.py."),
        (["model", "revews.csv"], "There is no dataset, file or folder 'revews.csv'; did you mean reviews.csv"),
        (["model", "reviews.csv", "--text-column", "nope"], "there is no column nope; known are label, text."),
        (["model", "reviews.csv", "--text-column", "txt"], "there is no column txt; did you mean text?"),
        (["model", "one-class.csv"], "All texts of one-class.csv have the label 'yes'"),
        (["model", "other-labels.csv"], "The labels are down, up, and the model's classes are no, yes"),
        (["model", "ten.csv"], "ten.csv has 10 texts: an audit needs 30 at least."),
        (
            ["model", "same.csv"],
            "has 1 texts: an audit needs 30 at least (199 of 200 rows left out: the text stood in a row before).",
        ),
        (
            ["model", "open.csv"],
            "a quote in the row that begins in line 3 is left open to the end of the file; --drop-bad-rows leaves such",
        ),
        (["model", "reviews.csv", "--budget", "1s"], "A budget of 1 s is too small"),
        (["model", "reviews.csv", "--budget", "soon"], "'soon' is no length of time"),
        (["model", "reviews.csv", "--gate", "broken.toml"], "the file is not valid TOML"),
        (["model", "reviews.csv", "--gate", "gone.toml"], "There is no gate file gone.toml"),
        (["model", "reviews.csv", "--baseline", "gone.json"], "There is no audit file gone.json"),
        (["model", "reviews.csv", "--explainer", "gradeint"], "did you mean gradient"),
        (["model", "reviews.csv", "--explainer", "mine.py:salienc"], "salienc"),
        (["model", "reviews.csv", "--device", "tpu"], "There is no device 'tpu'"),
        (["model", "reviews.csv", "--device", "cuda:99"], "The device cuda:99 is not there"),
        (["model", "reviews.csv", "--set", "textss=40"], "An audit has no size 'textss'"),
        (["model", "reviews.csv", "--set", "examples=4"], "The size examples of an audit is not 4"),
        (["model", "reviews.csv", "--out", "audit.txt"], "give a name that ends in .html"),
    ],
)
def test_bad_input_is_one_sentence_before_any_work(arguments, sentence, place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(place)
    assert call("audit", *arguments, "--store", tmp_path / "store") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("trueness: ")
    assert len(said.err.splitlines()) == 1
    assert sentence in said.err
    assert not (tmp_path / "store").exists()


def test_an_explainer_that_breaks_is_bad_input_and_no_failed_gate(place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(place)
    (place / "breaks.py").write_text(
        "def crash(model, batch, target):\n    return 1 / 0\n\ndef short(model, batch):\n    return None\n"
    )
    (place / "any.toml").write_text("require_any = 1\n")
    how = ["--gate", "any.toml", "--store", tmp_path / "store", *SIZES]
    failed = "breaks.py:crash failed, breaks.py line 2: ZeroDivisionError: division by zero"
    told = {
        "crash": f"trueness: None of the explainers works for this model: {failed}",
        "short": "trueness: breaks.py:short must take (model, batch, target).",
    }
    for name, sentence in told.items():
        given = ["--explainer", f"breaks.py:{name}", *how]
        assert call("audit", "model", "reviews.csv", *given) == 2, "1 would say that the gate does not hold"
        said = capsys.readouterr().err
        assert said.startswith(sentence)
        assert len(said.splitlines()) == 1


def test_a_gate_about_an_explainer_that_is_not_audited(place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(place)
    (tmp_path / "gate.toml").write_text('[verdict]\n"leave-on-out" = "may be shown"\n')
    given = ["model", "reviews.csv", *EXPLAINERS, *SIZES, "--gate", tmp_path / "gate.toml", "--workers", 1]
    assert call("audit", *given, "--store", tmp_path / "store", "--out", tmp_path / "audit.html") == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "the audit has no explainer 'leave-on-out'; did you mean leave-one-out" in said[0]
    assert not (tmp_path / "audit.html").exists()


# Somebody's explainer says the same of every word, and leave-one-out has no planted evidence to find.
@pytest.mark.parametrize(
    ("gate", "status"),
    [
        ('"OWN" = "may be shown"', 1),
        ('"leave-one-out" = "may be shown"', 3),
        ('"OWN" = "must not be shown"', 0),
        ('"leave-one-out" = ["may be shown", "cannot tell"]', 0),
        ('"leave-one-out" = "may be shown"\n"OWN" = "may be shown"', 1),
    ],
)
def test_the_gate_decides_the_exit_status(gate, status, place, audited, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(place)
    (own,) = [one["explainer"] for one in audited["explainers"] if one["explainer"].startswith("mine.py")]
    (tmp_path / "gate.toml").write_text("foils_must_fail = false\n[verdict]\n" + gate.replace("OWN", own))
    files = {option: tmp_path / option for option in ("junit", "markdown", "model-card", "latex", "csv")}
    options = [part for option, file in files.items() for part in (f"--{option}", file)]
    given = [*GOOD, "--gate", tmp_path / "gate.toml", *options, "--out", tmp_path / "audit.html"]
    assert call("audit", *given) == status
    shown = capsys.readouterr().out
    assert f"Report: {tmp_path / 'audit.html'}" in re.sub(r"\n", "", shown)
    assert {0: "holds: ", 1: "does not hold: ", 3: "cannot tell: "}[status] in shown
    assert (tmp_path / "audit.json").is_file()
    assert all(file.stat().st_size for file in files.values())
    (suite,) = ElementTree.parse(files["junit"]).getroot().findall("testsuite[@name='gate']")
    assert bool(list(suite.iter("failure"))) == (status == 1)
    assert bool(list(suite.iter("skipped"))) == ("cannot tell: " in shown)
    assert "leave-one-out" in files["markdown"].read_text()
    assert files["csv"].read_text().startswith("explainer,")
    assert "\\begin{tabular}" in files["latex"].read_text()


GOOD = ["model", "reviews.csv", *EXPLAINERS, *SIZES, "--store", "store", "--workers", 1]


@pytest.fixture(scope="module")
def audited(place):
    """The finished audit as plain JSON."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert call("audit", *GOOD, "--out", place / "first.html") == 0
    return json.loads((place / "first.json").read_text())


def test_the_table_and_the_plan(place, audited, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(place)
    assert call("audit", *GOOD, "--json", "--out", tmp_path / "audit.html") == 0
    said = capsys.readouterr()
    printed = json.loads(said.out)
    assert printed["key"] == audited["key"]
    assert [one["decision"] for one in printed["explainers"]] == [one["decision"] for one in audited["explainers"]]
    assert said.err == ""


def test_why_a_trial_measured_nothing_is_told_once_for_all_explainers(audited, capsys):
    import copy

    from trueness.audits.verdict import Audit
    from trueness.cli import show_audit

    audited = copy.deepcopy(audited)
    for one in audited["explainers"]:
        one["decided_by"] = ""
        (*_, last) = one["trials"]
        last |= {"answer": "cannot tell", "checks": [], "reason": "Nothing was planted."}
    show_audit.audit(Audit.model_validate(audited))
    told = [line for line in capsys.readouterr().out.splitlines() if "Nothing was planted" in line]
    assert len({line.partition(",")[0] for line in told}) == len(told) > 0
    assert all(one["explainer"] in " ".join(told) for one in audited["explainers"])


def test_plan_of_a_study_of_audits(place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(place)
    head = 'kind = "audit"\nname = "two"\ntitle = "Two"\nquestion = "Which?"\npaper = "nobody"\n'
    what = 'models = ["model", "mine.py:predict"]\ndatasets = "reviews.csv"\nexplainers = "leave-one-out"\n'
    what += "planted_models = 1\n"
    (tmp_path / "two.toml").write_text(head + what)
    assert call("plan", tmp_path / "two.toml", "--store", tmp_path / "store", "--json") == 0
    assert json.loads(capsys.readouterr().out)["tasks"]["audit/verdict"]["total"] == 2
    (tmp_path / "two.toml").write_text(head + what.replace('"model"', '"gone"'))
    assert call("plan", tmp_path / "two.toml", "--store", tmp_path / "store") == 2
    assert "There is no model gone" in capsys.readouterr().err
