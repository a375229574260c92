"""The first page: every audit is read once, what changes is seen at once, and many may ask while a run writes."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.audit.fixtures import example_audit
from tests.browser.conftest import Running
from tests.browser.stores import audit_store, commit, strips
from trueness.audits.leaderboard import result_of
from trueness.browser import index, runs
from trueness.browser.site import Site
from trueness.engine import ProgressFile

PLAIN = json.loads(example_audit().model_dump_json())


def add(store, number):
    """One more audit, of another model."""
    payloads = result_of([({}, {**PLAIN, "model": f"model {number}"})]).payloads()
    key = commit(store, "audit/summary", payloads, audits=[])
    about = {"kind": "audit", "name": "audit", "title": f"Audit {number}", "question": "Which?", "paper": "trueness"}
    store.record_run("audit", key, about)
    return key


@pytest.fixture
def store(tmp_path):
    made, _ = audit_store(tmp_path / "s", strips(5))
    return made


@pytest.fixture
def parsed(monkeypatch):
    """How often audits were parsed."""
    asked, parse = [], runs.audits_of
    monkeypatch.setattr(runs, "audits_of", lambda table: asked.append(table) or parse(table))
    return asked


def test_every_audit_is_read_once(store, parsed):
    for number in range(4):
        add(store, number)
    site = Site({"s": store})
    until = time.monotonic() + 60
    while b"being read" in site.page("index.html").content and time.monotonic() < until:
        time.sleep(0.05)
    assert len(parsed) == 5
    assert b"model 3" in site.page("index.html").content
    add(store, 4)
    assert b"Audit 4" in site.page("index.html").content
    assert len(parsed) == 6


def test_the_page_is_the_same_until_something_changes(store):
    site = Site({"s": store})
    first = site.page("index.html")
    assert site.page("index.html") is first
    watched = ProgressFile(store, "mine", "Mine")
    watched.planned(10, 2)
    second = site.page("index.html")
    assert b"2 of 10 tasks" in second.content
    watched.planned(10, 3)
    assert b"3 of 10 tasks" in site.page("index.html").content
    key = add(store, 1)
    assert b"Audit 1" in site.page("index.html").content
    (store.objects / key).rename(store.path / "away")
    assert b"Audit 1" not in site.page("index.html").content


def test_an_audit_whose_object_was_mended_is_read_again(store):
    key = add(store, 1)
    content = (store.objects / key / "audits.parquet").read_bytes()
    (store.objects / key / "audits.parquet").write_bytes(b"x" * len(content))
    site = Site({"s": store})
    assert b"does not match its digest" in site.page("index.html").content
    (store.objects / key).rename(store.path / "away")
    add(store, 1)
    assert store.verify(key)
    assert b"does not match its digest" not in site.page("index.html").content


def test_a_page_does_not_wait_for_many_audits_and_an_export_does(store, monkeypatch):
    for number in range(6):
        add(store, number)
    read = index.Index._read
    monkeypatch.setattr(index, "_PATIENCE", 0.02)
    monkeypatch.setattr(index.Index, "_read", lambda self, run: (time.sleep(0.02), read(self, run)))
    live = Site({"s": store})
    assert b"being read" in live.page("index.html").content
    until = time.monotonic() + 60
    while b"being read" in live.page("index.html").content and time.monotonic() < until:
        time.sleep(0.05)
    assert live.page("index.html").content.count(b"may be shown: ") == 7
    assert Site({"s": store}, live=False).page("index.html").content.count(b"may be shown: ") == 7


def test_many_ask_while_a_run_writes(store):
    for number in range(5):
        add(store, number)
    running = Running([store])
    ended = threading.Event()

    def write():
        watched = ProgressFile(store, "mine", "Mine")
        for number in range(1000):
            if ended.is_set():
                return
            watched.planned(1000, number)
            if number % 20 == 0:
                add(store, 100 + number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with ThreadPoolExecutor(20) as pool:
            found = list(pool.map(lambda _: running.ask("")[0], range(100)))
    finally:
        ended.set()
        writer.join()
        running.stop()
    assert found == [200] * 100
