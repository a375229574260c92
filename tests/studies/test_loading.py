from pathlib import Path

import pytest

from trueness.engine import walk
from trueness.errors import UserError
from trueness.kinds import check_data
from trueness.studies import KINDS, builtin_studies, load_study, parse_setting, plan
from trueness.studies.loading import find_line

VALID = builtin_studies()["roar-synthetic"]


def write(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


def test_builtin_studies_load_and_plan(tmp_path, monkeypatch):
    for folder in (
        "sst",
        "sst-trees",
        "imdb",
        "20news-sports",
        "agnews",
        "babi-original",
        "snli",
        "mnli",
        "quora",
        "opinion-lexicon",
    ):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr("trueness.kinds.text.models.pretrained.find_pretrained", lambda _: tmp_path / "sst")
    (tmp_path / "birds-128.tar").touch()
    monkeypatch.setenv("TRUENESS_DATA", str(tmp_path))
    for name in builtin_studies():
        study = load_study(name)
        assert study.name == name
        assert plan(study).key


def test_a_study_file_equals_the_builtin_one(tmp_path):
    assert plan(load_study(write(tmp_path, VALID))).key == plan(load_study("roar-synthetic")).key


def test_settings_override_by_name_path_or_mapping():
    by_path = load_study("roar-synthetic", {"seeds": 3, "data.train": 50, "datasets": "roar-synthetic"})
    by_mapping = load_study(
        "roar-synthetic", {"seeds": [0, 1, 2], "data": {"train": 50}, "datasets": ["roar-synthetic"]}
    )
    assert by_path == by_mapping
    assert by_path.seeds == [0, 1, 2]
    assert by_path.data.train == 50
    assert by_path.data.test == 20000


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("seeds=5", "seeds", 5),
        ("seeds=1,2", "seeds", [1, 2]),
        ("seeds=[1, 2]", "seeds", [1, 2]),
        ("margin = 0.5", "margin", 0.5),
        ("datasets=a@b", "datasets", "a@b"),
        ("datasets=a, b", "datasets", ["a", "b"]),
        ('title="a,b"', "title", "a,b"),
        ("title=", "title", ""),
        ("a.b=true", "a.b", True),
    ],
)
def test_settings_are_toml_or_plain_text(text, key, value):
    assert parse_setting(text) == (key, value)


@pytest.mark.parametrize("text", ["seeds", "=5", ""])
def test_a_setting_needs_key_and_value(text):
    with pytest.raises(UserError, match="expected key=value"):
        parse_setting(text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seeds": 0}, "setting seeds=0: seeds: give between 1 and 5,000 seeds, not 0"),
        ({"seeds": -1}, "setting seeds=-1: seeds"),
        ({"seeds": 10**12}, "seeds: give between 1"),
        ({"seeds": 20.0}, "seeds.0: .*valid integer"),
        ({"seeds": True}, "seeds.0: .*valid integer"),
        ({"seeds": []}, "seeds: at least 1 value"),
        ({"seeds": [1, 1]}, "seeds: the same value is given twice"),
        ({"seeds": "many"}, "seeds.*integer.*'many'"),
        ({"ratios": [0.0, 1.5]}, r"ratios.1: .*less than or equal to 1, not 1\.5"),
        ({"ratios": [-0.1, 0.5]}, r"ratios.0: .*greater than or equal to 0, not -0\.1"),
        ({"ratios": [0.5, 0.5]}, "ratios: the ratios must increase"),
        ({"ratios": [0.0]}, "ratios"),
        ({"data.train": 0}, "setting data.train=0: data.train"),
        ({"data.test": 0}, "data.test"),
        ({"data.train": "big"}, "data.train: should be a valid integer, not 'big'\\.$"),
        ({"data.informative": 16}, "data: informative must be less than features"),
        ({"datasets": "roar-syntetic"}, "no dataset named 'roar-syntetic'; did you mean roar-synthetic"),
        ({"datasets": []}, "datasets"),
        ({"models": "logistic"}, "no model named 'logistic'; did you mean logistic-regression"),
        ({"explainer": "coeficient"}, "no explainer named 'coeficient'; did you mean coefficient"),
        ({"orders": "rar"}, "orders.0"),
        ({"seedz": 3}, "there is no key seedz; did you mean seeds"),
        ({"data.trains": 3}, "there is no key data.trains; did you mean train"),
        ({"seeds.first": 3}, "seeds is a value, not a table"),
        ({"kind": "roar"}, "no study kind named 'roar'; did you mean recursive-roar or roar-synthetic"),
        ({"name": "../x"}, "name"),
        ({"margin": 0}, "margin"),
    ],
)
def test_what_is_wrong_with_a_setting(settings, message):
    with pytest.raises(UserError, match=message):
        load_study("roar-synthetic", settings)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds = 50", "seeds = 'many'", r"study.toml, line {line}: seeds"),
        ("train = 10000", "train = 'big'", r"study.toml, line {line}: data.train: .*integer"),
        ("seeds = 50", "seeds = ", r"study.toml, line {line}, column \d+: .*not valid TOML"),
        ('kind = "roar-synthetic"', "", "the key kind is missing"),
        ("margin = 0.02", "", "the key margin is missing"),
        (
            "margin = 0.02",
            "margine = 0.02",
            r"line \d+: there is no key margine; did you mean margin|the key margin is missing",
        ),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path, old, new, message):
    assert old in VALID
    line = VALID[: VALID.index(old)].count("\n") + 1
    with pytest.raises(UserError, match=message.replace("{line}", str(line))):
        load_study(write(tmp_path, VALID.replace(old, new, 1)))


def test_unknown_studies_and_files(tmp_path):
    with pytest.raises(UserError, match="no study named 'roar-sintetic'; did you mean roar-synthetic"):
        load_study("roar-sintetic")
    with pytest.raises(UserError, match="no study file"):
        load_study(tmp_path / "none.toml")
    with pytest.raises(UserError, match="is a folder, not a study file"):
        load_study(tmp_path)
    (tmp_path / "marked.toml").write_text("\ufeff" + VALID)
    assert load_study(tmp_path / "marked.toml") == load_study("roar-synthetic")
    (tmp_path / "latin.toml").write_bytes(b"title = '\xe9'")
    with pytest.raises(UserError, match="not UTF-8"):
        load_study(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"models": "bert"}, "no model named 'bert'; known are .*transformer"),
        ({"models": "average-uniform"}, "no attention of its own.*or transformer"),
    ],
)
def test_models_and_transformers(settings, message):
    with pytest.raises(UserError, match=message):
        load_study("recursive-roar", settings)


def test_files_that_a_study_cannot_use_are_refused_before_it_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    one = "text,label\na good film,good\na bad film,bad\n"
    Path("one.csv").write_text(one)
    settings = {"models": "average-additive", "vectors": "none"}
    with pytest.raises(UserError, match=r"one\.csv has no split train: .* train, dev, test .*`trueness data split"):
        plan(load_study("recursive-roar", {**settings, "datasets": "one.csv"}))
    for split in ("train", "dev"):
        Path("mine", f"{split}.csv").write_text(one)
    Path("mine", "test.csv").write_text(one + "so so,neither\n")
    with pytest.raises(UserError, match="mine, split test: the label 'neither' does not occur"):
        plan(load_study("recursive-roar", {**settings, "datasets": "mine"}))
    Path("mine", "test.csv").write_text(one + "so so,bad,more\n")
    with pytest.raises(UserError, match=r"test\.csv, row 4"):
        plan(load_study("recursive-roar", {**settings, "datasets": "mine"}))
    Path("mine", "test.csv").write_text("text,label\na good film,1\na bad film,0\n")
    for split in ("train", "dev"):  # 1 and "1" are one label
        Path("mine", f"{split}.csv").unlink()
        rows = '{"text": "a good film", "label": 1}\n{"text": "a bad film", "label": 0}\n'
        Path("mine", f"{split}.jsonl").write_text(rows)
    assert check_data("mine")["usable"]
    assert plan(load_study("recursive-roar", {**settings, "datasets": "mine"}))
    with pytest.raises(UserError, match="There is no folder nothing with a saved transformer"):
        plan(load_study("recursive-roar", {"models": "transformer", "pretrained": "nothing", "datasets": "mine"}))


def test_lines_of_keys():
    text = "a = 1\n\n[t]\nb = 2\n[t.u]\nc.d = 3\n"
    assert find_line(text, ["a"]) == 1
    assert find_line(text, ["t", "b"]) == 4
    assert find_line(text, ["t", "u", "c", "d"]) == 6
    assert find_line(text, ["t", "missing"]) == 3
    assert find_line(text, ["zzz"]) is None
    tricky = 'a = [\n  [0.0, 0.5],\n]\nq = """\nb = 1\n"""\nb = 2\n'
    assert find_line(tricky, ["b"]) == 7
    quoted = '[t."a.b:c[d=1]"]\n"e f" = 1\n"g.h:i" = 2\nj."k.l" = 3\n'
    inside = ["t", "a.b:c[d=1]"]
    assert find_line(quoted, inside) == 1
    assert [find_line(quoted, [*inside, *rest]) for rest in (["e f"], ["g.h:i"], ["j", "k.l"])] == [2, 3, 4]
    assert find_line(quoted, [*inside, "j"]) == 4


def test_the_plan_has_one_task_per_condition():
    study = load_study("roar-synthetic", {"seeds": 3})
    assert len(walk([plan(study)])) == 2 * 5 * 3 + 1


def test_more_seeds_reuse_the_curves_of_fewer():
    few, many = (walk([plan(load_study("roar-synthetic", {"seeds": n}))]) for n in (2, 3))
    assert {task.key for task in few if task.type.name.endswith("curve")} < {task.key for task in many}


def test_every_kind_is_described():
    assert all(KINDS.describe(name) for name in KINDS)
