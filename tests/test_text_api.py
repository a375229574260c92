import copy
import json
import re
import shutil
from dataclasses import replace

import pandas as pd
import pytest
import torch

import trueness as tn
from tests.command import trueness
from tests.models.test_training import DATA, QUICK
from trueness.api.explaining import looked_at
from trueness.data.dataset import with_splits
from trueness.errors import UserError
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.papers.attention_is_not_explanation.adversary import adversary_page, describe_pair
from trueness.papers.ground_truth.trial import trial
from trueness.protocols.agreement.explaining import explain_all
from trueness.report.explanation import Explanation, explanation_page
from trueness.report.word_grid import Scored, laid_out

ONE_CLASS = [(f"good film {number}", "pos") for number in range(60)]


@pytest.fixture(scope="module")
def model():
    return tn.train("bilstm-additive", DATA, recipe=QUICK, hidden=8, embedding=8)


def test_explain_new_text(model):
    # The model has learned one of the two words and takes its absence for the other class: here it is `bad`.
    (explanation,) = tn.explain(model, ["x y bad z"], "leave-one-out")
    assert explanation.tokens == ("x", "y", "bad", "z")
    assert explanation.predicted == explanation.target == "0"
    assert max(zip(explanation.scores, explanation.tokens, strict=True))[1] == "bad"
    assert explanation.to_pandas().shape == (4, 3)
    assert "bad" in explanation._repr_html_()
    (against,) = tn.explain(model, ["x y bad z"], "leave-one-out", target="1")
    assert against.scores[2] < 0
    assert tn.explain(model, ["x unheard"])[0].known == (True, False)
    assert tn.explain(model, []) == []
    texts = ["x y bad z", "bad", "good x"]
    assert [" ".join(one.tokens) for one in tn.explain(model, texts)] == texts, "in their order, not by length"
    with pytest.raises(UserError, match="no gold label"):
        tn.explain(model, ["x"], target="gold")
    with pytest.raises(UserError, match="did you mean leave-one-out"):
        tn.explain(model, ["x"], "leave-one")


def test_explain_examples_of_a_dataset(model):
    found = tn.explain(model, DATA["test"][:3], "attention", target="gold")
    assert [explanation.target for explanation in found] == [DATA.classes[e.label] for e in DATA["test"][:3]]
    assert tn.evaluate(model, DATA)["accuracy"] > 0.9


def test_the_adversary_of_new_texts(model):
    found = tn.adversarial_attention(model, ["x y bad z", "good y x"], epsilon=0.05)
    assert found.to_pandas()["words"].tolist() == [["x", "y", "bad", "z"], ["good", "y", "x"]]
    html = found._repr_html_()
    assert "observed:" in html
    assert "adversarial:" in html
    assert "divergence" in html
    assert tn.adversarial_attention(model, DATA["test"][:2]).to_pandas()["exact"].all()
    for call, message in (
        (lambda: tn.adversarial_attention(model, []), "no text"),
        (lambda: tn.adversarial_attention(model, ["x"], epsilon=-1), "between 0 and 1"),
    ):
        with pytest.raises(UserError, match=message):
            call()
    uniform = tn.train("average-uniform", DATA, recipe=replace(QUICK, epochs=1), hidden=8, embedding=8)
    with pytest.raises(UserError, match="needs a model with one attention of its own"):
        tn.adversarial_attention(uniform, ["x"])


def test_two_models_of_ones_own(model, tmp_path):
    same = tn.attefa(model, model, DATA)
    assert [item.quantity for item in same.abstentions] == ["AtteFa"], "nothing differs"
    other = tn.train("bilstm-additive", DATA, recipe=QUICK, seed=9, hidden=8, embedding=8)
    found = tn.attefa(model, other, DATA)
    by = {score.quantity: score for score in found.scores}
    assert 0 <= by["AtteFa"].value <= 1
    assert by["divergence of attention (Jensen-Shannon)"].best == pytest.approx(0.6931, abs=1e-4)
    assert any(warning.code == "another-model" for warning in found.warnings)
    assert len(found.to_pandas()) == len(DATA["test"])
    average = tn.train("average-additive", DATA, recipe=QUICK, hidden=8, embedding=8)
    ceiling = {score.quantity: score for score in tn.attefa(average, other, DATA).scores}
    assert ceiling["divergence of attention (Jensen-Shannon)"].best < 0.6931
    with pytest.raises(UserError, match="different classes"):
        tn.attefa(model, replace(other, classes=("a", "b")), DATA)
    model.save(tmp_path / "a")
    other.save(tmp_path / "b")
    (tmp_path / "test.jsonl").write_text(
        "".join(json.dumps({"text": " ".join(e.tokens), "label": e.label}) + "\n" for e in DATA["test"])
    )
    options = ["--data", tmp_path / "test.jsonl"]
    shown = trueness("attefa", tmp_path / "a", tmp_path / "b", *options)
    assert shown.returncode == 0, shown.stderr
    assert "AtteFa" in shown.stdout
    as_json = json.loads(trueness("attefa", tmp_path / "a", tmp_path / "b", *options, "--json").stdout)
    assert {score["quantity"] for score in as_json["scores"]} >= {"AtteFa"}


def test_outputs_that_overflow_are_refused_wherever_a_model_is_looked_at(model):
    broken = replace(model, network=copy.deepcopy(model.network))
    with torch.no_grad():
        broken.network.output.weight.fill_(3e38)
    assert all(weight.isfinite().all() for weight in broken.network.parameters())
    tn.explain(model, ["x good y"])
    split = EncodedSplit(DATA["test"], model.coder)
    attention = {"attention": TEXT_EXPLAINERS["attention"]}
    for look in (
        lambda: tn.explain(broken, ["x good y"]),
        lambda: tn.evaluate(broken, DATA),
        lambda: tn.agreement(broken, DATA, ["attention", "random"]),
        lambda: tn.adversarial_attention(broken, ["x good y"]),
        lambda: tn.attefa(model, broken, DATA),
        lambda: explain_all(broken.network, split, attention, refuse=False),
        lambda: trial(broken, DATA["test"], ["attention"], bound=0.5, instances=5),
    ):
        with pytest.raises(UserError, match=r"^The outputs of the model bilstm-additive are NaN .* \d+ examples; "):
            look()


def test_an_adversary_in_words():
    row = {"words": ["a", "b"], "attention": [0.9, 0.1], "adversarial": [0.0, 1.0], "other": "", "predicted": "1"}
    row |= {"probability": 0.8, "probability_after": 0.79, "divergence": 0.5, "upper": 0.6, "deciding": 1, "note": ""}
    row |= {"first_position": 0, "second_position": 1, "unknown": []}
    one = describe_pair({**row, "first": "b", "second": "b", "weight": 1.0, "exact": True})
    assert "all on 'b'" in one
    assert "best found" not in one
    two = describe_pair({**row, "first": "a", "second": "b", "weight": 0.25, "exact": False})
    assert "25% on 'a', the rest on 'b'" in two
    assert "the best found (at most 0.600)" in two
    many = describe_pair({**row, "first": None, "second": None, "weight": 1.0, "exact": False, "note": "long"})
    assert "on many words" in many
    assert many.endswith("; long")
    same = {**row, "first": "b", "second": "b", "weight": 0.5, "exact": True, "unknown": ["b"]}
    assert "50% on 'b', the rest on 'b'" in describe_pair(same), "two places of one word"
    assert "unknown to the model: b" in describe_pair(same)
    hostile = {**row, "words": ["<u>", "c"], "first": "c", "second": "c", "weight": 1, "exact": True}
    found = tn.AdversarialAttention(pd.DataFrame([hostile]), epsilon=0.05)
    for shown in (adversary_page(found), found._repr_html_()):
        assert "<u>" not in shown
        assert "&lt;u&gt;" in shown
    assert "epsilon = 0.05" in adversary_page(found)


def test_texts_outside_the_limits_of_training_are_noted(model):
    from trueness.kinds.text.data.preparation import Preparation

    strict = replace(model, preparation=Preparation(above=2, below=4))
    notes = [explanation.note for explanation in tn.explain(strict, ["x y z", "x", "x y z bad"])]
    assert notes[0] == ""
    assert "more than 2" in notes[1]
    assert "fewer than 4" in notes[2]


def test_heat_maps_are_escaped_and_coloured():
    explanation = Explanation("e", ("<u>", "x"), (1.0, -0.5), "p", 0.9, "p", (True, True))
    page = explanation_page([explanation, replace(explanation, explainer="f", signed=False)])
    for shown in (page, explanation._repr_html_()):
        assert "<u>" not in shown
        assert "&lt;u&gt;" in shown
    assert "default-src 'none'" in page
    assert 'name="viewport"' in page
    assert page.count("<article") == 1, "one text, two rows"
    assert page.count('<th scope="row">') == 2


def test_a_colour_says_how_strong_a_word_is_in_its_row():
    assert Scored("e", [0.0, 0.0], signed=True).shades() == [("for", 0)] * 2
    assert Scored("e", [2.0, -1.0, None], signed=True).shades() == [("for", 10), ("against", 5), ("for", 0)]
    assert Scored("e", [2.0, -1.0], signed=False).shades() == [("plain", 10), ("plain", 0)]
    assert Scored("e", [0.2, -0.004, None], signed=True).texts() == ["+0.20", "0.00", "no number"]
    grid = laid_out(["a"] * 1000, [Scored("e", [1.0] * 1000, signed=True)])
    assert sum(map(len, [*grid["lines"], *grid["more"]])) == 1000
    assert len(grid["lines"]) == 4


def test_train_and_explain_on_the_command_line(tmp_path):
    rows = [{"text": " ".join(e.tokens), "label": e.label} for e in DATA["train"]] * 10
    for split in ("train", "dev", "test"):
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["--out", tmp_path / "model", "--set", "hidden=8", "--set", "embedding=8", "--json"]
    done = trueness("train", "average-additive", "--data", tmp_path / "data", *options)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scores"]["test"]["accuracy"] > 0.9
    assert not (tmp_path / "model" / "training").exists()
    shown = trueness("explain", tmp_path / "model", "--text", "x good y", "--html", tmp_path / "heat.html")
    assert shown.returncode == 0, shown.stderr
    assert "target 1 (predicted 1" in shown.stdout
    assert re.search(r"word +attention +input-x-gradient +leave-one-out\n", shown.stdout), "one table, a column each"
    assert "good" in (tmp_path / "heat.html").read_text()
    as_json = json.loads(trueness("explain", tmp_path / "model", "--text", "x good y", "--json").stdout)
    assert [item["explainer"] for item in as_json] == ["attention", "input-x-gradient", "leave-one-out"]
    with pytest.warns(UserWarning, match="Too few masked copies"):
        trueness("explain", tmp_path / "model", "--text", "x good y", "--explainer", "lime[n_samples=2]")
    against = trueness(
        "adversarial-attention", tmp_path / "model", "--text", "x good y", "--html", tmp_path / "new" / "both.html"
    )
    assert against.returncode == 0, against.stderr
    assert "adversarial attention" in against.stdout
    assert '<bdi class="name">observed</bdi>' in (tmp_path / "new" / "both.html").read_text()
    as_json = json.loads(trueness("adversarial-attention", tmp_path / "model", "--text", "x good y", "--json").stdout)
    assert as_json["texts"][0]["words"] == ["x", "good", "y"]
    assert as_json["texts"][0]["change"] <= as_json["epsilon"] + 1e-9
    for arguments, sentence in (
        (
            ["adversarial-attention", tmp_path / "model", "--text", "x", "--text-b", "y", "--text-b", "z"],
            "1 texts and 2 second",
        ),
        (["adversarial-attention", tmp_path / "model", "--text", "x", "--text-b", "y"], "reads one text"),
        (["explain", tmp_path, "--text", "x"], "has no config.json"),
        (["explain", tmp_path / "model", "--text", "x", "--explainer", "atention"], "did you mean attention"),
        (["train", "bilstm", "--data", tmp_path / "data", "--out", tmp_path / "m"], "no model named 'bilstm'"),
        (["train", "bilstm-dot", "--data", "nowhere", "--out", tmp_path / "m"], "There is no dataset, file or folder"),
        (["train", "bilstm-dot", "--data", tmp_path / "data", "--out", tmp_path / "model"], "holds a model already"),
    ):
        failed = trueness(*arguments)
        assert failed.returncode == 2
        assert sentence in failed.stderr


def test_a_function_is_explained_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "def predict(texts):\n    return [[0.9, 0.1] if 'bad' in text else [0.2, 0.8] for text in texts]\n"
    )
    (tmp_path / "mine.csv").write_text("text\n" + "".join(f"a bad film of {word}\n" for word in "abcdef"))
    told = trueness("explain", "mine.py:predict", "--text", "a bad film", "--json")
    assert told.returncode == 0, told.stderr
    by_name = {one["explainer"]: one for one in json.loads(told.stdout)}
    assert list(by_name) == ["occlusion", "lime[n_samples=200]", "leave-one-out"]
    assert by_name["leave-one-out"]["scores"] == [0, pytest.approx(0.7), 0]
    agreed = trueness("agreement", "mine.py:predict", "--data", "mine.csv", "--json")
    assert agreed.returncode == 0, agreed.stderr
    assert "occlusion and leave-one-out" in agreed.stdout
    assert tn.faithfulness(tn.load_model("mine.py:predict"), "mine.csv").scores
    text = ["--text", "a bad film"]
    for arguments, sentence in (
        (["explain", "mine.py:predict", *text, "--explainer", "gradient"], "Gradient needs gradients; this model is a"),
        (["explain", "mine.py:predict", *text, "--explainer", "attention"], "Attention needs attention; this model"),
        (["explain", "mine.py:predct", *text], "mine.py has no predct."),
        (["explain", "nosuch.py:predict", *text], "There is no file nosuch.py."),
        (["adversarial-attention", "mine.py:predict", *text], "a function that can only be called shows none."),
    ):
        refused = trueness(*arguments)
        assert refused.returncode == 2
        assert sentence in refused.stderr
        assert len(refused.stderr.splitlines()) == 1


def test_texts_come_as_a_file_a_name_or_one_text(model, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("comment;stars\n" + "".join(f"x good y {word};\n" for word in "abcdefgh"))
    with pytest.raises(UserError, match="has no labels"):
        tn.load_dataset(str(file))
    found = tn.agreement(model, str(file), ["attention", "gradient"], instances=5)
    assert found.to_pandas()["instance"].nunique() == 5
    assert {score.dataset for score in found.scores} == {"mine.csv"}
    table = pd.DataFrame({"text": ["x good y", "bad z y"]})
    assert tn.faithfulness(model, table, ["gradient"]).to_pandas()["instance"].nunique() == 2
    with pytest.raises(UserError, match=r"There is no dataset, file or folder 'nosuch\.csv'"):
        tn.agreement(model, "nosuch.csv", ["attention", "gradient"])
    assert tn.explain(model, "x good y") == tn.explain(model, ["x good y"])


def test_a_folder_is_never_taken_for_a_function(model, tmp_path, monkeypatch):
    """Whatever its name: only an address that is text, and names nothing on the disk, is code to run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text("raise SystemError('run')\n")
    folder = tmp_path / "evil.py:predict"
    model.save(folder)
    for path in (folder, str(folder), "evil.py:predict"):
        assert tn.load_model(path).classes == model.classes
    shutil.rmtree(folder)
    with pytest.raises(UserError, match="There is no model"):
        tn.load_model(folder)
    with pytest.raises(UserError, match="leave out family"):
        tn.load_model("evil.py:predict", family="transformer")


def test_rows_without_a_label_are_left_out_and_counted(tmp_path):
    file = tmp_path / "mine.csv"
    rows = [f"x good y {number},1.0" for number in range(20)] + [f"bad z {number},0.0" for number in range(20)]
    file.write_text("\n".join(["text,label", *rows, "no label here,", "nor here,"]) + "\n")
    data = tn.load_dataset(str(file))
    assert "mine.csv: 2 rows without a label were left out" in data.notes
    assert sum(map(len, data.splits.values())) == 40
    trained = tn.train("average-additive", str(file), recipe=QUICK, hidden=4, embedding=4)
    assert tn.evaluate(trained, str(file)) == tn.evaluate(trained, with_splits(data), "test")


def test_labels_are_matched_with_the_classes_of_the_model():
    reviews = [(f"good {number}", "pos") for number in range(20)] + [(f"bad {number}", "neg") for number in range(20)]
    trained = tn.train("average-additive", reviews, recipe=QUICK, hidden=4, embedding=4)
    assert tn.evaluate(trained, pd.DataFrame(reviews, columns=["text", "label"])) == tn.evaluate(trained, reviews)
    said = tn.explain(trained, ["good"], "gradient")[0].predicted
    for label in ("neg", "pos"):  # the one class of such data is their class 0
        assert tn.evaluate(trained, {"test": [("good", label)]})["accuracy"] == (label == said)
    with pytest.warns(UserWarning, match="the labels are the numbers of the classes: 0 is neg, 1 is pos"):
        assert tn.evaluate(trained, {"test": [("good", trained.classes.index(said))]})["accuracy"] == 1
    with pytest.raises(UserError, match=r"The labels are great, .* classes are neg, pos: rename .* or name .*id2label"):
        tn.evaluate(trained, {"test": [("good", "great")]})
    with pytest.raises(UserError, match="no labels"):
        tn.evaluate(trained, ["good"])
    with pytest.raises(UserError, match="holds no texts"):
        tn.evaluate(trained, 3)


def test_gold_labels_are_named_as_the_model_names_them(tmp_path):
    file = tmp_path / "some.csv"
    of_three = [(f"{word} {number}", label) for number in range(20) for word, label in zip("xyz", "abc", strict=True)]
    model = tn.train("average-additive", of_three, recipe=QUICK, hidden=4, embedding=4)
    pd.DataFrame([row for row in of_three if row[1] != "b"], columns=["text", "label"]).to_csv(file, index=False)
    how = {"explainers": ["gradient", "input-x-gradient"], "instances": 20}
    coded, *_ = looked_at(model, str(file), None, 20, gold=True)
    assert set(coded.labels.tolist()) == {0, 2}
    whole, *_ = looked_at(model, tn.load_dataset(str(file)), None, 20, gold=True)
    assert set(whole.labels.tolist()) == {0, 2}
    measured = tn.agreement(model, str(file), target="gold", **how)
    assert not measured.records.equals(tn.agreement(model, str(file), target="a", **how).records)
    with pytest.raises(UserError, match="not every text has a gold label"):
        tn.agreement(model, ["x 1", "y 2"], target="gold", **how)
    with pytest.raises(UserError, match="The labels are great"):
        tn.agreement(model, [("x 1", "great")], target="gold", **how)
    numbers = [(text, 1 + "abc".index(label)) for text, label in of_three]  # from 1: a few of them look like 0 and 1
    with pytest.raises(UserError, match="The labels are 1, 2, 3"):
        looked_at(model, numbers, None, 2, gold=True)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda model: tn.explain(model, ["good", None]), "Text 2 of 2 is nothing"),
        (lambda model: tn.explain(model, pd.Series(["good", float("nan")])), "Text 2 of 2 is an object of type float"),
        (lambda model: tn.explain(model, {"text": ["good"]}), "not an object of type dict"),
        (lambda model: tn.explain(model, 3), "not an object of type int"),
        (lambda model: tn.explain(model, ["good", *DATA["test"][:1]]), "Text 2 of 2 is an object of type TextExample"),
        (lambda model: tn.adversarial_attention(model, ["good"], epsilon="0.1"), "epsilon is a change of probability"),
        (
            lambda model: tn.agreement(model, ["good"], instances=-3),
            "instances, how many are looked at, is a whole number",
        ),
        (lambda model: tn.agreement(model, ["good"], k=0), "k, how many"),
        (lambda model: tn.agreement(model, ["good"], "gradient"), "two different explainers"),
        (lambda _: tn.train(len, DATA), "not an object of type builtin_function_or_method"),
        (lambda _: tn.train("average-additive", DATA, seed=-1), "A seed is a whole number, 0 or more, not -1"),
        (lambda _: tn.train("average-additive", ONE_CLASS), "a classifier needs two classes"),
        (lambda _: tn.load_dataset("movie-sentences", digit="n"), "A preparation of texts has no 'digit'"),
        (lambda _: tn.dry_run(pd.DataFrame()), "not an object of type DataFrame"),
        (lambda model: tn.audit(model, ["good"] * 40, columns={"txt": "a"}), "There is no 'txt'"),
    ],
)
def test_what_cannot_be_used_is_named(model, call, said):
    with pytest.raises(UserError, match=said):
        call(model)
