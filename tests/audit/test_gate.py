import itertools
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.audit.small_audits import FOIL, audit, check, judged, trial
from trueness.audits.exports import markdown, model_card
from trueness.audits.gate import Condition, Gate, GateOutcome, apply, check_names, read_gate
from trueness.audits.saved import read_audit, write_audit
from trueness.audits.verdict import Trial
from trueness.errors import UserError

GOOD, BAD, OPEN = judged("lime"), judged("mine.py:bad", "must not be shown"), judged("ig", "cannot tell")


def states(text, of, baseline=None):
    outcome = apply(Gate.parse(text), of, baseline)
    return {one.name: one.state for one in outcome.conditions if not one.name.startswith("foil")}, outcome.exit_status


def refused(path):
    with pytest.raises(UserError) as error:
        read_gate(path)
    sentence = str(error.value)
    assert "\n" not in sentence
    assert sentence[-1] in ".?"
    return sentence


# Keys


@pytest.mark.parametrize(
    ("name", "accepted", "state", "status"),
    [
        ("lime", '"may be shown"', "holds", 0),
        ("mine.py:bad", '"may be shown"', "does not hold", 1),
        ("ig", '"may be shown"', "cannot tell", 3),
        ("ig", '["may be shown", "cannot tell"]', "holds", 0),
        ("mine.py:bad", '"must not be shown"', "holds", 0),
        ("lime", '"must not be shown"', "does not hold", 1),
    ],
)
def test_verdict(name, accepted, state, status):
    found = states(f'[verdict]\n"{name}" = {accepted}', audit(GOOD, BAD, OPEN))
    assert found == ({f"verdict of {name}": state}, status)


@pytest.mark.parametrize(
    ("checks", "state", "status"),
    [
        ([check(low=0.25)], "holds", 0),
        ([check(low=0.2)], "holds", 0),
        ([check(low=0.1999)], "does not hold", 1),
        ([check(low=None)], "cannot tell", 3),
        ([check(low=math.nan)], "cannot tell", 3),
        ([check(low=0.3), check(low=0.0)], "holds", 0),  # the first one is shown
        ([], "cannot tell", 3),
    ],
)
def test_floor(checks, state, status):
    tried = trial().model_copy(update={"checks": tuple(checks)})
    found = states('[floor.lime]\n"removal costs" = 0.2', audit(judged("lime", "may be shown", tried)))
    assert found == ({"floor of lime in 'removal costs'": state}, status)


def test_a_floor_and_an_end_just_below_are_shown_apart():
    tried = trial("removal costs", "pass", check(low=0.19999))
    outcome = apply(Gate.parse('[floor.lime]\n"removal costs" = 0.2'), audit(judged("lime", "may be shown", tried)))
    assert "0.19999, below 0.2." in outcome.text


def test_a_trial_that_was_left_out_cannot_be_told():
    gate = '[floor.lime]\n"needs hours" = 0.2'
    left = audit(GOOD, left_out=("needs hours: the budget of 1 minute did not suffice.",))
    assert states(gate, left) == ({"floor of lime in 'needs hours'": "cannot tell"}, 3)
    assert "the budget of 1 minute" in apply(Gate.parse(gate), left).text
    only_others = audit(judged("lime", "may be shown", trial("other")), BAD)
    assert states('[floor.lime]\n"repeats itself" = 0', only_others)[1] == 3


@pytest.mark.parametrize(
    ("explainers", "number", "state", "status"),
    [
        ([GOOD, BAD], 1, "holds", 0),
        ([BAD], 1, "does not hold", 1),
        ([OPEN, BAD], 1, "cannot tell", 3),
        ([GOOD, OPEN], 2, "cannot tell", 3),
        ([GOOD, OPEN], 3, "does not hold", 1),
    ],
)
def test_require_any(explainers, number, state, status):
    assert states(f"require_any = {number}", audit(*explainers)) == ({"require_any": state}, status)


@pytest.mark.parametrize(
    ("decision", "state", "status"),
    [("must not be shown", "holds", 0), ("may be shown", "does not hold", 1), ("cannot tell", "cannot tell", 3)],
)
def test_foils_must_fail(decision, state, status):
    foils = (FOIL, judged("blurred", decision, foil=True))
    for text in ("foils_must_fail = true", "require_any = 1"):  # it is the default
        outcome = apply(Gate.parse(text), audit(GOOD, foils=foils))
        assert outcome.exit_status == status
        assert [one.state for one in outcome.conditions if one.name == "foil blurred"] == [state]
    assert states("require_any = 1\nfoils_must_fail = false", audit(GOOD, foils=foils))[1] == 0


def test_an_audit_without_foils_shows_nothing():
    outcome = apply(Gate.parse("foils_must_fail = true"), audit(GOOD, foils=()))
    assert [(one.name, one.state) for one in outcome.conditions] == [("foils", "cannot tell")]


def test_a_foil_does_not_count_among_those_that_may_be_shown():
    passing = judged("random", "may be shown", foil=True)
    assert states("require_any = 1", audit(BAD, foils=(passing,)))[0] == {"require_any": "does not hold"}


@pytest.mark.parametrize(("rule", "status"), [("fail", 1), ("pass", 0), ("report", 3)])
def test_cannot_tell(rule, status):
    text = f'cannot_tell = "{rule}"\n[verdict]\nig = "may be shown"'
    found, got = states(text, audit(OPEN))
    assert found == {"verdict of ig": "cannot tell"}
    assert got == status
    assert states(text, audit(OPEN, foils=(judged("random", "may be shown", foil=True),)))[1] == 1


# Against an earlier audit


def lime(value, low, high, **more):
    return audit(judged("lime", "may be shown", trial("removal costs", "pass", check(value, low, high, **more))))


@pytest.mark.parametrize(
    ("now", "then", "state", "status"),
    [
        ((0.40, 0.30, 0.50), (0.42, 0.32, 0.52), "holds", 0),
        ((0.60, 0.50, 0.70), (0.40, 0.30, 0.50), "holds", 0),
        ((0.10, 0.05, 0.15), (0.40, 0.30, 0.50), "does not hold", 1),
        ((0.2, 0.2, 0.2), (0.2, 0.2, 0.2), "holds", 0),
        ((0.1, 0.1, 0.1), (0.2, 0.2, 0.2), "does not hold", 1),
        ((0.4, None, None), (0.4, 0.3, 0.5), "cannot tell", 3),
        ((0.4, 0.3, 0.5), (0.4, None, None), "cannot tell", 3),
        ((None, None, None), (0.4, 0.3, 0.5), "cannot tell", 3),
        ((0.4, 0.5, 0.6), (0.4, 0.3, 0.5), "cannot tell", 3),
        ((-1e308, -1e308, -1e308), (1e308, 1e308, 1e308), "cannot tell", 3),
    ],
)
def test_no_worse(now, then, state, status):
    for no_worse in ("true", '["lime"]', '"lime"'):
        found, got = states(f"[baseline]\nno_worse = {no_worse}", lime(*now), lime(*then))
        assert found == {"baseline, verdict of lime": "holds", "baseline, lime in 'removal costs'": state}
        assert got == status


def test_overlapping_intervals_may_differ_beyond_noise():
    """The arms add up in squares: 0.15 lies beyond the square root of 0.1² + 0.1², 0.14 does not."""
    assert states("[baseline]\nno_worse = true", lime(0.25, 0.15, 0.35), lime(0.4, 0.3, 0.5))[1] == 1
    assert states("[baseline]\nno_worse = true", lime(0.26, 0.16, 0.36), lime(0.4, 0.3, 0.5))[1] == 0


def test_a_narrower_level_is_scaled():
    z = 1.959964 / 1.644854
    assert states("[baseline]\nno_worse = true", lime(0.25, 0.15, 0.35, level=0.9), lime(0.4, 0.3, 0.5))[1] == 0
    same = lime(0.25, 0.25 - 0.1 / z, 0.25 + 0.1 / z, level=0.9)
    assert states("[baseline]\nno_worse = true", same, lime(0.4, 0.3, 0.5))[1] == 1
    assert states("[baseline]\nno_worse = true", lime(0.25, 0.15, 0.35, level=1.0), lime(0.4, 0.3, 0.5))[1] == 3


def test_many_comparisons_without_a_change_raise_few_false_alarms():
    rng, alarms = np.random.default_rng(0), 0
    gate = Gate.parse("[baseline]\nno_worse = true")
    for _ in range(300):
        pair = []
        for _ in range(2):
            values = rng.normal(0.4, 0.05, size=(5, 4))
            pair.append(
                audit(
                    *(
                        judged(
                            f"e{i}",
                            "may be shown",
                            *(trial(f"t{j}", "pass", check(v, v - 0.098, v + 0.098)) for j, v in enumerate(row)),
                        )
                        for i, row in enumerate(values)
                    )
                )
            )
        alarms += apply(gate, *pair).exit_status == 1
    assert alarms / 300 < 0.05  # 2.5 % are expected; 40 % without the correction


@pytest.mark.parametrize(
    ("was", "is_now", "state"),
    [
        ("may be shown", "must not be shown", "does not hold"),
        ("may be shown", "cannot tell", "cannot tell"),
        ("may be shown", "may be shown", "holds"),
        ("must not be shown", "must not be shown", "holds"),
        ("cannot tell", "must not be shown", "holds"),
    ],
)
def test_a_verdict_that_is_lost(was, is_now, state):
    same = trial()
    now, then = (audit(judged("lime", decision, same)) for decision in (is_now, was))
    assert states("[baseline]\nno_worse = true", now, then)[0]["baseline, verdict of lime"] == state


def test_what_only_one_audit_has():
    text = "[baseline]\nno_worse = true"
    assert states(text, audit(GOOD), audit(GOOD, OPEN))[0]["baseline, verdict of ig"] == "cannot tell"
    assert not any("ig" in name for name in states(text, audit(GOOD, OPEN), audit(GOOD))[0])
    assert states(text, audit(GOOD), audit(foils=()).model_copy(update={"explainers": ()}))[0] == {
        "baseline": "cannot tell"
    }
    fewer = audit(judged("lime", "may be shown", trial()))
    assert states(text, fewer, audit(GOOD))[0]["baseline, lime in 'repeats itself'"] == "cannot tell"
    other = audit(
        judged("lime", "may be shown", trial("removal costs", "pass", check().model_copy(update={"name": "x"})))
    )
    assert states(text, other, fewer)[0]["baseline, lime in 'removal costs'"] == "cannot tell"
    nothing = audit(judged("lime", "may be shown", trial("removal costs", "pass", check(None, None, None))))
    assert list(states(text, fewer, nothing)[0]) == ["baseline, verdict of lime"]  # there is nothing to be worse than


def test_a_baseline_and_its_table_belong_together():
    with pytest.raises(UserError, match=r"^the gate, line 1: there is no earlier audit; give .* --baseline"):
        apply(Gate.parse("baseline.no_worse = true"), audit())
    with pytest.raises(UserError, match=r"^the gate compares nothing with the baseline; add no_worse = true"):
        apply(Gate.parse("require_any = 1"), audit(), audit())
    with pytest.raises(
        UserError, match=r"^the gate, line 2: the baseline has no explainer 'ig'; known are lime, random"
    ):
        apply(Gate.parse('[baseline]\nno_worse = ["ig"]'), audit(GOOD, OPEN), audit(GOOD))


# The outcome


def test_a_bad_explainer_is_blocked():
    gate = Gate.parse('[verdict]\nlime = "may be shown"\n"mine.py:bad" = "may be shown"')
    outcome = apply(gate, audit(GOOD, BAD))
    assert outcome.exit_status == 1
    assert outcome.text.splitlines()[1].startswith("✗ verdict of mine.py:bad: the verdict is 'must not be shown'")
    assert outcome.summary == "The gate does not hold: of 3 conditions, 2 hold, 1 does not hold."


@pytest.mark.parametrize("rule", ["fail", "pass", "report"])
def test_text_and_status_say_the_same_for_every_mixture(rule):
    words = {"holds": 0, "does not hold": 1, "cannot be told to hold": 3}
    for mixture in itertools.product(["holds", "does not hold", "cannot tell"], repeat=3):
        outcome = GateOutcome(tuple(Condition("c", state, "s.") for state in mixture), rule)
        said = outcome.summary.removeprefix("The gate ").partition(":")[0]
        assert words[said] == outcome.exit_status
        if outcome.exit_status == 0:
            assert "does not hold" not in mixture
            assert "cannot tell" not in mixture or rule == "pass"


# Names that the audit does not have


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            '[verdict]\nlimes = "may be shown"',
            "the gate, line 2: the audit has no explainer 'limes'; did you mean lime?",
        ),
        (
            '[floor."lim"]\n"removal costs" = 1',
            "the gate, line 2: the audit has no explainer 'lim'; did you mean lime?",
        ),
        (
            '[floor.lime]\n"removal cost" = 1',
            "the gate, line 2: the audit has no trial 'removal cost'; did you mean removal costs?",
        ),
        ('[baseline]\nno_worse = ["lme"]', "the gate, line 2: the audit has no explainer 'lme'; did you mean lime?"),
    ],
)
def test_unknown_names(text, sentence):
    with pytest.raises(UserError) as error:
        apply(Gate.parse(text), audit(), audit())
    assert str(error.value) == sentence


def test_names_are_checked_before_there_is_an_audit():
    gate = Gate.parse('[floor.lime]\n"removal costs" = 0.1')
    check_names(gate, ["lime"])
    check_names(gate, ["lime"], ["removal costs"])
    with pytest.raises(UserError, match="no explainer 'lime'"):
        check_names(gate, ["ig"])
    with pytest.raises(UserError, match="no trial 'removal costs'"):
        check_names(gate, ["lime"], ["repeats itself"])


# Files that cannot be read


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[verdict", ["gate.toml, ", "']'", "not valid TOML"]),
        (b'[verdict]\nmine.py:bad = "may be shown"', ["gate.toml, line 2", "not valid TOML"]),
        (b"a = " + b"[" * 5000, ["not valid TOML"]),
        (b"require_any = 1\nrequire_all = 2", ["gate.toml, line 2", "require_all", "did you mean require_any?"]),
        (b'[verdicts]\nlime = "may be shown"', ["line 1", "verdicts", "did you mean verdict?"]),
        (b"[baseline]\nno_worst = true", ["line 2", "baseline.no_worst", "did you mean no_worse?"]),
        (b"[baseline]", ["line 1", "baseline.no_worse is missing", "no_worse = true"]),
        (b"[baseline]\nno_worse = 3", ["line 2", "no_worse", "found 3"]),
        (b"[baseline]\nno_worse = []", ["line 2", "no_worse", "found []"]),
        (b"[baseline]\nno_worse = [3]", ["line 2", "no_worse:", "found [3]"]),
        (b'[verdict]\nlime = "shown"', ["line 2", "verdict.lime", '"may be shown"', "found 'shown'"]),
        (b"[verdict]\nlime = []", ["line 2", "verdict.lime", "found []"]),
        (b'[verdict]\nmine.py = "may be shown"', ["line 2", "verdict.mine", "stands in quotes"]),
        (b'[verdict]\n"a.py:b" = true', ["line 2", "verdict.a.py:b", "found True"]),
        (b"[floor]\nlime = 0.1", ["line 2", "floor.lime", "under [floor.lime]", "found 0.1"]),
        (b'[floor.lime]\na = "0.1"', ["line 2", "floor.lime.a", "found '0.1'"]),
        (b"[floor.lime]\na = nan", ["line 2", "floor.lime.a", "found nan"]),
        (b"[floor.lime]\na = true", ["line 2", "floor.lime.a", "found True"]),
        (b"require_any = true", ["line 1", "require_any", "whole number", "found True"]),
        (b"require_any = 0", ["line 1", "at least 1", "found 0"]),
        (b"require_any = 1.5", ["line 1", "whole number"]),
        (b"foils_must_fail = 1", ["line 1", "true or false"]),
        (b'require_any = 1\ncannot_tell = "ignore"', ["line 2", '"fail", "pass" or "report"', "'ignore'"]),
        (b'[verdict]\nlime = "may be shown"\ncannot_tell = "fail"', ["line 3", "cannot_tell stands inside [verdict]"]),
        (b"[floor]\nrequire_any = 2", ["line 2", "require_any stands inside [floor]"]),
        (b"[baseline]\nno_worse = true\nrequire_any = 2", ["line 3", "require_any stands inside [baseline]"]),
        (b"verdict = 3", ["line 1", "verdict must be a table"]),
        (b"", ["states nothing", "require_any = 1"]),
        (b'cannot_tell = "fail"\n[verdict]', ["states nothing"]),
        (b"foils_must_fail = false", ["states nothing"]),
        (b"require_any = 1 # \xff", ["not UTF-8", "byte 18"]),
        (b"#" * (1 << 20) + b"#", ["larger than 1 MiB"]),
    ],
)
def test_a_bad_gate_file_is_one_sentence(tmp_path, content, words):
    path = tmp_path / "gate.toml"
    path.write_bytes(content)
    sentence = refused(path)
    assert "gate.toml" in sentence
    for word in words:
        assert word in sentence


def test_no_gate_file(tmp_path):
    assert refused(tmp_path / "gate.toml").startswith("There is no gate file ")
    assert "is a folder" in refused(tmp_path)
    assert "not an ordinary file" in refused("/dev/zero")
    assert "File name too long" in refused("x" * 5000)


def test_a_gate_file_with_a_byte_order_mark(tmp_path):
    (tmp_path / "gate.toml").write_bytes(b"\xef\xbb\xbfrequire_any = 2")
    assert read_gate(tmp_path / "gate.toml").require_any == 2


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*Gate.model_fields, "other"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=6,
        ).filter(lambda value: value is not None),
    )
)
@pytest.mark.slow
def test_whatever_a_gate_holds_is_a_gate_or_a_sentence(content):
    text = "\n".join(f"{key} = {_toml(value)}" for key, value in content.items())
    said = ""
    try:
        Gate.parse(text)
    except UserError as error:
        said = str(error)
    assert "\n" not in said


def _toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value) if isinstance(value, bool | str) else repr(value)


# audit.json


def test_an_audit_comes_back_from_its_file(tmp_path):
    made = audit(GOOD, OPEN, settings={"seeds": 3, "nested": {"a": [1, "two"]}}, accuracy=0.9)
    path = write_audit(made, tmp_path / "new" / "audit.json")
    assert read_audit(path) == made
    first = path.read_bytes()
    write_audit(made, path)
    assert path.read_bytes() == first
    assert [file.name for file in path.parent.iterdir()] == ["audit.json"]
    path.write_bytes(first.replace(b'"threshold"', b'"mark"'))
    assert read_audit(path) == made, "as it was called before"


def test_odd_numbers_and_half_characters_are_written_as_json_can_hold_them(tmp_path):
    made = audit(judged("a\ud800b", "may be shown", trial("t", "pass", check(math.nan, -math.inf, math.inf))))
    plain = json.loads(
        write_audit(made.model_copy(update={"settings": {"path": tmp_path}}), tmp_path / "audit.json").read_text(),
        parse_constant=pytest.fail,
    )
    assert plain["explainers"][0]["explainer"] == "a?b"
    assert plain["settings"] == {"path": str(tmp_path)}
    read = read_audit(tmp_path / "audit.json").explainers[0].trials[0].checks[0]
    assert (read.value, read.low, read.high) == (None, None, None)


VALID = audit().model_dump(mode="json")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "is not valid JSON"),
        (b"", "is not valid JSON"),
        (b"\xff", "is not valid JSON"),
        (b"[" * 100_000, "is not valid JSON"),
        (b"[]", "is not an audit; name the audit.json"),
        (b"{}", "is not an audit; name the audit.json"),
        (b'{"schema_version": 99}', "has version 99 of the format"),
        (b'{"schema_version": "' + b"x" * 9999 + b'"}', "run the audit again"),
        (b'{"schema_version": 1}', "has version 1 of the format, and this trueness reads version 2"),
        (b'{"schema_version": 2}', "is not an audit (model: Field required)"),
        (json.dumps({**VALID, "size": "50"}).encode(), "(size: "),
        (json.dumps({**VALID, "explainers": {}}).encode(), "(explainers: "),
        (json.dumps({**VALID, "x" * 9999: 1}).encode(), "run the audit again"),
        (json.dumps({**VALID, "settings": {"a": json.loads("[" * 500 + "]" * 500)}}).encode(), "is not an audit ("),
    ],
)
def test_a_bad_audit_file_is_one_sentence(tmp_path, content, words):
    path = tmp_path / "audit.json"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read_audit(path)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1000


def test_no_audit_file(tmp_path, monkeypatch):
    for path in (tmp_path, tmp_path / "none.json", "/dev/zero"):
        with pytest.raises(UserError, match=r"^[^\n]+\.$"):
            read_audit(path)
    monkeypatch.setattr("trueness.audits.saved.LARGEST", 1 << 20)
    (tmp_path / "huge.json").write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(UserError, match="larger than 1 MiB"):
        read_audit(tmp_path / "huge.json")


def test_an_audit_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write_audit(audit(), tmp_path / "file" / "audit.json")


def test_the_example_of_the_documentation_is_a_gate():
    page = (Path(__file__).parents[2] / "docs" / "audit-gate.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    gate = Gate.parse(example)
    assert set(gate.model_fields_set) == set(Gate.model_fields)
    assert gate.verdict["mine.py:saliency"] == ("may be shown", "cannot tell")


# Names without settings


@pytest.mark.parametrize("name", ["lime", "lime[n_samples=200]"])
def test_a_name_without_settings_stands_for_the_one_that_has_some(name):
    found = audit(judged("lime[n_samples=200]"), BAD)
    text = f'[verdict]\n"{name}" = "may be shown"\n[floor."{name}"]\n"removal costs" = 0.2'
    check_names(Gate.parse(text), [one.explainer for one in found.explainers])
    named = "lime[n_samples=200]"
    assert states(text, found) == (
        {f"verdict of {named}": "holds", f"floor of {named} in 'removal costs'": "holds"},
        0,
    )
    assert found["lime"].explainer == named


def test_a_name_that_stands_for_several_or_has_other_settings_is_refused():
    two = audit(judged("lime[n_samples=200]"), judged("lime[n_samples=100]"))
    with pytest.raises(UserError, match=re.escape("has lime[n_samples=200] and lime[n_samples=100]: name one of them")):
        apply(Gate.parse('[verdict]\nlime = "may be shown"'), two)
    with pytest.raises(UserError, match="no explainer"):
        apply(Gate.parse('[verdict]\n"lime[n_samples=50]" = "may be shown"'), two)
    other = audit(judged("attention[3]"), judged("blurred[lime]"))
    for name in ("attention", "blurred", "lime"):
        with pytest.raises(UserError, match="no explainer"):
            apply(Gate.parse(f'[verdict]\n{name} = "may be shown"'), other)


@pytest.mark.parametrize("listed", ["true", '["lime"]', '["lime[n_samples=50]"]'])
def test_a_baseline_with_other_settings_is_compared(listed):
    before, now = audit(judged("lime[n_samples=100]")), audit(judged("lime[n_samples=200]"))
    found, status = states(f"[baseline]\nno_worse = {listed}", now, before)
    assert status == 0
    assert found
    assert all(state == "holds" for state in found.values())


def test_two_settings_of_one_method_are_not_compared_with_one():
    before = audit(judged("lime[n_samples=100]"), judged("lime[n_samples=200]"))
    found, _ = states("[baseline]\nno_worse = true", audit(judged("lime[n_samples=200]")), before)
    assert found["baseline, verdict of lime[n_samples=100]"] == "cannot tell"
    assert found["baseline, verdict of lime[n_samples=200]"] == "holds"


def test_how_many_trials_were_possible_is_told():
    impossible = Trial(name="finds planted evidence", answer="cannot tell", required=False, reason="No weights.")
    black_box = audit(judged("lime", "may be shown", trial(), impossible))
    assert black_box.possible_trials == (
        "1 of 2 trials were possible on this model; not possible: “finds planted evidence”."
    )
    assert audit(judged()).possible_trials == ""
    assert "1 of 2 trials were possible" in markdown(black_box)
    assert "1 of 2 trials were possible" in model_card(black_box)
