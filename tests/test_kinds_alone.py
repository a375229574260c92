"""Nothing outside `kinds/` and `papers/` knows a kind of input: no import, also by string, no fork on its name."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "trueness"
KINDS = sorted(folder.name for folder in (SOURCE / "kinds").iterdir() if (folder / "kind.py").exists())
OF_A_KIND = re.compile(rf"trueness\.kinds\.({'|'.join(KINDS)})(\.\w+)*(:\w+)?")
ALLOWED = {
    "__init__.py": "the table of public names, and of the modules that fill registries: an entry point",
    "data/columns.py: name != 'text'": "a column of a table is called text",
    "data/columns.py: what == 'text'": "a column of a table is called text",
    "report/instances.py: 'image' in optional": "a column of a table is called image",
}
"""A whole file, or one fork in it, and why."""


def classes_of_kinds(source):
    """The names of classes that only kinds have."""
    here, elsewhere = set(), set()
    for file in source.rglob("*.py"):
        inside = file.relative_to(source).parts[:2]
        made = {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ClassDef)}
        if inside[0] == "kinds" and inside[1] in KINDS:
            here |= made
        else:
            elsewhere |= made
    return here - elsewhere


def imported(node):
    """The modules that a statement imports, or that a string names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def names_a_kind(node):
    """Whether an operand is the name of a kind, or a collection that holds one."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return any(isinstance(part, ast.Constant) and part.value in KINDS for part in parts)


def mentions(tree, classes):
    """The pieces of code that import a kind or ask which one something is."""
    for node in ast.walk(tree):
        if any(OF_A_KIND.fullmatch(name) for name in imported(node)):
            yield ast.unparse(node)
        elif isinstance(node, ast.Compare):
            if any(map(names_a_kind, [node.left, *node.comparators])):
                yield ast.unparse(node)
        elif isinstance(node, ast.MatchValue | ast.Subscript):
            if names_a_kind(node.value if isinstance(node, ast.MatchValue) else node.slice) and not (
                isinstance(node, ast.Subscript) and getattr(node.value, "id", "") != "KINDS"
            ):
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            asked = {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node.args[1])}
            if asked & classes:
                yield ast.unparse(node)


def found(source):
    """Every mention of a kind, with its file."""
    classes = classes_of_kinds(source)
    for file in sorted(source.rglob("*.py")):
        place = file.relative_to(source)
        if place.parts[0] not in ("kinds", "papers"):
            for code in mentions(ast.parse(file.read_text()), classes):
                yield place.as_posix(), code


def test_no_kind_is_known_outside_kinds_and_papers():
    every = list(found(SOURCE))
    odd = [f"{file}: {code}" for file, code in every if file not in ALLOWED and f"{file}: {code}" not in ALLOWED]
    assert odd == []
    seen = {file for file, _ in every} | {f"{file}: {code}" for file, code in every}
    assert set(ALLOWED) <= seen, "an exception that nothing needs"


@pytest.mark.parametrize(
    "code",
    [
        "from trueness.kinds.text.data.examples import TextExample",
        "from trueness.kinds import image",
        "import trueness.kinds.vector.model",
        "import_module('trueness.kinds.text.explainers.catalogue')",
        "add_later(EXPLAINERS, 'a', 'trueness.kinds.text.explainers.simple:Attention', '')",
        "model.kind == 'text'",
        "kind.name in ('text', 'image')",
        "KINDS['vector']",
        "isinstance(data, TextDataset)",
        "isinstance(data, tn.VectorDataset | int)",
        "match kind:\n    case 'image':\n        pass",
    ],
)
def test_a_mention_is_found(code):
    assert list(mentions(ast.parse(code), classes_of_kinds(SOURCE)))
    assert not list(mentions(ast.parse("x = kind.name\nkinds['text']\n'a text' == x"), set()))
