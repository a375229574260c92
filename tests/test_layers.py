"""The structure of the package: layers, no circles (by strings neither), no private fields, a core without extras."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

CIRCLES = """
import graphlib, grimp
from tests.test_layers import imported_by_string
graph = grimp.build_graph("trueness", cache_dir=None)
below = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
for name, others in imported_by_string().items():
    below[name] = below[name] | (others & graph.modules) - {name}
graphlib.TopologicalSorter(below).prepare()
"""
"""Late imports, those for types alone, and those by a string count like any other."""
BY_STRING = {"import_module", "later", "published_study"}
"""Functions that import what a string names; the second takes a package and a module of it, the last one its pages."""


def imported_by_string(folder=Path("trueness")):
    """Module to the modules that it names by strings: module:Name, or what a function imports."""
    found = {}
    for file in sorted(folder.rglob("*.py")):
        module = ".".join(file.with_suffix("").parts).removesuffix(".__init__")
        package = module if file.name == "__init__.py" else module.rpartition(".")[0]
        tree = ast.parse(file.read_text())
        known = {"__name__": module, "__package__": package}
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                known |= {target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)}
        named = [spelled(node, known) for node in ast.walk(tree) if isinstance(node, ast.Constant | ast.JoinedStr)]
        found[module] = {name.partition(":")[0] for name in named if re.fullmatch(r"trueness(\.\w+)+:\w+", name)}
        for call in ast.walk(tree):
            name = getattr(call.func, "id", getattr(call.func, "attr", "")) if isinstance(call, ast.Call) else ""
            if name in BY_STRING and call.args:
                first, *others = [spelled(node, known) for node in call.args]
                parts = ["figures", "tables"] if name == "published_study" else others[:1]
                found[module] |= {first} if name == "import_module" else {f"{first}.{part}" for part in parts}
    return found


def spelled(node, known):
    """The text that an expression stands for, as far as that is written in its module."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(spelled(part, known) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return spelled(node.value, known)
    return str(known.get(node.id, "")) if isinstance(node, ast.Name) else ""


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "src" / "trueness", tmp_path / "trueness")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def add(folder, module, line):
    file = folder / "trueness" / module
    file.write_text(f"{file.read_text()}\n{line}\n")


def run(folder, *command):
    way = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": way}
    )


def lint(folder):
    return run(folder, Path(sys.executable).parent / "lint-imports", "--no-cache")


def test_the_layer_check_fails_when_a_forbidden_import_is_added(copy):
    clean = lint(copy)
    assert clean.returncode == 0, clean.stdout
    add(copy, "stats/rank.py", "from trueness.engine import Store")
    broken = lint(copy)
    assert broken.returncode == 1
    assert "trueness.stats.rank -> trueness.engine" in broken.stdout


@pytest.mark.parametrize(
    "line",
    [
        "from trueness.kinds.text.data.vocabulary import Vocabulary",
        "def late():\n    from trueness.kinds.text.data import vocabulary",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import trueness.kinds.text.data.vocabulary",
        "from . import vocabulary",
        "from trueness.kinds.text.data.vocabulary import Vocabulary as V",
        "def late():\n    return import_module('trueness.kinds.text.data.vocabulary')",
        "_HERE = 'trueness.kinds.text.data'\nimportlib.import_module(f'{_HERE}.vocabulary')",
        "add_later(EXPLAINERS, 'a', 'trueness.kinds.text.data.vocabulary:Vocabulary', '')",
        "SHOWN = later(__package__, 'vocabulary', 'words')",
    ],
)
def test_no_modules_import_each_other_in_a_circle(copy, line):
    clean = run(copy, sys.executable, "-c", CIRCLES)
    assert clean.returncode == 0, clean.stderr
    add(copy, "kinds/text/data/examples.py", line)
    broken = run(copy, sys.executable, "-c", CIRCLES)
    assert "graphlib.CycleError" in broken.stderr
    assert "trueness.kinds.text.data.examples" in broken.stderr


def defined_privately(tree):
    """The names with one leading underscore that a module gives to functions, classes, variables and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def used_from_outside(tree):
    """The names that a module imports, or reads on another object than its own self, also by a string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", None) not in ("self", "cls"):
            yield node.lineno, node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def private_reads(folder):
    """Uses of a name that is private to another module of the package; what other libraries hide is their affair.

    A name that is private in two modules counts as well: from the text alone it is not known whose is read.
    """
    trees = {file.relative_to(folder): ast.parse(file.read_text()) for file in sorted(folder.rglob("*.py"))}
    owners = {}
    for file, tree in trees.items():
        for name in defined_privately(tree):
            if name.startswith("_") and not name.endswith("_"):  # those are Python's, or a notebook's
                owners.setdefault(name, set()).add(file)
    return [
        f"{file}:{line} {name}"
        for file, tree in trees.items()
        for line, name in used_from_outside(tree)
        if owners.get(name, set()) - {file}
    ]


def test_no_module_reads_what_is_private_to_another(copy):
    assert private_reads(copy) == []
    add(copy, "kinds/text/models/stack.py", "def read(split):\n    return split._text, getattr(split, '_other')")
    add(copy, "kinds/text/models/stack.py", "from trueness.kinds.text.data.sequences import _flat")
    found = private_reads(copy)
    assert [line.split()[1] for line in found] == ["_flat", "_text", "_other"]
    assert all(line.startswith("trueness/kinds/text/models/stack.py:") for line in found)


def test_the_core_loads_without_the_extras():
    """Stats, engine, data, models and protocols need no plotting, web, command-line or explanation library."""
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"typer", "rich", "jinja2", "vl_convert", "matplotlib", "altair", "captum",
                                  "transformers", "sklearn", "starlette", "uvicorn"}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import trueness.stats, trueness.engine, trueness.data, trueness.models, trueness.explainers, trueness.protocols
assert not {"torch", "pandas", "scipy.stats"} & set(sys.modules), "the core must load lightly"
"""
    subprocess.run([sys.executable, "-c", code], check=True)
