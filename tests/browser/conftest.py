"""A server in a thread, and a real browser where there is one."""

import os
import shutil
import threading
import time
import urllib.request

import pytest

from tests.browser.stores import audit_store, hostile_strips, strips
from trueness.server.app import Server, named

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Running:
    """A server in a thread of this process."""

    def __init__(self, stores, **how):
        self.server = Server(named(stores), **how)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        self.base = f"http://127.0.0.1:{self.server.port}"
        for _ in range(200):
            if self.server._server is not None and self.server._server.started:
                break
            time.sleep(0.05)

    def ask(self, address="", *, token=True, data=None, **headers):
        """Status, headers and content."""
        request = urllib.request.Request(f"{self.base}/{address}", data=data, headers=headers)
        if token:
            request.add_header("Authorization", f"Bearer {self.server.token}")
        try:
            with urllib.request.build_opener(NoRedirect).open(request, timeout=30) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    def stop(self):
        self.server.stop()
        self.thread.join(10)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """A store with an audit of 60 texts; its key."""
    return audit_store(tmp_path_factory.mktemp("browser") / "small", strips(60))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    return audit_store(
        tmp_path_factory.mktemp("browser") / "hostile", hostile_strips(), title="<script>broken</script>"
    )


@pytest.fixture(scope="session")
def running(small, hostile):
    server = Running([small[0], hostile[0]])
    yield server
    server.stop()


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        if os.environ.get("TRUENESS_NEEDS_CHROMIUM"):
            pytest.fail("These tests need a browser, and there is none: install Debian's chromium.")
        pytest.skip("There is no Chromium on this machine; install Debian's chromium to drive the pages in one.")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright drives the browser; it is in the extra dev."
    )
    with playwright.sync_playwright() as driver:
        # In a container there are no rights for a sandbox of one's own.
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A page that fails its test where it logs an error, throws, or asks another machine for anything."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    faults = []
    opened.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on(
        "request",
        lambda asked: (
            faults.append(asked.url)
            if not asked.url.startswith(("http://127.0.0.1:", "file:", "data:", "blob:"))
            else None
        ),
    )
    opened.set_default_timeout(10_000)
    yield opened
    context.close()
    assert faults == []
