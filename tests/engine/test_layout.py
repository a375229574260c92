"""Folders that are stores, were stores, or never were; nothing is removed that a store did not make."""

import contextlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.tasks import double
from tests.engine.test_driver import values
from tests.engine.test_store import KEY, commit
from trueness.engine import Store, StoreError, run

RANDOM = "0123456789abcdef" * 2


def everything(folder):
    """Every path below a folder, with what it holds; links are not followed."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(root) / name
            kind = f"-> {path.readlink()}" if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
            found[str(path.relative_to(folder))] = kind
    return found


@pytest.mark.parametrize(
    "content",
    [
        ("temporary/data.v1/precious.txt", "logs/today.log"),
        (f"temporary/{KEY}.{RANDOM}/precious.txt",),
        ("objects/", "temporary/"),
        ("trueness-store.json.bak",),
        (".trueness-store.json.1234",),
    ],
)
def test_opening_a_foreign_folder_changes_nothing_in_it(tmp_path, content):
    folder = tmp_path / "mine"
    for name in content:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).mkdir() if name.endswith("/") else (folder / name).write_text("precious")
    before = everything(folder)
    for create in (False, True):
        with pytest.raises(StoreError, match="is not a trueness store"):
            Store.open(folder, create=create)
    assert everything(folder) == before


def test_a_store_is_made_beside_folders_of_others(tmp_path):
    """Others keep theirs in a folder `runs` too; so did the demo of earlier versions, which had a store in it."""
    for name in ("demo/model/weights", "Nov19_host/events.out", "study/trueness-store.json"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("precious")
    before = everything(tmp_path)
    with pytest.raises(StoreError, match="There is no store at"):
        Store.open(tmp_path)
    assert everything(tmp_path) == before
    commit(Store.open(tmp_path, create=True))
    Store.open(tmp_path).verify(KEY)
    assert everything(tmp_path).items() >= before.items()


def test_a_creation_that_was_interrupted_is_completed(tmp_path, local):
    for name, left in (("nothing", ()), ("half", (f".trueness-store.json.{RANDOM}",)), ("whole", None)):
        path = tmp_path / name
        path.mkdir()
        for file in left or ():
            (path / file).write_text("")
        if left is None:
            (path / "trueness-store.json").write_text('{"format": 1}')
        store = Store.open(path, create=True)
        store.check_writable()
        assert Store.open(path).path == path
        commit(store)
        store.verify(KEY)


def test_a_link_to_nowhere_is_no_store(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "trueness-store.json").symlink_to(tmp_path / "nowhere")
    for name in ("link", "folder"):
        with pytest.raises(StoreError):
            Store.open(tmp_path / name, create=True)
    assert not (tmp_path / "nowhere").exists()


def test_the_collector_removes_only_abandoned_temporaries(store):
    store.check_writable()
    temporary = store.path / "temporary"
    abandoned, in_use = temporary / f"{KEY}.{RANDOM}", temporary / f"{'b' * 40}.{RANDOM}"
    foreign = [temporary / name for name in ("photos.2020", ".ssh", f"{KEY}.1234", f"{KEY}.{RANDOM}.old", "notes")]
    for folder in (abandoned, in_use, *foreign):
        folder.mkdir()
        (folder / "half.json").write_text("{")
    file = temporary / f"{'c' * 40}.{RANDOM}"
    file.write_text("not a folder")
    commit(store, key="d" * 40)
    with store.lock("b" * 40) as mine:
        assert mine
        # flock belongs to the open file, so the collector's own attempt is refused even within one process.
        assert store.collect_garbage() == 1
    assert not abandoned.exists()
    assert in_use.exists()
    assert store.has("d" * 40)
    assert store.collect_garbage() == 1
    assert all((folder / "half.json").exists() for folder in foreign)
    assert file.exists()


def test_the_collector_follows_no_links(store, tmp_path):
    store.check_writable()
    outside = tmp_path / "home"
    (outside / f"{KEY}.{RANDOM}").mkdir(parents=True)
    (outside / "photos.2020").mkdir()
    (outside / "photos.2020" / "one.jpg").write_text("precious")
    before = everything(outside)
    temporary = store.path / "temporary"
    (temporary / f"{KEY}.{RANDOM}").mkdir()
    (temporary / f"{KEY}.{RANDOM}" / "link").symlink_to(outside)
    (temporary / f"{'b' * 40}.{RANDOM}").symlink_to(outside)
    assert store.collect_garbage() == 1, "the link inside went with the folder, what it leads to did not"
    (temporary / f"{'b' * 40}.{RANDOM}").unlink()
    temporary.rmdir()
    temporary.symlink_to(outside)
    assert store.collect_garbage() == 0
    assert everything(outside) == before


@pytest.mark.parametrize("name", ["objects", "temporary", "locks", "logs", "runs", "damaged"])
def test_a_folder_that_is_missing_is_made_and_what_lies_in_its_place_is_named(store, local, tmp_path, name):
    run([values(2)], store, local)
    place = store.path / name
    place.rename(tmp_path / "away")
    assert run([values(2)], store, local).complete
    assert store.get(values(2).key).read("value") == 2
    assert run([values(2)], store, local).computed == 0
    place.rename(tmp_path / "away too")
    for make in (lambda: place.write_text("a file"), lambda: place.symlink_to(tmp_path / "away")):
        make()
        before = everything(tmp_path)
        with pytest.raises(StoreError, match=f"{place} is a (file|link)"):
            run([values(2)], store, local)
        assert everything(tmp_path) == before
        place.unlink()


def test_objects_that_vanish_while_a_task_runs_do_not_stop_it(store):
    store.check_writable()
    store.objects.rmdir()
    commit(store)
    assert store.get(KEY).read("value") == 1


def test_a_dangling_link_as_an_object_is_set_aside(store, local, tmp_path):
    run([values(2)], store, local)
    key = double(value=1).key
    (store.objects / key).rename(tmp_path / "away")
    (store.objects / key).symlink_to(tmp_path / "nowhere")
    (store.objects / values(2).key).rename(tmp_path / "away too")
    summary = run([values(2)], store, local)
    assert summary.complete
    assert summary.damaged == [key]
    assert store.get(values(2).key).read("value") == 2


def test_files_that_are_no_records_of_runs_are_passed_over(store):
    store.record_run("study", "k1", {"name": "study"})
    runs = store.path / "runs"
    good = json.loads((runs / "study.k1.json").read_text())
    broken = ["", "{", "[]", "3", "null", "[" * 100_000, "{}", '{"finished": 1}']
    broken += [json.dumps({**good, **change}) for change in ({"finished": "x"}, {"study": []}, {"result": 3})]
    for number, content in enumerate(broken):
        (runs / f"study.broken{number}.json").write_text(content)
    (runs / "study.bytes.json").write_bytes(b"\xff")
    (runs / "study.folder.json").mkdir()
    (runs / "study.link.json").symlink_to("/nowhere")
    assert [record["result"] for record in store.runs("study")] == ["k1"]
    assert store.runs() == store.runs("study")


def test_too_few_file_handles_are_no_damage_but_a_sentence(store, local):
    """With so many files open that no more can be, nothing is set aside or computed."""
    run([values(2)], store, local)
    before = everything(store.path / "objects")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    opened = []
    try:
        with contextlib.suppress(OSError):
            while True:
                opened.append(os.open("/dev/null", os.O_RDONLY))
        with pytest.raises(StoreError, match=r"Too many files are open; allow more \(ulimit -n"):
            run([values(2)], store, local)
        for look in (store.meta, store.verify, store.set_aside, lambda key: store.read(key, "value")):
            with pytest.raises(StoreError, match="Too many files are open"):
                look(values(2).key)
    finally:
        for handle in opened:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert everything(store.path / "objects") == before


SCRIPT = """
import resource, sys
from tests.engine.test_driver import values
from trueness.engine import LocalExecutor, Store, StoreError, run
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
try:
    with LocalExecutor(["cpu"] * 12) as executor:
        run([values(40, seconds=0.2)], Store.open(sys.argv[1], create=True), executor)
except StoreError as error:
    print(error)
"""


def test_workers_that_need_too_many_file_handles_are_a_sentence(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "store")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.startswith("Too many files are open; allow more"), done.stderr
    assert done.stdout.count("\n") == 1
