"""What mutation testing is set up to do, and how its outcome is counted."""

import tomllib
from pathlib import Path

from tools.mutate import count, prepare, still_explained


def test_mutants_are_counted_by_module_and_end():
    listed = (
        "    trueness.stats.rank.x_tau__mutmut_1: killed\n"
        "    trueness.stats.rank.xǁTauǁvalue__mutmut_2: survived\n"
        "    trueness.stats.rank.x_tau__mutmut_3: not checked\n"
        "    trueness.stats.rows.x_rows__mutmut_1: no tests\n"
        "noise: of another kind\n"
    )
    assert count(listed) == {
        "trueness.stats.rank": {"mutants": 3, "killed": 1, "survived": 1, "not checked": 1},
        "trueness.stats.rows": {"mutants": 1, "no tests": 1},
    }


def test_one_part_is_changed_and_its_tests_are_run(tmp_path, monkeypatch):
    for name in ("src", "tests", "tools", "docs", "locks"):
        (tmp_path / name).mkdir()
    for name in ("constraints.txt", "README.md"):
        (tmp_path / name).touch()
    (tmp_path / "pyproject.toml").write_text((Path(__file__).parents[1] / "pyproject.toml").read_text())
    monkeypatch.chdir(tmp_path)
    told = tomllib.loads((prepare("engine") / "pyproject.toml").read_text())["tool"]["mutmut"]
    assert told["only_mutate"] == ["src/trueness/engine/*"]
    selected = told["pytest_add_cli_args_test_selection"]
    assert selected[0] == "tests/engine"
    assert selected[-2:] == ["-m", "not slow"]
    assert told["source_paths"] == ["src"]


def test_reasons_are_kept_while_what_they_explain_survives():
    before = {"why": {"a": "it only logs", "b": "equal on every system"}, "survivors": ["a", "b"]}
    assert still_explained(before, ["b", "c"]) == {"why": {"b": "equal on every system"}}
    assert still_explained(before, ["c"]) == {}
    assert still_explained({}, ["a"]) == {}
