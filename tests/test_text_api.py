import json
import subprocess
import sys

import pytest

import trueness as tn
from tests.models.test_training import DATA, QUICK
from trueness.errors import UserError
from trueness.report.heatmap import Explanation, colours, heatmap, heatmap_page


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
    with pytest.raises(UserError, match="no gold label"):
        tn.explain(model, ["x"], target="gold")
    with pytest.raises(UserError, match="did you mean leave-one-out"):
        tn.explain(model, ["x"], "leave-one")


def test_explain_examples_of_a_dataset(model):
    found = tn.explain(model, DATA["test"][:3], "attention", target="gold")
    assert [explanation.target for explanation in found] == [DATA.classes[e.label] for e in DATA["test"][:3]]
    assert tn.evaluate(model, DATA)["accuracy"] > 0.9


def test_heat_maps_are_escaped_and_coloured():
    explanation = Explanation("e", ("<b>", "x"), (1.0, -0.5), "p", 0.9, "p", (True, True))
    assert "<b>" not in heatmap(explanation)
    assert "default-src 'none'" in heatmap_page([explanation])
    assert colours([0.0, 0.0]) == [(255, 255, 255)] * 2
    strongest, weaker = colours([2.0, -1.0])
    assert strongest == (0, 114, 178)
    assert weaker[2] < 255 > weaker[1]


def trueness(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "trueness", *map(str, arguments)], capture_output=True, text=True, check=False
    )


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
    assert "attention, target 1" in shown.stdout
    assert "good" in (tmp_path / "heat.html").read_text()
    as_json = json.loads(trueness("explain", tmp_path / "model", "--text", "x good y", "--json").stdout)
    assert [item["explainer"] for item in as_json] == ["attention", "input-x-gradient", "leave-one-out"]
    for arguments, sentence in (
        (["explain", tmp_path, "--text", "x"], "has no config.json"),
        (["explain", tmp_path / "model", "--text", "x", "--explainer", "atention"], "did you mean attention"),
        (["train", "bilstm", "--data", tmp_path / "data", "--out", tmp_path / "m"], "no model named 'bilstm'"),
        (["train", "bilstm-dot", "--data", "nowhere", "--out", tmp_path / "m"], "There is no dataset, file or folder"),
    ):
        failed = trueness(*arguments)
        assert failed.returncode == 2
        assert sentence in failed.stderr
