"""Pages of a site as answers: made once, kept while they may be asked for again, compressed."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from trueness.browser.site import Page, Site

_KEPT = 128
_SMALL = 1000
"""Bytes below which compressing is not worth it."""


@dataclass(frozen=True)
class _Ready:
    page: Page
    tag: str
    packed: bytes | None


class Pages:
    """Answers of a site; what never changes is made once, however many ask at the same time."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._kept: OrderedDict[str, _Ready] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[str, threading.Lock] = {}

    async def answer(self, request: Request) -> Response:
        """The page of a request's address."""
        ready = await run_in_threadpool(self._ready, request.path_params["address"])
        headers = {"ETag": ready.tag, "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == ready.tag:
            return Response(status_code=304, headers=headers)
        content = ready.page.content
        if ready.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            content, headers = ready.packed, {**headers, "Content-Encoding": "gzip"}
        return Response(content, ready.page.status, headers, ready.page.media)

    def _ready(self, address: str) -> _Ready:
        with self._lock:
            kept = self._kept.get(address)
            if kept is not None and kept.page.lasting:
                self._kept.move_to_end(address)
                return kept
            making = self._making.setdefault(address, threading.Lock())
        try:
            with making:
                kept = self._kept.get(address)
                if kept is not None and kept.page.lasting:
                    return kept
                page = self.site.page(address)
                if kept is not None and kept.page is page:
                    return kept
                packed = gzip.compress(page.content, 5, mtime=0) if len(page.content) > _SMALL else None
                ready = _Ready(page, f'"{hashlib.sha256(page.content).hexdigest()[:32]}"', packed)
                if page.status == 200:
                    with self._lock:
                        self._kept[address] = ready
                        while len(self._kept) > _KEPT:
                            self._kept.popitem(last=False)
                return ready
        finally:
            with self._lock:
                self._making.pop(address, None)
