"""Who may ask: only this machine's browser that holds the token, at our own address; writes only from our own pages."""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trueness.browser.site import POLICY

HEADERS = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
_REFUSED = "<!doctype html><html lang=en><title>{0} – trueness</title><h1>{0}</h1><p>{1}</p>"
_LONGEST = 4000
"""Characters of an address."""


class Guard:
    """Asks for the token of every request, once in the address and then as a cookie, and sets the same headers on all.

    The name in the Host header must be ours: a page elsewhere whose name was pointed here is refused.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        request = Request(scope)
        answer = self._refusal(request)
        await (answer or self.app)(scope, receive, headed)

    def _refusal(self, request: Request) -> Response | None:
        if not request.scope.get("query_string", b"").isascii():
            return refusal(400, "The address cannot be read", "Open the address that trueness printed.")
        port = (request.scope.get("server") or ("", 0))[1]
        host = request.headers.get("host", "")
        if host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return refusal(421, "This name is not ours", "Open the address that trueness printed.")
        if len(str(request.url)) > _LONGEST:
            return refusal(414, "The address is too long", "No page has such an address.")
        if request.method not in ("GET", "HEAD", "POST"):
            return refusal(405, "This cannot be done", "Pages can be read; ratings can be sent.")
        return self._unknown(request, port) or _foreign(request, host)

    def _unknown(self, request: Request, port: int) -> Response | None:
        """Of who does not hold the token; who brings it in the address gets it as a cookie."""
        # Cookies do not know ports: each server has its own.
        name = "trueness-" + hashlib.sha256(f"{port}{self.token}".encode()).hexdigest()[:12]
        given = dict(parse_qsl(request.url.query, keep_blank_values=True))
        if request.method == "GET" and self._right(given.get("token", "")):
            kept = urlencode({key: value for key, value in given.items() if key != "token"})
            path = "/" + request.url.path.lstrip("/")  # two slashes would begin another machine's name
            answer = RedirectResponse(path + (f"?{kept}" if kept else ""), 303)
            answer.set_cookie(name, self.token, httponly=True, samesite="strict")
            return answer
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self._right(request.cookies.get(name, "")) or self._right(bearer):
            return None
        why = "Open the address that trueness printed: it ends in a token. It holds until that command ends."
        return refusal(401, "The token is missing", why)

    def _right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())


def _foreign(request: Request, host: str) -> Response | None:
    """Of what is sent by a page that is not ours."""
    origin = urlsplit(request.headers.get("origin", ""))
    if request.method != "POST" or (origin.scheme == "http" and origin.netloc == host):
        return None
    return refusal(403, "This was sent from elsewhere", "Ratings are taken from our own pages alone.")


def refusal(status: int, title: str, why: str) -> Response:
    """A page that says why there is none; its words are ours, not the address's."""
    return Response(_REFUSED.format(title, why), status, media_type="text/html; charset=utf-8")
