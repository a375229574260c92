"""Things outside the package: found by name, known by their source."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from trueness import plugins
from trueness.engine.encoding import canonical, digest, plain
from trueness.errors import UserError
from trueness.plugins import Reference, find, home, looking_beside
from trueness.registry import Registry

CODE = '''
"""Somebody else's."""
from dataclasses import dataclass

def double(value):
    """Twice as much."""
    return 2 * value

@dataclass(frozen=True)
class Times:
    by: int = 3
    word: str = "plain"
    version = 4

    def __call__(self, value):
        return self.by * value

NUMBER = 5
'''


def registry(**more):
    def adapt(thing, name):
        made = thing() if isinstance(thing, type) else thing
        if not callable(made):
            raise UserError(f"{name} cannot be called.")
        return made

    found = Registry("function", adapt=adapt, **more)
    found.add("same", lambda value: value, "the same")
    found.add_family(r"twice\[(.+)\]", lambda name: lambda value: found[name](found[name](value)), "none", str)
    return found


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "theirs.py"
    path.write_text(CODE)
    return path


def test_a_file_is_found_by_its_path_and_known_by_its_content(file):
    double, source = find(f"{file}:double")
    assert double(2) == 4
    assert (source.name, source.address, source.version) == ("theirs.py:double", f"{file}:double", "")
    assert find(f"{file}:Times")[1].version == "4"
    assert find(f"{file}:double")[0] is double, "read once"
    file.write_text(CODE.replace("2 * value", "20 * value"))
    changed, now = find(f"{file}:double")
    assert changed(2) == 40
    assert now.digest != source.digest
    with pytest.raises(UserError, match="was changed while the study ran"):
        source.load()
    file.write_text(CODE)
    assert find(f"{file}:double")[1] == source


def test_a_module_is_found_on_the_path_or_where_it_was_found_before(tmp_path, monkeypatch):
    (tmp_path / "their_package").mkdir()
    (tmp_path / "their_package" / "__init__.py").write_text("")
    (tmp_path / "their_package" / "inner.py").write_text(CODE)
    with monkeypatch.context() as patched:
        patched.syspath_prepend(tmp_path)
        found, source = find("their_package.inner:double")
        assert (source.name, source.root) == ("their_package.inner:double", str(tmp_path))
        assert home(found) == source
    code = f"import pickle; print(pickle.loads({pickle.dumps(source)!r}).load()(4))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "8\n", "a worker elsewhere finds it"


def test_a_module_that_changed_is_read_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "their_changing.py").write_text("def one():\n    return 1\n")
    before = find("their_changing:one")
    (tmp_path / "their_changing.py").write_text("def one():\n    return 100\n")
    after = find("their_changing:one")
    assert (before[0](), after[0]()) == (1, 100)
    assert before[1].digest != after[1].digest


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("no/such/file.py:name", "no file no/such/file.py"),
        ("no_such_module:name", "no_such_module cannot be imported"),
        ("json:no_such_name", "json has no no_such_name"),
        ("nothing", "names nothing"),
        ("{file}:no_such_name", "has no no_such_name"),
        ("{broken}:name", r"cannot be imported \(ZeroDivisionError"),
        ("{unreadable}:name", r"cannot be imported \(SyntaxError"),
    ],
)
def test_what_is_missing_is_said(file, tmp_path, address, message):
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "unreadable.py").write_text("def")
    places = {"file": file, "broken": tmp_path / "broken.py", "unreadable": tmp_path / "unreadable.py"}
    with pytest.raises(UserError, match=message):
        find(address.format(**places))


def test_files_are_also_looked_for_beside_a_study(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path.parent)
    with pytest.raises(UserError):
        find("theirs.py:double")
    with looking_beside(tmp_path):
        assert find("theirs.py:double")[1].address == f"{file}:double"


def test_a_reference_is_its_name_and_travels(file):
    reference = registry().reference(f"{file}:double")
    assert reference == "theirs.py:double"
    assert isinstance(reference, Reference)
    back = pickle.loads(pickle.dumps(reference))
    assert (back, back.sources) == (reference, reference.sources)
    assert plain({"name": reference})["name"].sources == reference.sources
    assert str(file.parent) not in str(canonical(reference)), "where it lies is no part of a key"
    copy = file.parent / "elsewhere" / "theirs.py"
    copy.parent.mkdir()
    copy.write_text(CODE)
    assert digest(registry().reference(f"{copy}:double")) == digest(reference)
    copy.write_text(CODE + "\n")
    assert digest(registry().reference(f"{copy}:double")) != digest(reference)


def test_registries_find_what_is_outside(file):
    known = registry()
    assert known[f"{file}:double"](3) == 6
    assert known["theirs.py:double"](3) == 6, "by its short name from then on"
    assert known[f"{file}:Times"](3) == 9
    assert known[f"{file}:Times[by=5]"](3) == 15
    assert known[f"{file}:Times[by=5, word=other]"].word == "other"
    assert known[f"twice[{file}:double]"](3) == 12
    inner = known.reference(f"twice[{file}:Times[by=2]]")
    assert inner == "twice[theirs.py:Times[by=2]]"
    assert [source.name for source in inner.sources] == ["theirs.py:Times"]
    assert registry()[pickle.loads(pickle.dumps(inner))](3) == 12, "in a worker that never heard of it"
    assert not isinstance(known.reference("same"), Reference)
    assert f"{file}:double" in known
    assert known.describe("theirs.py:double") == "Twice as much."
    for name, message in (
        (f"{file}:Times[bye=5]", "no setting bye; did you mean by"),
        (f"{file}:Times[by=]", "expected key=value"),
        (f"{file}:double[by=2]", "has no settings"),
        (f"{file}:NUMBER", "cannot be called"),
        ("sane", "did you mean same"),
    ):
        with pytest.raises(UserError, match=message):
            known[name]


def test_objects_have_the_names_by_which_they_are_found(file):
    known = registry()
    double, times = find(f"{file}:double")[0], find(f"{file}:Times")[0]
    assert known.name_of("any name") == "any name"
    assert known.name_of(double) == "theirs.py:double"
    assert known.name_of(times(by=7)) == "theirs.py:Times[by=7]"
    assert known[known.name_of(times(by=7, word="other"))] == times(by=7, word="other")
    assert known.name_of(times()) == "theirs.py:Times"
    with pytest.raises(UserError, match="no worker can import"):
        known.name_of(lambda value: value)
    with pytest.raises(UserError, match="is no function"):
        known.name_of(5)


def test_entry_points_of_installed_packages_are_names(tmp_path, monkeypatch):
    (tmp_path / "their_methods.py").write_text(CODE)
    about = tmp_path / "theirs-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[trueness.tests]\ndoubled = their_methods:double\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugins.entry_points.cache_clear()
    known = registry(group="trueness.tests")
    assert "doubled" in list(known)
    assert known.describe("doubled") == "from their_methods:double"
    assert known["doubled"](4) == 8
    reference = known.reference("doubled")
    assert (reference, reference.sources[0].address) == ("doubled", "their_methods:double")
    plugins.entry_points.cache_clear()


def test_what_a_decorator_registers_is_found_again_after_a_change(file):
    known = registry()
    file.write_text(
        CODE + "\nfrom tests.test_plugins import LATEST\nLATEST[0].add('decorated', double, 'd', maker=double)\n"
    )
    LATEST[0] = known
    first = known.reference(f"{file}:double")
    assert known["decorated"](1) == 2
    assert known.reference("decorated").sources[0].digest == first.sources[0].digest
    file.write_text(file.read_text().replace("2 * value", "30 * value"))
    known.reference(f"{file}:double")
    assert known["decorated"](1) == 30
    with pytest.raises(UserError, match="already a function"):
        known.add("decorated", print, "another")


LATEST = [None]


def test_what_lies_on_the_disk_is_no_function(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert plugins.is_function("mine.py:predict")
    assert not plugins.is_function(Path("mine.py:predict"))
    (tmp_path / "mine.py:predict").mkdir()
    assert not plugins.is_function("mine.py:predict")


def test_a_file_that_imports_its_neighbour_is_refused_with_the_way_out(tmp_path, monkeypatch):
    """A file is read alone; with the folder on the path, which workers inherit, it works."""
    (tmp_path / "besides.py").write_text("W = {'good': 0.4}\n")
    file = tmp_path / "bbx.py"
    file.write_text("from besides import W\n\ndef score(model, batch, target):\n    return batch.mask.float()\n")
    with pytest.raises(UserError, match=rf"besides lies beside it, .* set PYTHONPATH={tmp_path}, or put what it needs"):
        plugins.find(f"{file}:score")
    monkeypatch.syspath_prepend(tmp_path)
    assert plugins.find(f"{file}:score")[0].__name__ == "score"
    file.write_text("import nowhere_at_all\n")
    with pytest.raises(UserError, match=r"No module named 'nowhere_at_all', bbx\.py line 1\)\.$"):
        plugins.find(f"{file}:score")
