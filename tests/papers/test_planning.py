"""Nonsense is refused when a study is planned, before any task runs."""

import math
from pathlib import Path

import pytest

import trueness as tn
from trueness.cli.main import main
from trueness.engine.task import walk
from trueness.errors import UserError
from trueness.studies import builtin_studies, load_study, plan

STUDIES = ("attention-is-not-explanation", "attefa", "agreement", "recursive-roar", "dry-run")


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"hidden": -5}, "hidden should be greater"),
        ({"hidden": "many"}, "hidden should be a valid integer"),
        ({"activation": "sine"}, "activation should be"),
        ({"normaliser": "sine"}, "normaliser should be"),
    ],
)
def test_shapes(study, shape, message, folder, tmp_path):
    settings = {"datasets": str(folder), "models": "bilstm-additive", "vectors": "none", "seeds": 1, "shape": shape}
    with pytest.raises(UserError, match=message):
        tn.plan(study, store=tmp_path / "store", **settings)
    assert tn.plan(study, store=tmp_path / "store", **{**settings, "shape": {"hidden": 8}}).tasks


THEIRS = Path(__file__).parents[1] / "door" / "theirs.py"


def shapes(study, folder, **settings):
    """The shape of the models that a study would train, by their name; None where nothing is changed."""
    how = {"datasets": str(folder), "vectors": "none", "seeds": 1, "recipe": "dry-run", **settings}
    tasks = walk([plan(load_study(study, how))])
    return {task.parameters["model"]: task.parameters.get("shape") for task in tasks if task.type.name == "text/train"}


@pytest.mark.parametrize("study", ["agreement", "recursive-roar", "dry-run"])
def test_a_family_from_outside_has_a_shape_of_its_own(study, folder):
    bag = f"{THEIRS}:Bag"
    mine = {"embedding": 4, "sharpness": 0.5}
    assert shapes(study, folder, models=bag, shape=mine) == {"theirs.py:Bag": mine}
    with pytest.raises(UserError, match=r"there is no sharpnes of a model's shape .*did you mean sharpness\?"):
        shapes(study, folder, models=bag, shape={"sharpnes": 8})
    with pytest.raises(UserError, match=r"there is no hidden of a model's shape .*known are embedding, sharpness\."):
        shapes(study, folder, models=bag, shape={"hidden": 8})


def test_each_family_takes_what_it_declares_of_the_shape(folder):
    both = [f"{THEIRS}:Bag", "average-additive"]
    shape = {"embedding": 4, "sharpness": 0.5, "hidden": 6}
    found = shapes("agreement", folder, models=both, uniform=False, shape=shape)
    assert found == {
        "theirs.py:Bag": {"embedding": 4, "sharpness": 0.5},
        "average-additive": {"embedding": 4, "hidden": 6},
    }


def test_a_shape_in_a_file_is_that_of_the_models_in_the_file(folder):
    assert "hidden = 32" in builtin_studies()["dry-run"]
    assert shapes("dry-run", folder, models=f"{THEIRS}:Bag") == {"theirs.py:Bag": {"embedding": 32}}


@pytest.mark.parametrize("study", STUDIES)
def test_files_that_are_no_word_vectors(study, folder, tmp_path):
    passwd = tmp_path / "passwd"
    passwd.write_text("root:x:0:0:root:/root:/bin/sh\nmail:x:8:8:The Mail:/var/mail:/bin/sh\n")
    settings = {"datasets": str(folder), "models": "bilstm-additive", "seeds": 1}
    with pytest.raises(UserError, match="passwd, line 2: expected a word and its numbers"):
        tn.plan(study, store=tmp_path / "store", **settings, vectors=str(passwd))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("text,label,evidence\na b,1,\na b,007,\n", "row 3: the label is a number that is not whole, or not written"),
        ('text,label,evidence\na b,1,"[[0.5,1.9]]"\n', "row 2: the evidence is not a list of token spans"),
    ],
)
def test_rows_that_would_mean_something_else(rows, message, tmp_path):
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.csv").write_text(rows)
    with pytest.raises(UserError, match=message):
        tn.plan("dry-run", store=tmp_path / "store", datasets=str(tmp_path))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"activation": "sine"}, "A rationale model has no activation to set; embedding and hidden can be"),
        ({"normaliser": "softmax"}, "A rationale model has no normaliser"),
        ({"hidden": 0}, "hidden should be greater"),
        ({"hidden": "many"}, "hidden should be a valid integer"),
    ],
)
def test_shapes_of_rationale_models(shape, message, folder, tmp_path):
    settings = {"datasets": str(folder), "models": [], "vectors": "none", "shape": shape}
    with pytest.raises(UserError, match=message):
        tn.plan("ground-truth-text", store=tmp_path / "store", **settings)
    assert tn.plan("ground-truth-text", store=tmp_path / "store", **{**settings, "shape": {"hidden": 8}}).tasks
    both = {**settings, "models": "average-additive", "shape": {"activation": "relu", "hidden": 8}}
    assert tn.plan("ground-truth-text", store=tmp_path / "store", **both).tasks, "each takes what it has"


NUMBERS = (
    ("attention-is-not-explanation", "epsilons", [0, 0], "the same value is given twice"),
    ("attention-is-not-explanation", "epsilons", [-0.1], "should be greater than or equal to 0"),
    ("attention-is-not-explanation", "epsilons", [0.1, math.nan], "epsilons.1: should be"),
    ("attention-is-not-explanation", "epsilon", math.nan, "epsilon: should be"),
    ("attefa", "temperatures", math.inf, "temperatures.0: should be a finite number"),
    ("attefa", "temperatures", [1.0, math.nan], "temperatures.1: should be"),
    ("recursive-roar", "steps", [0.1, math.nan], "steps.1: should be a finite number"),
    ("recursive-roar", "steps", math.inf, "steps.0: should be a finite number"),
)


@pytest.mark.parametrize(("study", "key", "value", "message"), NUMBERS)
def test_numbers_that_mean_nothing(study, key, value, message, folder, tmp_path, capsys):
    options = ["--set", f"{key}={value}", "--set", f"datasets='{folder}'", "--set", "vectors=none"]
    for command in ("plan", "run"):
        with pytest.raises(SystemExit) as stopped:
            main([command, study, "--store", str(tmp_path / "store"), *options])
        assert stopped.value.code == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_infinity_and_zero_where_they_mean_something(folder, tmp_path):
    settings = {"datasets": str(folder), "vectors": "none", "store": tmp_path / "store"}
    assert tn.plan("attefa", weights=[1.0, math.inf], **settings).tasks
    assert tn.plan("attention-is-not-explanation", epsilons=[0.0, 0.1], **settings).tasks


def test_fine_tuned_models_have_fewer_seeds(folder, monkeypatch):
    monkeypatch.setattr("trueness.kinds.text.models.pretrained.find_pretrained", lambda _: folder)

    def seeds_of(**settings):
        asked = {"datasets": [str(folder)], "vectors": "none", "seeds": 5, "instances": 2, **settings}
        done = plan(load_study("agreement", asked))
        cells = [one for one in done.inputs["cells"] if one.type.name == "agreement/cell"]
        return sorted(len(one.parameters["seeds"]) for one in cells)

    assert seeds_of() == [3, 3, 5, 5]
    assert seeds_of(seeds=2) == [2, 2, 2, 2], "no more than there are"
    assert seeds_of(fine_tuned_seeds=1, as_published=False) == [1, 5]
