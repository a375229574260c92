"""What is told of words without vectors."""

from pathlib import Path

import numpy as np

import trueness as tn
from tests.inline import here
from trueness.report.vectors import told, warnings


def test_a_share_stands_beside_every_result_and_above_five_percent_it_is_a_warning(tmp_path):
    (tmp_path / "data").mkdir()
    for split in ("train", "dev", "test"):
        rows = "".join(f"{'good' if row % 2 else 'bad'} film,{row % 2}\n" for row in range(12))
        (tmp_path / "data" / f"{split}.csv").write_text(f"text,label\n{rows}")
    np.savez(tmp_path / "some.npz", words="good\nbad", vectors=np.eye(2))
    settings = {"datasets": str(tmp_path / "data"), "vectors": str(tmp_path / "some.npz"), "seeds": [1, 2]}
    how = {"models": "average-additive", "permutations": 2, "search_steps": 0, "epsilons": [0.0], "recipe": "demo"}
    run = tn.run("attention-is-not-explanation", store=tmp_path / "runs", executor=here(), **settings, **how)
    (about,) = run.compare()["vectors"].values()
    assert about == {"vectors": "some.npz", "without": 0.5, "words": ["film"]}
    (warning,) = [one for one in run.warnings if one.code == "words-without-vectors"]
    assert "50.0% of the tokens have no vector in some.npz (film" in warning.message


def test_few_words_are_told_and_no_warning():
    covered = {"a": {"vectors": "v.npz", "without": 0.05, "words": ["film"]}}
    assert not list(warnings(covered))
    assert told(covered) == "Tokens without a word vector: a 5.0% (v.npz)."
    assert not told({})
    (warning,) = warnings({"a": {"vectors": "v.npz", "without": 0.051, "words": ["film"]}})
    assert warning.where == "a"


def test_every_dataset_behind_a_result_is_told(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        for split in ("train", "dev", "test"):
            rows = "".join(f"{'good' if row % 2 else 'bad'} {name},{row % 2}\n" for row in range(12))
            (tmp_path / name / f"{split}.csv").write_text(f"text,label\n{rows}")
    np.savez(tmp_path / "some.npz", words="good\nbad", vectors=np.eye(2))
    datasets = [str(tmp_path / name) for name in "ab"]
    settings = {"datasets": datasets, "vectors": str(tmp_path / "some.npz"), "seeds": [1], "models": "average-additive"}
    how = {"permutations": 2, "search_steps": 0, "epsilons": [0.0], "recipe": "demo"}
    run = tn.run("attention-is-not-explanation", store=tmp_path / "runs", executor=here(), **settings, **how)
    told = {Path(name).name: about["words"] for name, about in run.compare()["vectors"].items()}
    assert told == {"a": ["a"], "b": ["b"]}
