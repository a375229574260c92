"""The GitHub Action: its script runs here as it runs there, with a command that notes how it was called."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from trueness.cli.audit import audit_command

yaml = pytest.importorskip("yaml")
ACTION = yaml.safe_load((Path(__file__).parents[1] / "action.yml").read_text(encoding="utf-8"))
(INSTALL, AUDIT) = ACTION["runs"]["steps"]
COMMAND = """#!/usr/bin/env python3
import json, os, sys
json.dump(sys.argv[1:], open("called.json", "w"))
open(sys.argv[sys.argv.index("--markdown") + 1], "w").write("### Explanations")
sys.exit(int(os.environ["STATUS"]))
"""


def run(folder, status=0, **inputs):
    (folder / "trueness").write_text(COMMAND)
    (folder / "trueness").chmod(0o755)
    given = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | inputs
    named = {name: given[re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", value)[1]] for name, value in AUDIT["env"].items()}
    files = {name: str(folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", AUDIT["run"]],
        cwd=folder,
        check=False,
        env={**os.environ, **named, **files, "PATH": path, "STATUS": str(status)},
    )
    outputs = dict(line.split("=", 1) for line in (folder / "GITHUB_OUTPUT").read_text().splitlines())
    return done.returncode, outputs, json.loads((folder / "called.json").read_text())


@pytest.mark.parametrize("status", [0, 1, 3])
def test_the_gate_decides_the_step(tmp_path, status):
    found, outputs, called = run(
        tmp_path,
        status,
        model="my model/",
        data="a b.csv",
        gate="gate.toml",
        baseline="old.json",
        arguments="--explainer lime --set examples=50",
    )
    assert found == status
    assert outputs == {
        "status": str(status),
        "report": "trueness-audit/audit.html",
        "audit": "trueness-audit/audit.json",
    }
    assert called[:3] == ["audit", "my model/", "a b.csv"]
    asked = dict(zip(called[3::2], called[4::2], strict=True))
    assert asked["--gate"] == "gate.toml"
    assert asked["--baseline"] == "old.json"
    assert asked["--budget"] == "30m"
    assert (asked["--explainer"], asked["--set"]) == ("lime", "examples=50")
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == "### Explanations"


def test_without_a_gate_none_is_asked(tmp_path):
    _, _, called = run(tmp_path, model="m", data="d")
    assert "--gate" not in called
    assert "--baseline" not in called


def test_inputs_are_no_code(tmp_path):
    run(tmp_path, model="$(touch harm)", data="`touch harm`", arguments="$(touch harm)")
    assert not (tmp_path / "harm").exists()
    for step in (INSTALL, AUDIT):
        assert "${{" not in step["run"]


def test_its_options_and_outputs_are_those_of_the_command():
    options = set(re.findall(r"--[\w-]+", AUDIT["run"]))
    names = {f"--{name.replace('_', '-')}" for name in audit_command.__wrapped__.__annotations__} | {"--no-text"}
    assert options <= names
    assert all(re.search(rf"{name}=", AUDIT["run"]) for name in ACTION["outputs"])
