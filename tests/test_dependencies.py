"""The bill of materials, the locks and the licences."""

import importlib.metadata
import json
import re
from email.message import Message
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from tools import dependencies
from tools.dependencies import Package, licence_of, sbom
from tools.lock import without_gpu

ROOT = Path(__file__).parents[1]
INSTALLED = dependencies.dependencies("trueness", frozenset({"report", "dev"}))


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        *((licence, True) for licence in ("MIT", "Apache-2.0 OR GPL-3.0-only", "Mozilla Public License 2.0 (MPL 2.0)")),
        *((licence, False) for licence in ("GPL-3.0-or-later", "LGPL-2.1-only", "AGPLv3", "MIT AND LGPL-3.0", "")),
        ("GNU General Public License v2", False),
        ("GNU Lesser General Public License v3 or later", False),
        ("LGPL-2.1-only AND (MIT OR BSD-3-Clause)", False),
    ],
)
def test_licences(licence, allowed, monkeypatch, capsys):
    package = Package("other", "1", licence)
    assert package.allowed is allowed
    monkeypatch.setattr(dependencies, "dependencies", lambda *_: [Package("one", "1", "MIT"), package])
    assert dependencies.main(["licences"]) == int(not allowed)
    assert ("other 1: " in capsys.readouterr().out) is not allowed


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ([("License-Expression", "MIT"), ("License", "old")], "MIT"),
        (
            [("License", "BSD\nlong text with GPL"), ("Classifier", "License :: OSI Approved :: BSD License")],
            "BSD License",
        ),
        ([("License", "MIT\nlong text"), ("Classifier", "Topic :: X")], "MIT"),
        ([], ""),
    ],
)
def test_where_a_licence_is_stated(fields, licence):
    metadata = Message()
    for name, value in fields:
        metadata[name] = value
    assert licence_of(metadata) == licence


def test_dependencies_are_found_through_others_and_through_extras():
    names = {package.name for package in INSTALLED}
    assert {"numpy", "torch", "mpmath", "parsl", "distributed", "pytest", "jinja2"} <= names
    assert "trueness" not in names
    assert "pytest" not in {package.name for package in dependencies.dependencies("trueness")}


def test_the_bill_of_materials_lists_what_is_locked(tmp_path):
    dependencies.main(["sbom", str(tmp_path / "sbom.json")])
    assert json.loads((tmp_path / "sbom.json").read_text()) == sbom(INSTALLED)
    kept = {
        item["name"]: item["version"] for item in json.loads((ROOT / "docs/sbom.cdx.json").read_text())["components"]
    }
    assert all(item["licenses"] for item in sbom(INSTALLED)["components"])
    locked = set(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "locks/dev.txt").read_text(), re.MULTILINE))
    assert {(name, version) for name, version in kept.items() if name != "torch"} <= locked


def test_locks_fit_the_constraints_and_need_only_torch_beside_them():
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    pinned = {canonicalize_name(name): version for name, version in pinned.items()}
    for name, extras in (("run", {"report"}), ("dev", {"report", "dev"})):
        text = (ROOT / f"locks/{name}.txt").read_text()
        locked = dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))
        assert {one: pinned.get(one, version) for one, version in locked.items()} == locked
        needed = {package.name for package in dependencies.dependencies("trueness", frozenset(extras))}
        gpu = {one for one in needed if one.startswith(("nvidia-", "cuda-"))} | {"triton"}
        assert needed - gpu - set(locked) == {"torch"}
        entries = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
        assert all("--hash=sha256:" in entry for entry in entries)
        assert "://" not in text
    assert importlib.metadata.version("numpy") == locked["numpy"]


def test_torch_and_gpu_libraries_are_left_out_of_locks():
    text = (
        "a==1 \\\n    --hash=x\nnvidia-b==2 \\\n    --hash=y\ntorch==3 \\\n    --hash=z\ntorchx==4 \\\n    --hash=w\n"
    )
    assert without_gpu(text) == "a==1 \\\n    --hash=x\ntorchx==4 \\\n    --hash=w\n"
