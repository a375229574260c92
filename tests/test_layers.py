"""The structure of the package: layers, no circles, no private fields, a core that loads without the extras."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

CIRCLES = """
import graphlib, grimp
graph = grimp.build_graph("trueness", cache_dir=None)
graphlib.TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()
"""
"""Late imports, and those for types alone, count like any other."""


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "src" / "trueness", tmp_path / "trueness")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def add(folder, module, line):
    file = folder / "trueness" / module
    file.write_text(f"{file.read_text()}\n{line}\n")


def run(folder, *command):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


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
