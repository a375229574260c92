"""Whole audits of tiny models, in one thread; sizes; models whose right explanation is known."""

import contextlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

import trueness as tn
from tests.audit import repetitions, tiny
from tests.audit.small_audits import audit as by_hand
from tests.audit.small_audits import judged as verdict_by_hand
from tests.inline import here
from trueness.api.audits import failed_for_good
from trueness.audits import sizes
from trueness.audits.gate import Gate, apply
from trueness.audits.leaderboard import audits_in, leaderboard
from trueness.audits.study import AuditStudy
from trueness.audits.trials import PLANTED, REMOVAL, TRIALS
from trueness.audits.verdict import Check, Judged, Trial
from trueness.engine import Store
from trueness.errors import UserError
from trueness.kinds.contract import Words
from trueness.kinds.text.audit import FOILS
from trueness.kinds.text.models.black_box import load_black_box
from trueness.kinds.text.models.opening import load_model
from trueness.models.recipes import Recipe
from trueness.studies import Study

EXPLAINERS = ["leave-one-out", "gradient", "attention"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tiny.make_place(tmp_path_factory.mktemp("audit"))


def run(model, data, store, **how):
    with ThreadPoolExecutor(1) as pool:
        return tn.audit(model, data, store=store, executor=pool, **{**tiny.SMALLEST, **how})


def keys(store):
    return set(Store.open(store).keys())


def without_cost(found):
    one_second = [one.model_copy(update={"seconds": 1.0}) for one in found.explainers]
    return found.model_copy(update={"cost": (), "seconds": None, "explainers": tuple(one_second)})


@pytest.fixture(scope="module")
def first(place):
    return run(place / "model", place / "many.csv", place / "store", explainers=EXPLAINERS, **tiny.PLANTED)


# Whole audits


def test_all_explainers_foils_and_trials_are_there(first):
    assert {one.explainer for one in first.explainers} == {*EXPLAINERS, *FOILS}
    assert set(first.table["explainer"]) == {*EXPLAINERS, *FOILS}
    for one in first.explainers:
        own = ["attention matters"] if one.explainer == "attention" else []
        wanted = [*TRIALS[:-1], *own, TRIALS[-1]]
        assert [trial.name for trial in one.trials] == wanted
    assert {*first.table.columns} >= {"explainer", "trial", "answer", "value", "low", "high", "null", "threshold", "n"}
    assert first["leave-one-out"].trial(PLANTED).checks, "models were trained with planted evidence"
    assert first.accuracy > 0.8
    assert first.classes == ("no", "yes")
    assert (first.size, first.kind, first.words.examples) == (40, "text", "texts")


def test_no_foil_may_be_shown(first):
    assert [one.explainer for one in first.explainers[-len(FOILS) :] if one.foil]
    decisions = {one.explainer.split("[")[0]: one.decision for one in first.explainers if one.foil}
    assert decisions["random"] == "must not be shown"
    assert "may be shown" not in decisions.values()
    shown = [one.explainer for one in first.explainers if one.decision == "may be shown"]
    assert first.may_be_shown == shown


def test_no_number_changes_when_another_explainer_is_left_out(first, place):
    alone = run(place / "model", place / "many.csv", place / "store", explainers=["gradient"], **tiny.PLANTED)
    one, beside = ([trial for trial in found["gradient"].trials if trial.required] for found in (alone, first))
    assert [(trial.name, trial.answer, trial.checks) for trial in one] == [
        (trial.name, trial.answer, trial.checks) for trial in beside
    ]
    assert (alone["gradient"].decision, alone["gradient"].holds) == (
        first["gradient"].decision,
        first["gradient"].holds,
    )


def test_running_again_computes_nothing(first, place):
    before = keys(place / "store")
    again = run(place / "model", place / "many.csv", place / "store", explainers=EXPLAINERS, **tiny.PLANTED)
    assert keys(place / "store") == before
    assert without_cost(again) == without_cost(first)


def test_report(first, tmp_path):
    page = first.report(tmp_path / "audit.html")
    assert "leave-one-out" in page.read_text()
    plain = json.loads((tmp_path / "audit.json").read_text())
    assert [one["explainer"] for one in plain["explainers"]] == [one.explainer for one in first.explainers]
    with pytest.raises(UserError, match=r"ends in \.html"):
        first.report(tmp_path / "audit.txt")


def test_it_is_asked_about_what_is_named_not_about_what_lay_there_before(place, tmp_path):
    """Model and texts are renamed, and others take their places: an audit of the renamed ones is about them."""
    how = {"explainers": ["leave-one-out"], "store": tmp_path / "store"}
    shutil.copytree(place / "model", tmp_path / "model")
    tiny.write_csv(tmp_path / "now.csv", tiny.make_rows(40))
    before = run(tmp_path / "model", tmp_path / "now.csv", **how)
    (tmp_path / "model").rename(tmp_path / "kept")
    (tmp_path / "now.csv").rename(tmp_path / "old.csv")
    other = tn.train("average-additive", str(place / "data"), recipe=Recipe(epochs=0), hidden=4, embedding=8, seed=5)
    other.save(tmp_path / "model")
    tiny.write_csv(tmp_path / "now.csv", tiny.make_rows(50, seed=9))
    renamed = run(tmp_path / "kept", tmp_path / "old.csv", **how)
    assert (renamed.model, renamed.data) == ("kept", "old.csv")
    assert renamed.accuracy == before.accuracy
    assert renamed.explainers == tuple(
        one.model_copy(update={"seconds": mine.seconds})
        for one, mine in zip(before.explainers, renamed.explainers, strict=True)
    )
    (tmp_path / "now.csv").unlink()
    assert run(tmp_path / "kept", tmp_path / "old.csv", **how).examples == renamed.examples


def test_a_model_that_changed_in_one_session_is_opened_again(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = tiny.PREDICT
    (tmp_path / "swap.py").write_text(text)
    tiny.write_csv(tmp_path / "texts.csv", tiny.make_rows(60))
    how = {"explainers": ["leave-one-out"], "store": tmp_path / "store"}
    assert run("swap.py:predict", "texts.csv", **how).accuracy == 1.0
    (tmp_path / "swap.py").write_text(text.replace("[bad / (good + bad), good /", "[good / (good + bad), bad /"))
    assert run("swap.py:predict", "texts.csv", **how).accuracy == 0.0
    (tmp_path / "swap.py").write_text(
        text.replace("('no', 'yes')", "('n', 'y')").replace('("no", "yes")', '("n", "y")')
    )
    with pytest.raises(UserError, match="the model's classes are n, y: rename the labels"):
        run("swap.py:predict", "texts.csv", **how)
    (tmp_path / "swap.py").write_text(text)
    assert run("swap.py:predict", "texts.csv", **how).accuracy == 1.0
    shutil.copytree(place / "model", tmp_path / "model")
    first = run(tmp_path / "model", "texts.csv", **how).accuracy
    weights = tmp_path / "model" / "weights.safetensors"
    turned = {name: -tensor if "output" in name else tensor for name, tensor in load_file(weights).items()}
    assert turned != {}
    save_file(turned, weights)
    assert run(tmp_path / "model", "texts.csv", **how).accuracy < first


def test_an_explainer_that_changes_the_model_is_refused_and_spoils_nothing(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(
        "import torch\n\n"
        "def scaled(model, batch, target):\n"
        "    for one in model.parameters():\n        one.data.mul_(3)\n"
        "    return torch.zeros(batch.mask.shape)\n\n"
        "def hooked(model, batch, target):\n"
        "    model.register_forward_hook(lambda *_: None)\n    return torch.zeros(batch.mask.shape)\n\n"
        "def trains(model, batch, target):\n    model.train()\n    return torch.zeros(batch.mask.shape)\n"
    )
    tiny.write_csv(tmp_path / "texts.csv", tiny.make_rows(40))
    how = {"store": tmp_path / "store"}
    for name, what in (("scaled", "the numbers of"), ("hooked", "a hook of"), ("trains", "whether it is in training")):
        beside = run(place / "model", "texts.csv", explainers=[f"bad.py:{name}", "leave-one-out"], **how)
        (broken,) = beside.broken
        assert broken.explainer == f"bad.py:{name}"
        assert f"bad.py:{name} changed the model that it explains ({what}" in broken.error
        assert beside["leave-one-out"].trials
    alone = run(place / "model", "texts.csv", explainers=["leave-one-out"], **how)
    clean = run(place / "model", "texts.csv", explainers=["leave-one-out"], store=tmp_path / "clean")
    assert without_cost(alone) == without_cost(clean)


def test_a_function_that_answers_at_random_is_warned_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dice.py").write_text(
        "import random\n\ndef predict(texts):\n    return [[p, 1 - p] for p in (random.random() for _ in texts)]\n"
    )
    tiny.write_csv(tmp_path / "texts.csv", [(text,) for text, _ in tiny.make_rows(40)], names=("text",))
    found = run("dice.py:predict", "texts.csv", tmp_path / "store", explainers=["leave-one-out"])
    assert [one for one in found.warnings if "dice.py:predict gives a text other probabilities when asked again" in one]


def test_a_right_explanation_of_one_word_among_many_may_be_shown(tmp_path, monkeypatch):
    """A blurred copy ranks that word first as well: it is right, and so no foil."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "key.py").write_text(tiny.PREDICT)
    rng = np.random.default_rng(3)
    rows = []
    for index in range(150):
        words = rng.choice(tiny.FILLER, rng.integers(15, 31)).tolist()
        words[rng.integers(len(words))] = ("bad", "good")[index % 2]
        rows.append((" ".join(words), ("no", "yes")[index % 2]))
    tiny.write_csv(tmp_path / "long.csv", rows)
    sizes_of = {"examples": 150, "hidden_shares": [0.1, 0.2, 0.5]}
    found = run("key.py:predict", "long.csv", tmp_path / "store", explainers=["leave-one-out"], **sizes_of)
    assert found.may_be_shown == ["leave-one-out"]
    assert not found["leave-one-out"].trial("informative").required
    foils = {one.explainer: one.decision for one in found.explainers if one.foil}
    assert foils == dict.fromkeys(("random", "token-number"), "must not be shown")
    assert "the foil blurred[leave-one-out]: where one word decides, blurring spoils nothing" in found.left_out


def test_a_function_that_is_sure_of_everything_is_explained_where_hiding_words_moves_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sure.py").write_text(
        "def predict(texts):\n    return [[0.05, 0.95] if 'good' in text.split() else [0.5, 0.5] for text in texts]\n"
    )
    rows = [(text.replace("bad", "good"),) for text, _ in tiny.make_rows(120)]
    tiny.write_csv(tmp_path / "texts.csv", rows, names=("text",))
    found = run("sure.py:predict", "texts.csv", tmp_path / "store", explainers=["leave-one-out"], examples=120)
    assert not [one for one in found.warnings if "says the same" in one]
    assert found["leave-one-out"].trial(REMOVAL).answer == "pass"


def test_a_budget_trains_no_model_only_where_all_failed_for_good():
    def failed(trial, p_value, answer="fail"):
        check = Check(
            name="one", measure="m", answer=answer, value=0.0, low=0.0, high=0.0, threshold=0.25, p_value=p_value
        )
        told = Trial(name=trial, answer=answer, reason="r", checks=(check,))
        return Judged(explainer="mine", decision="must not be shown", decided_by=trial, trials=(told,))

    assert failed_for_good(failed(REMOVAL, 0.001), 24)
    assert not failed_for_good(failed(REMOVAL, 0.003), 24), "more checks would be corrected for"
    assert not failed_for_good(failed("informative", 1e-9), 24), "a check that is to come may pass"
    assert not failed_for_good(failed(REMOVAL, 1e-9, "pass"), 24)


def test_sizes_that_were_asked_for_are_told_as_such_and_end_where_the_texts_do():
    costs = {**COSTS, "look": 1e-3, "learn": 1e-3, "explainers": {"gradient": 1e-3, "random": 1e-4}}

    def told(rows=500, trains=True, **asked):
        found = sizes.choose({**costs, "trains": trains}, rows, rows, 2, budget=None, asked=asked, words=WORDS)
        return found, " ".join(found.left_out)

    found, _ = told(examples=100_000)
    assert found.settings["examples"] == 500
    _, text = told(companion_examples=0)
    assert "no companion was trained with hidden words (as asked)" in text
    _, text = told(training_examples=50)
    assert "no companion was trained with hidden words (as asked)" in text
    assert "no models were trained on planted evidence (as asked)" in text
    found, text = told(train_models=False)
    assert "no model was trained: neither with planted evidence, nor with hidden words, nor again (as asked)" in text
    assert "retrained_models=3" not in text
    assert found.seconds < told()[0].seconds
    _, text = told(rows=80, training_examples=1000)
    assert "no models were trained on planted evidence (there are too few texts)" in text
    function = {**costs, "layers": 0, "trains": False}
    asked = {"layerwise_examples": 0}
    alone = sizes.choose(function, 500, 500, 2, budget=60, asked=asked, words=WORDS)
    assert not [one for one in alone.left_out if "layer by layer" in one]
    assert sizes.parts(found.settings, function, WORDS)["random weights"] == 0


def test_the_smallest_audit_is_no_dearer_without_training():
    costs = {**COSTS, "look": 4e-3, "learn": 1e-2, "explainers": {"gradient": 4e-2, "random": 1e-3}}

    def least(**asked):
        for budget in range(20, 400):
            with contextlib.suppress(UserError):
                return sizes.choose(costs, 500, 500, 1, budget=budget, asked=asked, words=WORDS).seconds
        raise AssertionError

    assert least(train_models=False) == least()


def test_sizes_are_read_as_the_study_reads_them(place, tmp_path):
    how = {"explainers": ["leave-one-out"], "store": tmp_path / "store", "training_examples": 600}
    found = run(place / "model", place / "many.csv", train_models="no", examples="40", **how)
    assert found.settings["examples"] == 40
    assert [one for one in found.left_out if one.startswith("no model was trained: neither with planted evidence")]


def test_earlier_names_of_sizes_still_work_and_are_told_of(place, tmp_path):
    sizes_now = {name: value for name, value in tiny.SMALLEST.items() if name not in ("examples", "repeat_examples")}
    how = {"store": tmp_path / "store", "executor": here(), "explainers": ["gradient"], **sizes_now}
    with pytest.warns(FutureWarning, match="called (repeat_)?examples now") as told:
        found = tn.audit(place / "model", place / "reviews.csv", texts=40, again=30, **how)
    assert found.size == 40
    assert len([one for one in told if one.category is FutureWarning]) == 2
    with pytest.raises(UserError, match="An audit has no size 'txts'"):
        tn.audit(place / "model", place / "reviews.csv", store=tmp_path / "store", txts=40)


def test_sizes_have_the_names_that_the_study_has():
    fields = {name for name in AuditStudy.model_fields if name not in Study.model_fields}
    others = {"models", "family", "datasets", "columns", "explainers", "foils", "request_digest"}
    assert set(tn.AuditSizes.__annotations__) == fields - others
    assert set(sizes.OLD_NAMES.values()) <= fields


def test_methods_are_slow_only_where_they_take_long():
    quick = {"lime": 1e-3, "gradient": 1e-4, "random": 1e-4, "occlusion": 1e-4, "attention": 1e-4}
    costs = {**COSTS, "look": 1e-3, "learn": 1e-3, "explainers": quick, "trains": False}
    how = {"budget": None, "asked": {}, "words": WORDS}
    assert sizes.choose(costs, 500, 500, 2, **how).settings["fewer_examples"] == {}
    slow = {name: 1000 * seconds for name, seconds in quick.items()}
    found = sizes.choose({**costs, "explainers": slow}, 500, 500, 2, **how)
    assert list(found.settings["fewer_examples"]) == ["lime"]


def test_a_black_box(place, tmp_path, monkeypatch):
    monkeypatch.chdir(place)
    heard = []
    names = ["gradient", "leave-one-out"]
    tiny.write_csv(tmp_path / "more.csv", tiny.make_rows(200))
    given = {"explainers": names, "planned": heard.append, "examples": 200}
    found = run("mine.py:predict", tmp_path / "more.csv", tmp_path / "store", **given)
    (plan,) = heard
    assert list(plan.refused) == ["gradient"]
    assert plan.explainers == ("leave-one-out",)
    assert any(text.startswith("gradient: ") for text in found.left_out)
    assert any(text.startswith(f"{PLANTED}: ") for text in found.left_out)
    assert [one.explainer for one in found.explainers if not one.foil] == ["leave-one-out"]
    assert [text for text in found.left_out if text.startswith("depends on the model: ")]
    for one in found.explainers:
        assert not one.trial(PLANTED).required
        assert not one.trial("depends on the model").required
        assert one.decided_by not in (PLANTED, "depends on the model")
    assert found.may_be_shown == ["leave-one-out"]
    assert found["random"].decision == found["token-number"].decision == "must not be shown"
    with pytest.raises(UserError, match="None of the explainers works"):
        run("mine.py:predict", "reviews.csv", tmp_path / "store", explainers=["gradient"])
    assert load_black_box("mine.py:predict").classes == ("no", "yes")
    other = (place / "reviews.csv").read_text().replace(",no", ",never").replace(",yes", ",always")
    (tmp_path / "other.csv").write_text(other)
    with pytest.raises(UserError, match="a function's classes"):
        run("mine.py:predict", tmp_path / "other.csv", tmp_path / "store", explainers=["leave-one-out"])


def test_a_model_that_says_the_same_of_every_text(place, tmp_path, monkeypatch):
    """Explanations of it differ by rounding alone: no verdict, and a warning."""
    monkeypatch.chdir(place)
    (place / "same.py").write_text(
        "def predict(texts):\n    return [[0.3, 0.7]] * len(texts)\npredict.classes = ('no', 'yes')\n"
    )
    found = run("same.py:predict", "reviews.csv", tmp_path / "store", explainers=["leave-one-out", "lime"])
    assert {one.decision for one in found.explainers} == {"cannot tell"}
    assert [one for one in found.warnings if "says the same of every text" in one]


def test_an_explainer_that_says_the_same_of_every_word_is_told_of(place, tmp_path, monkeypatch):
    monkeypatch.chdir(place)
    names = ["mine.py:saliency", "leave-one-out"]
    tiny.write_csv(tmp_path / "more.csv", tiny.make_rows(200))
    found = run("mine.py:predict", tmp_path / "more.csv", tmp_path / "store", explainers=names, examples=200)
    assert found["mine.py:saliency"].decision == "cannot tell"
    assert found["leave-one-out"].decision == "may be shown"
    (warning,) = found.warnings
    assert warning == "mine.py:saliency gives every word of 200 of 200 texts the same score"


def test_what_an_explainer_warns_of_stands_in_the_audit(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(place)
    name = "lime[n_samples=5]"
    found = run("mine.py:predict", "reviews.csv", tmp_path / "store", explainers=[name])
    (warning,) = [one for one in found.warnings if one.startswith(f"{name}: ")]
    assert "Too few masked copies" in warning
    assert "Too few masked copies" not in "".join(capfd.readouterr())


def test_a_hugging_face_folder(tmp_path):
    folder, texts = tiny.make_transformer(tmp_path / "hub", 40)
    found = run(folder, texts, tmp_path / "store", explainers=["attention", "input-x-gradient"])
    assert found.classes == ("LABEL_0", "LABEL_1")
    assert found.accuracy is None
    assert found["attention"].trial("attention matters") is not None
    assert "may be shown" not in {one.decision for one in found.explainers if one.foil}


def test_data_and_models_in_memory_give_the_same_verdicts(place, tmp_path):
    rows = tiny.make_rows(200)[:60]
    names, store = ["leave-one-out"], tmp_path / "store"
    model = load_model(place / "model")
    from_list = run(model, rows, store, explainers=names)
    before = keys(store)
    table = pd.DataFrame(rows, columns=["text", "label"])
    assert without_cost(run(model, table, store, explainers=names)) == without_cost(from_list)
    assert keys(store) == before, "the same texts, whatever they come in"
    bare = run(model, [text for text, _ in rows], store, explainers=names)
    assert bare.accuracy is None
    assert from_list.accuracy > 0.8
    decisions = [{one.explainer: one.decision for one in found.explainers} for found in (from_list, bare)]
    assert decisions[0] == decisions[1]
    turned = run(model, [(text, {"no": "yes", "yes": "no"}[label]) for text, label in rows], store, explainers=names)
    assert "right on 5%, always the most frequent class would be on" in turned.warnings[0]
    assert not any("most frequent class" in warning for found in (from_list, bare) for warning in found.warnings)


def test_ones_own_explainer_is_computed_again_when_its_source_changes(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, store = tmp_path / "mine.py", tmp_path / "store"
    file.write_text(tiny.SALIENCY)
    names = ["leave-one-out", "mine.py:saliency"]
    found = run(place / "model", place / "reviews.csv", store, explainers=names)
    before = keys(store)
    (own,) = [one for one in found.explainers if one.explainer.startswith("mine.py:saliency")]
    assert own.decision == "must not be shown", "all words alike"
    file.write_text(tiny.SALIENCY.replace("torch.ones(batch.mask.shape)", "2 * torch.ones(batch.mask.shape)"))
    run(place / "model", place / "reviews.csv", store, explainers=names)
    stored = Store.open(store)
    new = [stored.meta(key) for key in keys(store) - before]
    asked = [one["parameters"]["explainer"] for one in new if "explainer" in one["parameters"]]
    assert asked
    assert all(isinstance(one, dict) and one["outside"] == "mine.py:saliency" for one in asked)


def test_a_study_of_two_models(place, tmp_path, monkeypatch):
    monkeypatch.chdir(place)
    sizes_given = "\n".join(f"{name} = {json.dumps(value)}" for name, value in tiny.SMALLEST.items())
    head = 'kind = "audit"\nname = "two"\ntitle = "Two"\nquestion = "Which?"\npaper = "nobody"\n'
    what = (
        'models = ["model", "mine.py:predict"]\ndatasets = "reviews.csv"\nexplainers = ["leave-one-out", "occlusion"]\n'
    )
    file = place / "two.toml"
    file.write_text(head + what + sizes_given)
    planned = tn.plan(file, store=tmp_path / "store")
    assert planned.tasks["audit/verdict"] == {"total": 2, "cached": 0, "to_compute": 2}
    with ThreadPoolExecutor(1) as pool:
        done = tn.run(file, store=tmp_path / "store", executor=pool)
    found = audits_in(done.result)
    assert found[0].model == "model"
    board = done.result.tables["leaderboard"]
    assert board["rank"].tolist() == [1, 1], "two models tell nothing apart"
    assert set(board["models"]) == {2}
    assert {*board["explainer"]} == {"leave-one-out", "occlusion"}
    assert not tn.plan(file, store=tmp_path / "store").to_json()["tasks"]["audit/verdict"]["to_compute"]


def test_the_leaderboard_tells_apart_what_many_models_tell_apart():
    good, bad = verdict_by_hand("good"), verdict_by_hand("bad", "must not be shown")
    same = verdict_by_hand("same")
    few = leaderboard([by_hand(good, bad)] * 5)
    assert few["rank"].tolist() == [1, 1], "five of five is no proof at 5 %"
    many = leaderboard([by_hand(good, same, bad)] * 6)
    assert many[["explainer", "rank"]].to_numpy().tolist() == [["good", 1], ["same", 1], ["bad", 3]]
    assert many["may be shown"].tolist() == [6, 6, 0]
    assert leaderboard([]).empty


# Budget

WORDS = Words("text", "texts", "word", "words")
COSTS = {
    **{"open": 0.5, "units": 20.0, "look": 0.002, "learn": 0.01, "layers": 4, "refused": {}, "random": ["random"]},
    **{"trains": True, "retrains": True, "passes": (6.0, 3.0)},
    "explainers": {"leave-one-out": 0.02, "gradient": 0.004, "random": 0.001, "token-number": 0.001, "occlusion": 0.4},
}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("90", 90), (90, 90), ("10m", 600), ("10 min", 600), ("1.5h", 5400), (" 2m ", 120), ("45sec", 45)],
)
def test_budgets(text, seconds):
    assert sizes.parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5m", "10 days", "1e3", "nan", "m"])
def test_what_is_no_budget(text):
    with pytest.raises(UserError, match="no length of time"):
        sizes.parse_budget(text)


def test_a_budget_in_which_nothing_can_be_done():
    with pytest.raises(UserError, match="too small"):
        sizes.parse_budget("1s")
    slow = {**COSTS, "look": 5.0}
    with pytest.raises(UserError, match="the smallest audit of this model takes about"):
        sizes.choose(slow, 1000, 1000, 1, budget=60.0, asked={}, words=WORDS)


def test_smaller_budgets_choose_smaller_sizes():
    found = [
        sizes.choose(COSTS, 2000, 2000, 2, budget=budget, asked={}, words=WORDS)
        for budget in (200.0, 300.0, 500.0, 900.0, 1500.0, 4000.0, 1e6)
    ]
    for budget, one in zip((200.0, 300.0, 500.0, 900.0, 1500.0, 4000.0, 1e6), found, strict=True):
        assert one.seconds <= budget
        assert one.seconds == sizes.estimate(one.settings, COSTS, 2)
    work = [one.seconds for one in found]
    assert work == sorted(work)
    assert work[0] < work[-1]
    assert found[-1].settings["examples"] == 500
    left = "\n".join(found[0].left_out)
    for words in ("texts were not explained", "occlusion is slow", "layer by layer", "companion"):
        assert words in left
    assert "companion" not in "\n".join(found[-1].left_out)
    assert "no models were trained" in "\n".join(
        sizes.choose(COSTS, 60, 60, 2, budget=None, asked={}, words=WORDS).left_out
    )


def test_sizes_that_are_asked_for_stay():
    found = sizes.choose(
        COSTS, 2000, 2000, 2, budget=600.0, asked={"examples": 77, "fewer_examples": {"gradient": 66}}, words=WORDS
    )
    assert found.settings["examples"] == 77
    assert found.settings["fewer_examples"]["gradient"] == 66


def test_sizes_chosen_from_a_budget_are_used_again(place, tmp_path, monkeypatch):
    how = {"explainers": ["gradient"], "budget": "10m", "train_models": False}
    heard = []
    found = run(place / "model", place / "reviews.csv", tmp_path / "store", planned=heard.append, **how)
    assert len(heard) == 1
    before = keys(tmp_path / "store")
    monkeypatch.setattr(sizes, "choose", None)
    again = run(place / "model", place / "reviews.csv", tmp_path / "store", **how)
    assert keys(tmp_path / "store") == before
    assert without_cost(again) == without_cost(found)


@pytest.mark.parametrize(
    ("size", "sentence"),
    [
        ({"exampless": 40}, "did you mean examples"),
        ({"examples": 4}, "size examples of an audit is not 4"),
        ({"models": "x"}, "no size 'models'"),
    ],
)
def test_sizes_that_cannot_be_are_refused_before_any_work(place, tmp_path, size, sentence):
    with pytest.raises(UserError, match=sentence):
        run(place / "model", place / "reviews.csv", tmp_path / "store", explainers=["gradient"], **size)
    assert not (tmp_path / "store").exists()


# Models whose right explanation is known


@pytest.mark.parametrize("seed", range(3))
def test_the_right_one_passes_and_each_wrong_one_fails_at_its_trial(seed):
    assert set(repetitions.one_of_each(seed).values()) == {True}
    assert set(repetitions.one_of_each(seed, sparse=True).values()) == {True}


def test_random_explainers_are_never_to_be_shown():
    for seed in range(5):
        assert "may be shown" not in repetitions.random_explainers(seed)["random"]


@pytest.mark.parametrize("seed", range(3))
def test_a_model_that_gives_no_chance_to_tell(seed):
    assert repetitions.nothing_to_tell(seed) == "cannot tell"


# Columns


def test_columns_of_a_table_in_memory_and_of_a_file_are_those_that_are_named(place, tmp_path):
    rows = tiny.make_rows(60)
    table = pd.DataFrame({"note": ["x"] * 60, "said": [text for text, _ in rows], "mood": [mood for _, mood in rows]})
    named = {"text_column": "said", "label_column": "mood"}
    how = {"explainers": ["gradient"], "columns": named}
    found = run(place / "model", table, tmp_path / "store", **how)
    assert found.accuracy > 0.8
    table.to_csv(tmp_path / "texts.csv", index=False)
    assert run(place / "model", tmp_path / "texts.csv", tmp_path / "store", **how).accuracy == found.accuracy
    unread = run(place / "model", table, tmp_path / "store", **{**how, "columns": {**named, "label_column": ""}})
    assert unread.accuracy is None
    with pytest.raises(UserError, match="there is no column moood"):
        run(place / "model", table, tmp_path / "store", **{**how, "columns": {**named, "label_column": "moood"}})


BROKEN = """
import torch


def breaks(model, batch, target):
    if len(batch) > 1:
        raise ValueError("no more than one")
    return torch.zeros(batch.mask.shape)
"""


def test_an_explainer_whose_code_fails_is_reported_beside_the_others(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(BROKEN)
    found = run(place / "model", place / "many.csv", tmp_path / "store", explainers=["mine.py:breaks", "leave-one-out"])
    assert [one.explainer for one in found.explainers if not one.foil] == ["leave-one-out"]
    (broken,) = found.broken
    assert broken.explainer == "mine.py:breaks"
    assert "mine.py line 7" in broken.error
    assert "no more than one" in broken.error
    assert "mine.py line 7" in found.report(tmp_path / "audit.html").read_text()
    gate = Gate.parse('[verdict]\n"mine.py:breaks" = "may be shown"\nleave-one-out = ["may be shown", "cannot tell"]\n')
    outcome = apply(gate, found)
    assert outcome.exit_status == 1
    assert any("its code failed" in one.sentence for one in outcome.conditions)


# Budgets that end, and audits that are done


def test_a_budget_that_is_over_before_models_are_trained_ends_with_what_is_known(place, tmp_path, monkeypatch):
    from trueness.api import audits

    how = {"explainers": ["gradient"], "budget": "10m", "planted_models": 2, "training_examples": 200}
    left = iter([1e6, 1e6, 0.0])  # for the probe, the trials without training, and the rest
    monkeypatch.setattr(audits._Left, "__call__", lambda _: next(left))
    monkeypatch.setattr(audits, "failed_for_good", lambda *_: False)
    found = run(place / "model", place / "reviews.csv", tmp_path / "store", **how)
    assert any("the budget was over" in why for why in found.left_out)
    assert found["gradient"].trial("removal costs").checks
    assert found["gradient"].decision != "may be shown"
    monkeypatch.setattr(audits._Left, "__call__", lambda _: 1e6)
    more = run(place / "model", place / "reviews.csv", tmp_path / "store", **how)
    assert not any("the budget was over" in why for why in more.left_out), "the same command goes on"


def test_a_budget_that_is_over_before_any_trial_is_a_sentence(place, tmp_path, monkeypatch):
    from trueness.api import audits

    monkeypatch.setattr(audits._Left, "__call__", lambda _: 0.0)
    with pytest.raises(UserError, match=r"The budget of 60 s was over before every explainer was tried"):
        run(place / "model", place / "reviews.csv", tmp_path / "store", explainers=["gradient"], budget="60s")


def test_nothing_is_started_for_an_audit_that_is_done(place, tmp_path, monkeypatch):
    how = {"explainers": ["gradient"], "train_models": False}
    found = run(place / "model", place / "reviews.csv", tmp_path / "store", **how)
    monkeypatch.setattr("trueness.api.audits.open_executor", None)
    again = run(place / "model", place / "reviews.csv", tmp_path / "store", **how)
    assert without_cost(again) == without_cost(found)
    (payload, *_) = (tmp_path / "store" / "objects").glob("*/removal.*")
    payload.write_bytes(b"{}")
    with pytest.raises(TypeError):
        run(place / "model", place / "reviews.csv", tmp_path / "store", **how)
