"""The server: who may ask, what an address can do, many at once, stores that change or are broken."""

import asyncio
import json
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.browser.stores import HOSTILE, audit_store, strips
from trueness.browser.export import export
from trueness.browser.site import Site
from trueness.engine import ProgressFile, Store, read_progress
from trueness.errors import UserError
from trueness.server.app import Server, application, named

OURS = "small"


def test_nothing_is_told_without_the_token(running, small):
    for address in ("", f"{OURS}/{small[1]}/index.html", "assets/site.css", "nothing"):
        status, headers, content = running.ask(address, token=False)
        assert status == 401
        assert b"token" in content
        assert b"Audit of a model" not in content
        assert "script-src 'self'" in headers["content-security-policy"]
    assert running.ask("?token=wrong", token=False)[0] == 401


def test_the_token_becomes_a_cookie_that_pages_elsewhere_cannot_use(running):
    status, headers, _ = running.ask(f"/evil.example/?token={running.server.token}&a=1", token=False)
    assert status == 303
    assert headers["location"] == "/evil.example/?a=1"
    assert "HttpOnly" in headers["set-cookie"]
    assert "samesite=strict" in headers["set-cookie"].lower()
    cookie = headers["set-cookie"].partition(";")[0]
    assert running.ask("", token=False, Cookie=cookie)[0] == 200


def test_an_address_whose_question_is_no_text_is_refused(running, small):
    scope = {
        **{"type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "path": "/", "root_path": ""},
        **{"raw_path": b"/", "query_string": b"\xdd\xf2", "server": ("127.0.0.1", 9), "client": ("127.0.0.1", 1)},
        "headers": [(b"host", b"127.0.0.1:9"), (b"authorization", b"Bearer token")],
    }
    said = []

    async def send(message):
        said.append(message)

    asked = application(Site({OURS: small[0]}), "token")(scope, None, send)
    with ThreadPoolExecutor(1) as thread:  # a browser's tests leave a loop running in this one
        thread.submit(asyncio.run, asked).result()
    assert said[0]["status"] == 400


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:80"])
def test_other_names_for_this_machine_are_refused(running, host):
    assert running.ask("", Host=host)[0] == 421


def test_pages_say_that_nothing_else_may_run(running, small):
    for address in ("", f"{OURS}/{small[1]}/texts.html", f"{OURS}/{small[1]}/audit-1.html", "no/such/page"):
        _, headers, content = running.ask(address)
        policy = headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert b"<script>" not in content
        assert b" style=" not in content
        assert b" onclick" not in content


def test_every_page_is_there_and_says_what_it_should(running, small):
    store, key = small
    site = Site({OURS: store})
    addresses = list(site.addresses())
    assert f"{OURS}/{key}/texts.json" in addresses
    for address in addresses:
        status, headers, content = running.ask(address)
        assert status == 200, address
        again, _, _ = running.ask(address, **{"If-None-Match": headers["etag"]})
        assert again == 304
    assert b"Audit of a model" in running.ask("")[2]
    status, _, content = running.ask(f"{OURS}/{key}/texts.json")
    assert len(json.loads(content)["rows"]) == 60
    task = next(iter(store.get(key).meta["inputs"]["audits"]))
    assert b"audit/verdict" in running.ask(f"{OURS}/task-{task}.html")[2]


SITES = {}
PARTS = st.sampled_from(
    [
        "..",
        ".",
        "%2e%2e",
        "etc",
        "passwd",
        "%00",
        "%",
        "assets",
        OURS,
        "objects",
        "~",
        "meta.json",
        "logs",
        "",
        "a" * 300,
        "<script>",
        "%3Cscript%3E",
        "\\",
        "task-" + "0" * 40 + ".html",
        "0" * 40,
        "index.html",
        "figure-.html",
        "audit-0.html",
        "texts.json",
        "é",
    ]
)


def site_of(small):
    return SITES.get(small[1]) or SITES.setdefault(small[1], Site({OURS: small[0]}))


@settings(max_examples=150)
@given(st.lists(PARTS | st.text(max_size=6), max_size=7).map("/".join))
def test_no_address_leads_out_of_the_store_or_to_a_traceback(small, address):
    page = site_of(small).page(address)
    assert page.status in (200, 404)
    assert b"Traceback" not in page.content
    assert b"root:" not in page.content
    assert b"<script>" not in page.content
    if page.status == 404:
        assert b"There is no such page" in page.content


@pytest.mark.parametrize(
    "address",
    [
        "%00",
        "..%2f..%2f..%2fetc/passwd",
        "../../../etc/passwd",
        "%ff%fe",
        "a" * 5000,
        "?token=%00",
        "x?" + "y=1&" * 300,
    ],
)
def test_malformed_addresses_get_a_page(running, address):
    status, _, content = running.ask(address)
    assert status in (200, 400, 401, 404, 414)
    assert b"root:" not in content
    assert b"Traceback" not in content


def test_writing_is_refused_where_nothing_is_rated(running):
    assert running.ask("", data=b"{}", Origin=running.base)[0] in (404, 405)
    assert running.ask("", data=b"{}", Origin="http://evil.example")[0] == 403
    assert running.ask("", data=b"{}")[0] == 403


def test_the_index_tells_the_verdicts_of_audits(running):
    _, _, content = running.ask("")
    assert b"may be shown: " in content


def test_who_comes_early_waits(tmp_path):
    """The address is told before pages are served: nobody is refused in between."""
    server = Server({"s": Store.open(tmp_path / "store", create=True)})
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as guest:
        assert guest.getpeername()[1] == server.port
    server._socket.close()


def test_fifty_clients_at_once(running, small):
    addresses = [
        "",
        *(f"{OURS}/{small[1]}/{name}" for name in ("index.html", "texts.json", "plots.json", "audit-1.html")),
    ]
    with ThreadPoolExecutor(50) as pool:
        found = list(pool.map(lambda number: running.ask(addresses[number % 5])[0], range(150)))
    assert found == [200] * 150


def test_a_damaged_or_vanished_result_is_a_page(tmp_path):
    store, key = audit_store(tmp_path / "store", strips(3))
    site = Site({"s": store})
    (store.objects / key / "result.json").write_text("{}")
    page = site.page(f"s/{key}/index.html")
    assert page.status == 410
    assert b"damaged" in page.content
    os.rename(store.objects / key, store.path / "gone")
    assert site.page(f"s/{key}/index.html").status == 404
    assert site.page("index.html").status == 200


def test_records_that_are_none_are_passed_over(tmp_path):
    store, key = audit_store(tmp_path / "store", strips(3))
    for number, text in enumerate(
        ["{", "[]", '{"study": 1}', json.dumps({"study": {}, "result": "../..", "finished": 1})]
    ):
        (store.path / "runs" / f"audit.{number}.json").write_text(text)
    (store.path / "runs" / "other.json").write_text(
        json.dumps({"study": {"kind": "<b>no"}, "result": key, "finished": 9e9})
    )
    site = Site({"s": store})
    assert site.page("index.html").status == 200
    page = site.page(f"s/{key}/index.html")
    assert page.status == 422
    assert b"<b>no" not in page.content


def test_hostile_texts_stay_text(running, hostile):
    for name in ("index.html", "texts.html", "plots.html", "audit-1.html", "plots.json", "texts.json"):
        status, _, content = running.ask(f"hostile/{hostile[1]}/{name}")
        assert status == 200
        if name.endswith(".html"):
            assert not [word for word in HOSTILE[:3] if word.encode("utf-8", "replace") in content]
    assert b"<script>broken" not in running.ask("")[2]


def test_progress_is_told_while_a_study_runs(tmp_path):
    class Task:
        key = "1" * 40

        def __str__(self):
            return "my/task(<b>)"

    store = Store.open(tmp_path / "s", create=True)
    watched = ProgressFile(store, "mine", "My <i>study</i>")
    watched.planned(10, 2)
    watched.written = 0
    watched.finished(Task(), 7.0)
    site = Site({"s": store})
    page = site.page("index.html").content.decode()
    assert "3 of 10 tasks, 2 of them in the store before; about 7 s left" in page
    assert "My &lt;i&gt;study" in page
    assert "my/task(&lt;b&gt;)" in page
    store.write_log("1" * 40, "Traceback: <oh>")
    assert "Traceback: &lt;oh&gt;" in site.page(f"s/task-{'1' * 40}.html").content.decode()
    assert "1 failed tasks with a log" in site.page("index.html").content.decode()
    with watched:
        pass
    assert [one["state"] for one in read_progress(store)] == ["finished"]
    dead = json.loads(watched.path.read_bytes()) | {"state": "running", "process": 2**22 + 1, "written": time.time()}
    watched.path.write_text(json.dumps(dead))
    assert [one["state"] for one in read_progress(store)] == ["stopped"]


def test_the_export_has_the_same_pages_and_replaces_only_its_own(tmp_path, small, running):
    store, key = small
    assert export({OURS: store}, tmp_path / "out") > 10
    again = export({OURS: store}, tmp_path / "out", texts=False)
    assert not (tmp_path / "out" / OURS / key / "texts.html").exists()
    assert export({OURS: store}, tmp_path / "out") == again + 2
    assert (tmp_path / "out" / OURS / key / "texts.json").read_bytes() == running.ask(f"{OURS}/{key}/texts.json")[2]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("x")
    with pytest.raises(UserError, match="no earlier export"):
        export({OURS: store}, tmp_path / "mine")


def test_without_texts_no_word_of_the_data_is_shown(small):
    store, key = small
    site = Site({OURS: store}, texts=False)
    assert site.page(f"{OURS}/{key}/texts.json").status == 404
    for address in site.addresses():
        assert b"openly" not in site.page(address).content, address


def test_names_of_stores_can_stand_in_addresses(tmp_path):
    stores = [Store.open(tmp_path / name, create=True) for name in ("Über uns", "a/runs", "b/runs", "assets")]
    assert list(named(stores)) == ["ber-uns", "runs", "runs-2", "assets-store"]


def test_a_taken_port_is_said(running):
    with pytest.raises(UserError, match="choose another with --port"):
        Server({}, running.server.port)
