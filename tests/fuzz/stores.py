"""Targets of what lies in stores, of what is asked of a server, and of the settings of audits."""

import asyncio
import contextlib
import functools
import json
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hypothesis import strategies as st

from tests.audit import tiny
from tests.browser.stores import audit_store, strips
from tests.fuzz.inputs import changed_json, mangled, texts, values
from tests.fuzz.targets import RefusedError, Target
from tests.inline import Here

# Stores


@functools.cache
def kept() -> Path:
    return audit_store(Path(tempfile.mkdtemp()) / "store", strips(3))[0].path


def spoiled_stores():
    """One file of a store changed, signed again or not, or put in the place of something else."""
    names = sorted(str(path.relative_to(kept())) for path in kept().rglob("*") if path.is_file())

    def change(name):
        content = (kept() / name).read_bytes()
        some = mangled(content)
        if name.endswith(".json"):
            some = changed_json(content.decode()).map(str.encode) | some
        how = st.sampled_from(["write", "write", "sign", "sign", "link", "pipe", "folder", "remove"])
        return st.tuples(st.just(name), some, how)

    return st.sampled_from(names).flatmap(change)


def take_store(given, folder):
    import trueness as tn
    from trueness.browser.site import Site
    from trueness.engine import DamagedObjectError, Store

    name, content, how = given
    shutil.copytree(kept(), folder / "store")
    put(folder / "store" / name, content, how)
    store = Store.open(folder / "store")
    site = Site({"store": store})
    statuses = {site.page(address).status for address in (*site.addresses(), "index.html", "store/../index.html")}
    assert statuses <= {200, 404, 410, 422}
    for key in list(store.keys()):
        with contextlib.suppress(DamagedObjectError):
            store.verify(key)
    try:
        tn.rating("audit", store=store.path)
    except DamagedObjectError as error:
        raise RefusedError from error


def put(path, content, how):
    from trueness.engine.encoding import bytes_digest, digest

    path.unlink()
    if how == "link":
        path.symlink_to("/dev/zero")
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
    elif how != "remove":
        path.write_bytes(content)
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        if how == "sign" and path.parent.parent.name == "objects":
            about = path.with_name("meta.json")
            meta = json.loads(about.read_text())
            if path != about:
                meta["payloads"][path.name] = {"digest": bytes_digest(content), "bytes": len(content)}
            meta.pop("digest", None)
            about.write_text(json.dumps({**meta, "digest": digest(meta)}))


# Addresses


@functools.cache
def site():
    from trueness.browser.site import Site
    from trueness.engine import Store
    from trueness.server.app import application

    found = Site({"store": Store.open(kept())})
    return application(found, "token"), list(found.addresses())


def requests():
    key = next(iter(sorted((kept() / "objects").iterdir()))).name
    parts = st.sampled_from(["store", "..", "index.html", key, "texts.json", "audit-1.html", f"task-{key}.html", "%2e"])
    addresses = st.deferred(lambda: st.sampled_from(site()[1])) | st.lists(parts | texts, max_size=4).map("/".join)
    query = st.sampled_from([b"", b"token=token", b"token=x", b"a=%", b"token=" + b"x" * 5000]) | st.binary(max_size=20)
    names = st.sampled_from([b"host", b"cookie", b"authorization", b"if-none-match", b"origin", b"range"])
    headers = st.lists(
        st.tuples(names, st.sampled_from([b"127.0.0.1:9", b"Bearer token", b"\xff"]) | st.binary(max_size=9))
    )
    return st.tuples(
        st.sampled_from(["GET", "GET", "HEAD", "POST", "PUT", ""]), addresses, query, headers, st.booleans()
    )


def take_request(given, folder):
    method, address, query, headers, known = given
    path = "/" + address
    scope = {
        **{"type": "http", "http_version": "1.1", "method": method, "scheme": "http", "root_path": ""},
        **{"path": path, "raw_path": path.encode(errors="replace"), "query_string": query},
        **{"server": ("127.0.0.1", 9), "client": ("127.0.0.1", 1)},
        "headers": [*([(b"host", b"127.0.0.1:9"), (b"authorization", b"Bearer token")] if known else []), *headers],
    }
    said = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        said.append(message)

    with ThreadPoolExecutor(1) as thread:  # a browser's tests may have left a loop running in this one
        thread.submit(asyncio.run, site()[0](scope, receive, send)).result()
    status = said[0]["status"]
    assert status < 500, status
    if not known and status == 200:
        assert (b"authorization", b"Bearer token") in headers, "a page is shown without the token"
    if status >= 400:
        raise RefusedError


# Settings of audits


@functools.cache
def audited() -> Path:
    folder = Path(tempfile.mkdtemp())
    tiny.write_csv(folder / "reviews.csv", tiny.make_rows(60))
    (folder / "fuzzed.py").write_text(tiny.PREDICT)
    return folder


def audit_settings():
    keys = st.sampled_from(
        [*tiny.PLANTED, "budget", "explainers", "split", "texts", "model", "seed", "columns", "store"]
    )
    value = texts | values.map(lambda one: json.dumps(one, default=str))
    return st.lists(st.tuples(keys | st.text(max_size=6), value), min_size=1, max_size=3)


class _PlannedError(Exception):
    """Enough was seen: the work would begin."""


def take_audit(given, folder):
    import trueness as tn
    from trueness.cli.options import settings_of

    def planned(_):
        raise _PlannedError

    budget = next((value for key, value in given if key == "budget"), None)
    settings = settings_of([f"{key}={value}" for key, value in given if key != "budget"], tn.audit)
    how = {**tiny.SMALLEST, **settings}
    with contextlib.suppress(_PlannedError):
        place = audited()
        asked = {"explainers": ["leave-one-out"], "budget": budget, "planned": planned, "executor": Here()}
        tn.audit(f"{place}/fuzzed.py:predict", place / "reviews.csv", store=place / "runs", **asked, **how)


TARGETS = {
    "stores": Target(st.deferred(spoiled_stores), take_store, 6),
    "addresses": Target(st.deferred(requests), take_request, 16),
    "settings of audits": Target(st.deferred(audit_settings), take_audit, 8),
}
