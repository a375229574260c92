"""Pages of a site as answers: made once, kept while they may be asked for again, compressed."""

from __future__ import annotations

import gzip
import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from trueness.browser.site import Page, Site

_KEPT = 128
_LOCKS = 256
"""As many pages can be made at a time; each address has one of them, so that nothing is made twice at once."""
_SMALL = 1000
"""Bytes below which compressing is not worth it."""


@dataclass(frozen=True)
class _Ready:
    page: Page
    tag: str
    packed: bytes | None
    begun: float
    """When it was begun to be made."""


class Pages:
    """Answers of a site; what never changes is made once, however many ask at the same time."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._kept: OrderedDict[str, _Ready] = OrderedDict()
        self._lock = threading.Lock()
        self._making = [threading.Lock() for _ in range(_LOCKS)]

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
        asked = time.monotonic()
        with self._making[hash(address) % _LOCKS]:
            kept = self._kept.get(address)
            # What was begun since then was made for somebody else who asked at the same time.
            if kept is None or not (kept.page.lasting or kept.begun > asked):
                kept = self._made(address, kept)
            if kept.page.status == 200:
                with self._lock:
                    self._kept[address] = kept
                    self._kept.move_to_end(address)
                    while len(self._kept) > _KEPT:
                        self._kept.popitem(last=False)
            return kept

    def _made(self, address: str, before: _Ready | None) -> _Ready:
        begun = time.monotonic()
        page = self.site.page(address)
        if before is not None and before.page is page:
            return replace(before, begun=begun)
        packed = gzip.compress(page.content, 5, mtime=0) if len(page.content) > _SMALL else None
        return _Ready(page, f'"{hashlib.sha256(page.content).hexdigest()[:32]}"', packed, begun)
