"""Every kind of study: its folder holds what the architecture's table says, and all of it works in miniature."""

import ast
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

import trueness as tn
from tests.miniatures import MINIATURES
from trueness.errors import UserError
from trueness.protocols.result import Result
from trueness.studies import KINDS, builtin_studies, load_study

ROOT = Path(__file__).parents[2]
PAPERS = [kind for kind in map(KINDS.__getitem__, KINDS) if str(kind.folder).startswith("trueness.papers.")]
FOLDERS = {kind.name: ROOT / "src" / Path(*kind.folder.split(".")) for kind in PAPERS}


def table():
    """File to whether it is needed, as docs/architecture.md has it."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    section = page.split("## To add a kind of study")[1].split("\n## ")[0]
    return {file: needed == "yes" for file, needed in re.findall(r"^\| `([\w.]+)` \|.*\| (yes|no) \|$", section, re.M)}


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_folder_holds_what_the_table_says(kind):
    rules = table()
    assert {"__init__.py", "study.py", "NAME.toml"} <= {file for file, needed in rules.items() if needed}
    found = {"NAME.toml" if item.suffix == ".toml" else item.name for item in FOLDERS[kind].iterdir() if item.is_file()}
    assert found <= set(rules), "a file that the table does not know"
    assert {file for file, needed in rules.items() if needed} <= found
    assert any(load_study(name).kind == kind for name in KINDS[kind].files())


def test_a_kind_is_named_in_its_folder_and_in_one_line():
    lines = (ROOT / "src" / "trueness" / "papers" / "__init__.py").read_text().splitlines()
    for folder in FOLDERS.values():
        assert sum(f'"{folder.name}"' in line for line in lines) == 1
    below = [
        file
        for layer in ("stats", "engine", "data", "models", "explainers", "protocols", "studies", "report")
        for file in (ROOT / "src" / "trueness" / layer).rglob("*.py")
    ]
    names = {f"trueness.papers.{folder.name}" for folder in FOLDERS.values()}
    for file in below:
        imported = {node.module for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)}
        assert not {module for module in imported if module and any(module.startswith(name) for name in names)}, file


def test_every_study_file_has_a_miniature():
    assert set(MINIATURES) == set(builtin_studies())
    assert {load_study(name).kind for name in MINIATURES} == {kind.name for kind in PAPERS}


@pytest.mark.parametrize("name", MINIATURES)
def test_every_kind_is_planned_run_reported_compared_and_opened(name, folder, tmp_path):
    store = tmp_path / "store"
    settings = {**({} if name == "roar-synthetic" else {"datasets": str(folder)}), **MINIATURES[name]}
    assert tn.plan(name, store=store, **settings).to_json()["cached"] == 0
    with ThreadPoolExecutor(1) as executor:
        run = tn.run(name, store=store, executor=executor, **settings)
    assert run.scores
    done = tn.plan(name, store=store, **settings).to_json()
    assert done["cached"] == done["total"]
    opened = tn.open_run(name, store=store)
    assert opened.scores == run.scores
    page, *figures = opened.report(tmp_path / "report.html")
    assert run.study.title in page.read_text()
    assert len(figures) == 2 * len(list(KINDS[run.study.kind].figures(run.result)))
    assert len(run.compare()["rows"]) == len(run.scores)


def test_a_folder_and_a_line_make_a_kind(tmp_path):
    """The table followed: a copy of the package gets one folder, and one line."""
    copy = tmp_path / "trueness"
    shutil.copytree(ROOT / "src" / "trueness", copy)
    folder = copy / "papers" / "counting"
    folder.mkdir()
    theirs = (ROOT / "tests" / "door" / "counting.py").read_text()
    before, after = theirs.split("KIND = StudyKind(")
    made = after.replace("schema=CountingStudy", "folder=__package__,\n    schema=CountingStudy")
    added = "from trueness.studies import KINDS\nKINDS.add(KIND.name, KIND, KIND.description)"
    (folder / "study.py").write_text(f"{before}KIND = StudyKind({made}\n{added}\n")
    (folder / "__init__.py").write_text('"""Counting."""\n')
    (folder / "counting.toml").write_text(
        'kind = "counting"\nname = "counting"\ntitle = "Counting"\nquestion = "?"\npaper = "nobody"\nseeds = 1\n'
        'datasets = "mock-1@vader"\nmodels = "average-additive"\nexplainers = "random"\n'
    )
    line = copy / "papers" / "__init__.py"
    line.write_text(line.read_text().replace("PAPERS = (", 'PAPERS = ("counting", '))
    code = (
        "import trueness; print(trueness.__file__); print(trueness.plan('counting', store='none').to_json()['total'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [str(copy / "__init__.py"), "4"], done.stderr


def test_a_result_of_another_version_is_named_as_such():
    old = Result(records=pd.DataFrame({"method": []}), scores=(), tables={"twins": pd.DataFrame()})
    with pytest.raises(UserError, match="has no 'bases': another version of trueness made it; run the study again"):
        KINDS["attefa"].figures(old)
