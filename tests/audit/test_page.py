"""The page of an audit: all of it is there, nothing breaks out, nothing is asked for."""

import base64
import hashlib
import html
import math
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.fixtures import EXPLAINERS, FOILS, HOSTILE, TRIALS, example_audit
from trueness.api.audited import AuditRun
from trueness.audits import drawing
from trueness.audits.described import described
from trueness.audits.drawing import Scale, duration, number
from trueness.audits.exports import latex, markdown, model_card
from trueness.audits.page import example as example_grid
from trueness.audits.page import page, write_page
from trueness.audits.verdict import Audit, Broken, Check, Curve, Judged, Trial
from trueness.errors import UserError
from trueness.kinds.contract import Words
from trueness.report.page import breakable

_VOID = {"meta", "br", "wbr", "input", "circle", "line", "rect", "polygon", "polyline"}


class Reader(HTMLParser):
    """Tags with attributes, text by tag, and whether every tag was closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.texts, self.faults = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in _VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.faults.append((tag, self.getpos()))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.texts.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.texts))


@pytest.fixture(scope="module")
def audit():
    return example_audit()


@pytest.fixture(scope="module")
def read(audit):
    return Reader(page(audit))


def changed(audit, explainer, **new):
    judged = [one.model_copy(update=new) if one.explainer == explainer else one for one in audit.explainers]
    return audit.model_copy(update={"explainers": tuple(judged)})


def test_the_page_is_written_whole(audit, tmp_path):
    path = tmp_path / "deep" / "audit.html"
    assert write_page(audit, path) == path
    assert path.read_text(encoding="utf-8") == page(audit)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [one.name for one in path.parent.iterdir()] == ["audit.html"]
    assert path.stat().st_size < 400_000


def test_a_page_is_an_html_file(audit, tmp_path):
    with pytest.raises(UserError, match=r"ends in \.html"):
        write_page(audit, tmp_path / "audit.png")


def test_a_place_that_refuses_is_said(audit, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="choose another place"):
        write_page(audit, tmp_path / "file" / "audit.html")


def test_every_tag_is_closed_and_every_id_is_its_own(read):
    assert (read.faults, read.open) == ([], [])
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"] for tag, attributes in read.tags if tag == "a"}
    assert links <= {f"#{one}" for one in ids}


def test_every_explainer_trial_verdict_and_check_appears(audit, read):
    for name in (*EXPLAINERS, *FOILS, *TRIALS):
        assert name in read.text
    for words in ("✓ may be shown", "✗ must not be shown", "? cannot tell", "✗ fails, as it must"):
        assert words in read.text
    for one in audit.explainers:
        assert one.settle in read.text
        for trial in one.trials:
            assert trial.reason in read.text
            assert all(check.measure in read.text for check in trial.checks)
            assert all(note in read.text for note in trial.notes)
    assert "Which explanations of reviews-minilm <v2> & co may be shown?" in read.text
    assert "800 texts, 2 classes (negative, positive)" in read.text
    assert "91.2 %" in read.text
    assert "6 methods, 6 trials, 3 foils, 9 min 30 s of computing." in read.text
    assert "integrated-gradients and leave-one-out are a tie" in read.text
    for words in (*audit.left_out, *audit.warnings, audit.key, *audit.versions.values()):
        assert words in read.text
    assert "it does not make a model or an explanation compliant with anything" in read.text


def test_a_run_from_the_store_tells_what_was_computed(audit):
    again = audit.model_copy(update={"seconds": 360.0})
    assert "3 foils, 9 min 30 s of computing." in page(again)
    assert "3 foils, 6 min." in page(again.model_copy(update={"cost": ()})), "the clock, where nothing else is known"


def test_names_and_words_stay_text(audit, read):
    assert {tag for tag, _ in read.tags}.isdisjoint({"b-", "img", "iframe", "object", "link", "form"})
    scripts = [tag for tag, about in read.tags if tag == "script" and about.get("type") != "application/json"]
    assert len(scripts) == 1
    assert "<script>alert(1)" not in page(audit)
    assert HOSTILE in read.text
    assert "<script>alert(1)</script>" in read.text
    bad = "\"><img src=x onerror=alert(1)>'{{ 7*7 }}</style></script>"
    trial = Trial(
        name=bad,
        answer="fail",
        reason=bad,
        checks=(Check(name=bad, measure=bad, answer="fail", value=0.1, unit=bad, reason=bad),),
        notes=(bad,),
    )
    judged = Judged(explainer=bad, decision="cannot tell", decided_by=bad, settle=bad, trials=(trial,))
    shown = {"why": bad, "predicted": bad, "label": bad, "units": (bad,), "scores": {bad: (1.0,)}, "signed": (bad,)}
    example = audit.examples[0].model_copy(update=shown)
    hostile = Audit(
        model=bad,
        data=bad,
        classes=(bad, bad),
        size=1,
        explainers=(judged,),
        ties=((bad, bad),),
        left_out=(bad,),
        warnings=(bad,),
        curves=(audit.curves[0].model_copy(update={"explainer": bad}),),
        examples=(example,),
        settings={bad: {bad: [bad]}},
        versions={bad: bad},
        key=bad,
    )
    found = Reader(page(hostile))
    assert (found.faults, found.open) == ([], [])
    assert not [tag for tag, attributes in found.tags if tag == "img" or "onerror" in attributes]
    assert [about.get("type") for tag, about in found.tags if tag == "script"] == ["application/json", None]
    assert found.text.count("{{ 7*7 }}") > 10


def test_the_page_asks_for_nothing(audit, read):
    text = page(audit)
    assert "default-src 'none'" in text
    assert "unsafe" not in text
    assert "//" not in re.sub(r"<script>alert.*?</script>", "", html.unescape(text)).replace("<!--", "")
    for _, attributes in read.tags:
        assert not {"src", "srcset", "style", "onclick", "action", "data"} & attributes.keys()
        assert attributes.get("href", "#").startswith("#")
    assert "url(" not in text
    assert "@import" not in text


@pytest.mark.parametrize("tag", ["style", "script"])
def test_the_policy_knows_style_and_script_by_their_hash(audit, tag):
    text = page(audit)
    inside = re.search(f"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
    assert f"{tag}-src 'sha256-{digest}'" in text


def test_no_answer_is_told_by_colour_alone(read):
    text = page(example_audit())
    answers = re.findall(r'<(?:span|strong) class="answer (\w+)"[^>]*>(.*?)</(?:span|strong)>\s*([\w ,:]*)', text)
    assert len(answers) > 100
    assert all(re.search("[✓✗?⚠]", symbol) for _, symbol, _ in answers)
    assert all(attributes.get("aria-label") for tag, attributes in read.tags if attributes.get("role") == "img")
    assert all("scope" in attributes for tag, attributes in read.tags if tag == "th"), (
        "a header cell says what it is a header of"
    )


def test_a_foil_that_fails_gives_no_alarm(audit):
    assert "Do not rely on this audit" not in page(audit)


def test_a_foil_that_passes_gives_a_loud_warning(audit):
    text = Reader(page(changed(audit, "random", decision="may be shown"))).text
    assert "⚠ Do not rely on this audit." in text
    assert "It must fail, but random got “may be shown”." in text
    assert "⚠ did not fail: may be shown" in text
    # A foil stands on no card, whatever it got.
    assert "(2 of 6)" in text


def test_a_foil_that_cannot_be_told_is_said_without_alarm(audit):
    text = Reader(page(changed(audit, "random", decision="cannot tell"))).text
    assert "Do not rely on this audit" not in text
    assert "? This audit is small for its foils." in text
    assert "? should fail: cannot tell" in text


def test_an_audit_without_foils_says_so(audit):
    some = tuple(one for one in audit.explainers if not one.foil)
    assert "No foil was audited" in page(audit.model_copy(update={"explainers": some}))


def test_an_empty_audit_is_a_page_too():
    found = Reader(page(Audit(model="m", data="d", classes=(), size=0, explainers=())))
    assert (found.faults, found.open) == ([], [])
    for words in (
        "No method was audited.",
        "No method passed every required trial.",
        "0 examples, 0 classes",
        "Nothing.",
    ):
        assert words in found.text
    assert "None" not in found.text


def test_missing_numbers_are_a_dash_and_a_reason():
    bare = [
        Trial(name="removal costs", answer="cannot tell", reason="There was no time."),
        Trial(
            name="removal costs",
            answer="pass",
            reason="It holds.",
            checks=(Check(name="c", measure="m", answer="pass", value=0.5, high=math.nan, threshold=0.1),),
        ),
        Trial(
            name="removal costs",
            answer="cannot tell",
            reason="Not a number.",
            checks=(Check(name="c", measure="m", answer="cannot tell", value=math.nan, low=-math.inf, high=math.inf),),
        ),
    ]
    judged = tuple(
        Judged(explainer=f"e{place}", decision="cannot tell", decided_by="removal costs", trials=(trial,))
        for place, trial in enumerate(bare)
    )
    curve = Curve(explainer="e0", hidden=(0, 0.5), important_first=(1, math.nan), unimportant_first=(1, 0.5))
    found = Reader(page(Audit(model="m", data="d", classes=("a",), size=3, explainers=judged, curves=(curve,))))
    assert "There was no time." in found.text
    assert "no interval" in found.text
    assert "1 class (a)" in found.text
    assert "What would settle it is not known." in found.text
    assert not re.search(r"\b(nan|inf|None)\b", found.text)
    assert not [
        value for _, some in found.tags for value in some.values() if re.search(r"\b(nan|inf|None)\b", value or "")
    ]


def test_a_cell_names_the_check_that_decided_where_it_is_not_the_one_drawn():
    checks = (
        Check(name="all at once", measure="m", answer="pass", value=0.5, low=0.4, high=0.6, threshold=0.1),
        Check(name="bottom up", measure="m", answer="fail", value=0.0, low=0.0, high=0.05, threshold=0.1),
    )
    trial = Trial(name="own trial", answer="fail", reason="r", checks=checks)
    judged = Judged(explainer="e", decision="must not be shown", decided_by="own trial", trials=(trial,))
    found = Reader(page(Audit(model="m", data="d", classes=("a", "b"), size=3, explainers=(judged,))))
    assert "decided by: bottom up" in found.text
    assert "comes from an extension" in found.text


def test_descriptions_are_two_sentences_without_marks(audit):
    told = described(audit)
    assert set(told) == set(TRIALS)
    for about in told.values():
        assert len(re.findall(r"[.!?](?=\s|$)", about.how)) == 2
        assert not re.search(r"\d", about.how)
    plain = described(audit.model_copy(update={"own_trials": ()}))
    assert set(told) - set(plain) == {"attention matters"}


def test_words_have_the_colour_of_their_score():
    text = page(example_audit())
    row = re.search(r'<th scope="row">[^\n]*<bdi class="name">attention</bdi></th>\s*(.*)</tr>', text).group(1)
    kinds = set(re.findall(r'<span class="(\w+) l', row))
    assert kinds == {"plain"}
    signed = re.search(r'<bdi class="name">leave-one-out</bdi></th>\s*(<td><span.*)</tr>', text).group(1)
    assert re.search(r'class="for l10" title="\+0.\d+"><bdi>brilliant', signed)
    assert re.search(r'class="against l\d" title="−0.\d+"><bdi>dull', signed)


def test_every_word_stands_once_in_each_row(audit):
    for example in audit.examples:
        laid = example_grid(example, audit)
        words = [cell["word"] for line in [*laid["lines"], *laid["more"]] for cell in line]
        assert words == [*example.units]
        assert [row["name"] for row in laid["rows"]] == [*EXPLAINERS, *FOILS]


def test_a_picture_is_shown_under_what_each_method_says_of_its_squares(audit):
    words = Words("image", "images", "square", "squares", "every pixel becomes one level brighter")
    scores = {"integrated-gradients": (1.0, -0.5, 0.0, 0.0, 0.0, 0.3), "random": (0.0,) * 6}
    one = audit.examples[0].model_copy(
        update={"units": (), "image": "iVBORw0KGgo=", "grid": (2, 3), "scores": scores, "signed": ("random",)}
    )
    shown = audit.model_copy(
        update={"kind": "image", "words": words, "examples": (one,), "own_trials": (), "explainers": ()}
        | {"left_out": (), "warnings": ()}
    )
    found = Reader(page(shown))
    paths = [(about["class"], about["d"]) for tag, about in found.tags if tag == "path"]
    assert paths == [("plain l10", "M0 0h1v1h-1z"), ("plain l3", "M2 1h1v1h-1z")]
    assert [about["viewbox"] for tag, about in found.tags if about.get("viewbox", "").startswith("0 0 3 2")]
    assert len([tag for tag, _ in found.tags if tag == "use"]) == 2
    assert found.faults == []
    assert "800 images" in found.text
    exported = [markdown(shown), model_card(shown), latex(shown)]
    assert not re.search(r"\b(text|texts|word|words)\b", found.text + "".join(exported).replace("text-", ""))


def test_a_method_whose_code_failed_is_named_with_its_error(audit):
    broken = Broken(explainer="mine.py:peak", error="mine.py:peak failed, mine.py line 3: ValueError.")
    found = Reader(page(audit.model_copy(update={"broken": (broken,)})))
    assert "1 method could not be audited" in found.text
    assert "mine.py line 3" in found.text


def test_a_long_text_is_folded(audit):
    first = audit.examples[0]
    scores = {name: values * 30 for name, values in first.scores.items()}
    example = first.model_copy(update={"units": first.units * 30, "scores": scores})
    found = Reader(page(audit.model_copy(update={"examples": (example,)})))
    assert re.search(r"The other \d+ words of this text", found.text)
    assert found.faults == []


@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), max_size=8), st.integers(1, 12))
def test_a_scale_holds_its_values(values, parts):
    values = [round(value, 6) for value in values]
    scale = Scale.over(values, parts)
    slack = scale.step * 1e-6
    assert all(scale.low - slack <= value <= scale.high + slack for value in values)
    assert scale.low < scale.high
    assert all(-0.11 <= scale.at(value, 0, 100) <= 100.11 for value in values)
    assert scale.ticks[0] == scale.low
    assert scale.ticks[-1] == pytest.approx(scale.high)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.96, "10 s"), (59.7, "1 min"), (90, "1 min 30 s"), (3600, "1 h"), (7499, "2 h 4 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_numbers():
    assert [number(value) for value in (None, math.nan, -0.001, -0.5, 1234.5)] == [
        "–",
        "–",
        "0.00",
        "−0.50",
        "1,234.50",
    ]
    assert [drawing.digits(values) for values in ([], [0, 1], [0, 0.02], [0, 0.004])] == [2, 2, 3, 4]


def test_the_axis_of_curves_ends_with_the_curves():
    hidden = (0.0, 0.1, 0.3, 0.5)
    made = drawing.panels(
        [Curve(explainer="a", hidden=hidden, important_first=hidden, unimportant_first=hidden)], "words"
    )
    right = made.field[2]
    assert made.panels[0].important[-1][0] == right, "nothing is empty behind the last share"
    assert [text for _, text in made.across] == ["0%", "10%", "20%", "30%", "40%", "50%"]


def test_a_notebook_shows_cards_and_curves():
    audit = example_audit()
    run = AuditRun(**dict(audit))
    shown = run._repr_html_()
    for one in audit.explainers:
        assert (f"<b>{html.escape(one.explainer)}</b>" in shown) is not one.foil
    assert shown.count("<polyline") == 2 * len(audit.curves)
    assert "of 3 foils failed, as they must" in shown or "foils failed" in shown
    card = audit.explainers[0]
    assert html.escape(card.explainer) in card._repr_html_()
    assert repr(card) == f"<Judged {card.explainer}: {card.decision}>"
    hostile = card.model_copy(update={"explainer": "<script>x</script>", "holds": "<b>"})
    assert "<script>" not in hostile._repr_html_()


def test_a_name_may_break_between_its_parts():
    assert breakable("lime[n_samples=200]") == "lime<wbr>[n_samples<wbr>=200]"
    assert breakable("<b>") == "&lt;b&gt;"
