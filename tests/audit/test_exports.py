import csv as csv_format
import io
import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.audit.small_audits import FOIL, audit, check, judged, trial
from trueness.audits.export_cells import NOTHING
from trueness.audits.exports import csv, junit, latex, markdown, model_card
from trueness.audits.gate import Condition, Gate, GateOutcome, apply

HOSTILE = (
    "a|b `c` <img src=x> & *d* _e_ [f](g) \x00\x1b[31m\ud800\uffff\n\r\u2028| --- |\t@user #1 "
    "\\\\| $x$ % ~ ^ { } ]]> \" '"
)
MIXED = audit(
    judged("lime"),
    judged("mine.py:bad", "must not be shown", trial("removal costs", "fail", check(-0.125, -0.2, -0.05, "fail"))),
    judged("ig", "cannot tell", trial("removal costs", "cannot tell", check(None, None, None, "cannot tell"))),
    judged("shap", "may be shown", trial(), trial("informative", "pass", required=False)),
)
OUTCOME = apply(Gate.parse('[verdict]\n"mine.py:bad" = "may be shown"\nig = "may be shown"'), MIXED)
NAMES = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=20) | st.sampled_from(
    [HOSTILE, "|", "\\|", "\\", "`|`", "", " ", "\n|\n", "<!--", "-->", "&#124;", "---", "[", "*", "--"]
)


@st.composite
def audits(draw):
    number = st.none() | st.floats() | st.integers(-3, 3)
    trials = st.lists(NAMES, max_size=3, unique=True)
    decisions = st.sampled_from(["may be shown", "must not be shown", "cannot tell"])
    answers = st.sampled_from(["pass", "fail", "cannot tell"])
    explainers = [
        judged(
            draw(NAMES),
            draw(decisions),
            *(
                trial(name, draw(answers), check(draw(number), draw(number), draw(number)), reason=draw(NAMES))
                for name in draw(trials)
            ),
            foil=draw(st.booleans()),
            settle=draw(NAMES),
        )
        for _ in range(draw(st.integers(1, 3)))
    ]
    told = {name: draw(NAMES) for name in ("model", "data")}
    return audit(*explainers, foils=(), left_out=(draw(NAMES),), warnings=(draw(NAMES),), **told)


@st.composite
def outcomes(draw):
    state = st.sampled_from(["holds", "does not hold", "cannot tell"])
    return GateOutcome((Condition(draw(NAMES), draw(state), draw(NAMES)),))


# JUnit

CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "skipped", "system-out"},
    "failure": set(),
    "skipped": set(),
    "system-out": set(),
}
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"classname", "name"},
    "failure": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
}
"""The part of the common shape (that of Jenkins and of Apache Ant) that is used."""


def parsed(text):
    root = ElementTree.fromstring(text.encode())
    for element in root.iter():
        assert {child.tag for child in element} <= CHILDREN[element.tag]
        assert set(element.attrib) == ATTRIBUTES[element.tag]
        if element.tag in ("testsuites", "testsuite"):
            for count, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
                assert int(element.get(count, len(list(element.iter(tag))))) == len(list(element.iter(tag)))
        if element.tag == "testcase":
            assert len(element) == 1
    return root


def test_junit_has_a_suite_per_explainer_and_a_case_per_trial():
    root = parsed(junit(MIXED))
    assert [suite.get("name") for suite in root] == ["lime", "mine.py:bad", "ig", "shap", "random"]
    found = {(case.get("classname"), case.get("name")): case[0].tag for case in root.iter("testcase")}
    assert found == {
        ("lime", "removal costs"): "system-out",
        ("lime", "repeats itself"): "system-out",
        ("mine.py:bad", "removal costs"): "failure",
        ("ig", "removal costs"): "skipped",
        ("shap", "removal costs"): "system-out",
        ("shap", "informative"): "system-out",
        ("random", "the foil fails"): "system-out",
    }
    assert root.get("failures") == "1"
    assert root.find(".//failure").get("message") == "it was seen. -0.125 [-0.2, -0.05]"
    assert root.find(".//skipped").get("message") == "cannot tell: it was seen."


def test_a_foil_that_may_be_shown_is_a_failure():
    for decision, tag in (("may be shown", "failure"), ("cannot tell", "skipped"), ("must not be shown", "system-out")):
        root = parsed(junit(audit(foils=(judged("blurred", decision, foil=True),))))
        assert [case[0].tag for case in root[-1]] == [tag]


def test_the_gate_is_a_suite_of_its_own():
    suite = parsed(junit(MIXED, OUTCOME))[-1]
    assert suite.get("name") == "gate"
    assert [(case.get("name"), case[0].tag) for case in suite] == [
        ("verdict of mine.py:bad", "failure"),
        ("verdict of ig", "skipped"),
        ("foil random", "system-out"),
    ]
    # A gate decides alone: a trial that failed, and which no condition asks about, fails no build.
    assert {case[0].tag for suite in parsed(junit(MIXED, OUTCOME))[:-1] for case in suite} == {"system-out", "skipped"}
    assert "fail, and the gate decides" in parsed(junit(MIXED, OUTCOME))[1][0][0].text


def test_a_card_says_what_was_left_out():
    assert "- no companion was trained" in model_card(audit(left_out=("no companion was trained",)))
    assert "Left out" not in model_card(audit())


@settings(max_examples=150, deadline=None)
@given(audits(), outcomes())
def test_junit_always_parses(made, outcome):
    root = parsed(junit(made, outcome))
    assert len(root) == len(made.explainers) + 1


# Markdown


def columns(text):
    """The cells of each row of each table, as a reader of Markdown takes them."""
    rows, tables = [], 0
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        tables += token.type == "table_open"
        if token.type == "tr_open":
            rows.append(0)
        rows[-1:] = [rows[-1] + (token.type in ("th_open", "td_open"))] if rows else []
    return tables, rows


def tags(text):
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inline = [child for token in tokens for child in token.children or ()]
    assert not {child.type for child in inline} & {"link_open", "image", "em_open", "code_inline"}
    return {child.content for child in inline if child.type == "html_inline"}


def test_markdown_says_the_gate_and_the_verdicts_first():
    lines = markdown(MIXED, OUTCOME).splitlines()
    assert lines[0].startswith("### Explanations of <code>models/mine</code>")
    assert lines[2] == f"**{OUTCOME.summary}**".replace("_", "&#95;")
    assert [line[:3] for line in lines[10:12]] == ["- ✗", "- ?"]
    assert lines[4:7] == [
        "- ✓ **May be shown**: <code>lime</code>, <code>shap</code>",
        "- ✗ **Must not be shown**: <code>mine.py:bad</code> (removal costs)",
        "- ? **Cannot tell**: <code>ig</code> (removal costs)",
    ]


def test_markdown_shows_sign_value_and_interval():
    text = markdown(MIXED)
    assert "| explainer | verdict | removal costs | repeats itself | informative (not required) |" in text
    assert "| <code>mine.py:bad</code> | ✗ must not be shown | ✗ -0.125 [-0.2, -0.05] | – | – |" in text.splitlines()
    assert "| <code>ig</code> | ? cannot tell | ? | – | – |" in text.splitlines()
    assert "<code>random</code> (foil)" in text
    assert columns(text) == (1, [5] * 6)
    assert text.index("| explainer") < text.index("<details>") < text.index("</details>")


@settings(max_examples=150, deadline=None)
@given(audits(), outcomes())
def test_no_name_adds_a_column_or_a_tag(made, outcome):
    trials = {trial.name for one in made.explainers for trial in one.trials}
    own = sum(not one.foil for one in made.explainers)
    for text, rows in ((markdown(made, outcome), len(made.explainers)), (model_card(made), own)):
        body = text[text.index("\n#") :] if not text.startswith("#") else text
        assert columns(body) == (1, [len(trials) + 2] * (rows + 1))
        assert tags(body) <= {"<code>", "</code>"}


def test_long_details_are_cut_to_what_a_comment_may_have():
    many = audit(*(judged(f"e{i}", "may be shown", trial(reason="long " * 500)) for i in range(60)))
    text = markdown(many)
    assert len(text) < 65_536
    assert "The rest is in audit.json." in text
    assert text.rstrip().endswith("</details>")


# Model card


def metadata(text):
    yaml = pytest.importorskip("yaml")
    head, _, rest = text.removeprefix("---\n").partition("\n---\n")
    return yaml.safe_load(head), rest


def test_the_card_has_a_section_and_metadata():
    found, rest = metadata(model_card(MIXED.model_copy(update={"accuracy": 0.875, "model": "/home/me/mine/"})))
    assert rest.lstrip().startswith("## Explanations\n")
    assert "certifies nothing" in rest
    assert "random" not in rest
    assert "1 of 1 did" in rest
    (index,) = found["model-index"]
    (result,) = index["results"]
    assert index["name"] == "mine"
    assert result["task"] == {"type": "text-classification"}
    assert result["dataset"] == {"name": "reviews.csv", "type": "reviews.csv"}
    assert result["metrics"][0] == {"type": "accuracy", "name": "accuracy", "value": 0.875}
    assert result["metrics"][1] == {
        "type": "removal-costs",
        "name": "lime, removal costs: the drop (pass)",
        "value": 0.4,
    }
    assert not any("ig," in metric["name"] for metric in result["metrics"])


def test_the_hub_reads_the_card():
    hub = pytest.importorskip("huggingface_hub")
    card = hub.ModelCard(model_card(MIXED))
    assert card.data.model_name == "mine"
    assert [(one.metric_type, one.metric_value) for one in card.data.eval_results][:2] == [
        ("removal-costs", 0.4),
        ("repeats-itself", 0.4),
    ]


def test_a_card_without_numbers_has_no_metadata():
    nothing = judged("lime", "cannot tell", trial("t", "cannot tell", check(None, None, None)))
    assert model_card(audit(nothing)).startswith("## Explanations\n")


@pytest.mark.parametrize("number", [1e-05, 1.5e-07, 1e20, -3.0, 0.0, 123456.0])
def test_numbers_stay_numbers_in_yaml(number):
    made = audit(judged("lime", "may be shown", trial("t", "pass", check(number, None, None))))
    value = metadata(model_card(made))[0]["model-index"][0]["results"][0]["metrics"][0]["value"]
    assert value == pytest.approx(number)
    assert not isinstance(value, str)


@settings(max_examples=100, deadline=None)
@given(audits())
def test_the_metadata_always_load(made):
    text = model_card(made)
    if text.startswith("---"):
        metrics = metadata(text)[0]["model-index"][0]["results"][0]["metrics"]
        assert all(isinstance(one["value"], int | float) and math.isfinite(one["value"]) for one in metrics)


# LaTeX and CSV


def test_latex_is_a_booktabs_table():
    lines = latex(MIXED).splitlines()
    assert [line for line in lines if line.endswith("rule")] == [
        r"\toprule",
        r"\midrule",
        r"\midrule",
        r"\bottomrule",
    ]
    assert r"\begin{tabular}{llllc}" in lines
    assert r"mine.py:bad & $\times$ $-0.125$ {\scriptsize $[-0.2, -0.05]$} & -- & -- & no \\" in lines
    assert r"ig & ? & -- & -- & ? \\" in lines


def test_what_latex_would_take_for_a_command_is_escaped():
    row = latex(audit(judged(r"[x]_%&#\ {--}~^", "may be shown"))).splitlines()[8]
    assert row.startswith(r"{[}x{]}\_\%\&\#\textbackslash{} \{-{}-\}\textasciitilde{}\textasciicircum{} & ")


@settings(max_examples=100, deadline=None)
@given(audits())
def test_latex_rows_have_the_same_cells_and_closed_braces(made):
    text = latex(made)
    trials = {trial.name for one in made.explainers for trial in one.trials}
    rows = [line for line in text.splitlines() if line.endswith(r" \\")]
    assert len(rows) == len(made.explainers) + 1
    for row in rows:
        assert len(re.findall(r"(?<!\\)&", row)) == len(trials) + 1
        assert not row.startswith(("[", "*"))
        assert not re.search(r"(?<!\\)[%#_~^]", row)
        depth = 0
        for sign in re.findall(r"\\.|[{}]", row):
            depth += {"{": 1, "}": -1}.get(sign, 0)
            assert depth >= 0
        assert depth == 0


def test_what_was_not_possible_is_no_open_trial_in_any_export():
    away = trial("depends on the model", "cannot tell", required=False, reason="A function has no weights.")
    away = away.model_copy(update={"checks": ()})
    made = audit(judged("lime", "may be shown", trial(), away))
    assert f"| {NOTHING} |" in markdown(made)
    assert f"- {NOTHING} depends on the model: A function has no weights." in markdown(made)
    assert "& -- &" in latex(made)
    assert "not possible: A function has no weights." in junit(made)
    assert "cannot tell: A function" not in junit(made)


def test_csv_has_a_row_per_check_and_for_trials_without_one():
    bare = trial("attention only").model_copy(update={"checks": (), "answer": "cannot tell"})
    made = audit(
        judged('a,"b"\n=c', "may be shown", trial("removal costs", "pass", check(), check(None)), bare), foils=()
    )
    rows = list(csv_format.DictReader(io.StringIO(csv(made))))
    assert [(row["trial"], row["check"], row["value"]) for row in rows] == [
        ("removal costs", "drop", "0.4"),
        ("removal costs", "drop", ""),
        ("attention only", "", ""),
    ]
    assert {row["explainer"] for row in rows} == {'a,"b" =c'}
    assert rows[0].keys() >= {"low", "high", "null", "n", "unit", "level", "p_value", "verdict", "finding"}


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "=cmd|' /C calc'!A0"])
def test_no_cell_of_csv_is_a_formula(name):
    made = audit(judged(name, "may be shown", trial(name, "fail", check(-0.5), reason=name)), foils=())
    (row,) = csv_format.DictReader(io.StringIO(csv(made)))
    for column in ("explainer", "trial", "finding"):
        assert row[column] == f"'{name.strip()}"
    assert row["value"] == "-0.5"


def test_no_address_becomes_a_link_in_markdown():
    made = audit(judged("www.evil.example", "may be shown", trial(reason="see WWW.evil.example and http://x.y")))
    for text in (markdown(made), model_card(made).partition("## Explanations")[2]):
        assert not re.search(r"www\.|://", text, re.IGNORECASE)
    assert "WWW&#46;evil.example" in markdown(made)


@settings(max_examples=100, deadline=None)
@given(audits())
def test_csv_always_has_one_row_per_check(made):
    rows = list(csv_format.DictReader(io.StringIO(csv(made))))
    assert len(rows) == sum(len(one.trials) for one in made.explainers)
    assert all(None not in row and None not in row.values() for row in rows)


@pytest.mark.parametrize("write", [junit, markdown, model_card, latex, csv])
def test_hostile_names_can_be_written_as_utf8_without_control_characters(write):
    text = write(audit(judged(HOSTILE, "may be shown", trial(HOSTILE, "fail", reason=HOSTILE)), FOIL, model=HOSTILE))
    text.encode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028]", text)
