"""The application, and how it is run on this machine."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trueness.browser.site import Site
from trueness.engine import Store
from trueness.errors import UserError, install

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from trueness.ratings.session import Session

HOST = "127.0.0.1"


def _needed() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UserError(f"The browser needs the serve extra: {install('report,serve')}.") from error


def application(site: Site, token: str, session: Session | None = None) -> Starlette:
    """All pages behind the guard; with a session those of its rating alone, since others would tell the methods."""
    _needed()
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.routing import BaseRoute, Route

    from trueness.server.guard import Guard
    from trueness.server.pages import Pages

    routes: list[BaseRoute]
    if session is None:
        routes = [Route("/{address:path}", Pages(site).answer, methods=["GET", "HEAD"])]
    else:
        from trueness.server.rating import rating_routes

        routes = rating_routes(session)
    faults = {Exception: _unexpected, 405: _refused, 404: _refused}
    return Starlette(routes=routes, middleware=[Middleware(Guard, token=token)], exception_handlers=faults)


async def _unexpected(_: Request, __: Exception) -> Response:
    """An error of ours: the page says that there was one, the terminal which."""
    return _fault(500, "This is an error of trueness", "What went wrong stands in the terminal that serves this page.")


async def _refused(_: Request, error: Exception) -> Response:
    return _fault(getattr(error, "status_code", 404), "This cannot be done", "Pages can be read; ratings can be sent.")


def _fault(status: int, title: str, why: str) -> Response:
    from trueness.server.guard import refusal

    return refusal(status, title, why)


@dataclass
class Server:
    """A server that is ready to run: its port is taken already, so that its address can be told."""

    stores: Mapping[str, Store]
    port: int = 0
    texts: bool = True
    session: Session | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    def __post_init__(self) -> None:
        _needed()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((HOST, self.port))
        except OSError as error:
            self._socket.close()
            raise UserError(
                f"Port {self.port} cannot be taken ({error.strerror}); choose another with --port."
            ) from error
        self._socket.listen()  # who comes before `run` waits instead of being refused
        self.port = self._socket.getsockname()[1]
        self._server: uvicorn.Server | None = None

    @property
    def address(self) -> str:
        """Where a person begins, with the token."""
        return f"http://{HOST}:{self.port}/{'rate/' if self.session else ''}?token={self.token}"

    def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Serve until interrupted, or until `stop`."""
        import uvicorn

        app = application(Site(self.stores, texts=self.texts), self.token, self.session)
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off")
        self._server = uvicorn.Server(config)
        started()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """End `run`, which may be in another thread."""
        if self._server is not None:
            self._server.should_exit = True


def named(stores: Mapping[str, Store] | list[Store]) -> dict[str, Store]:
    """Stores by names that can stand in addresses: their folders', told apart by a number where they are the same."""
    import re

    found: dict[str, Store] = {}
    for store in stores.values() if isinstance(stores, Mapping) else stores:
        name = re.sub(r"[^a-z0-9]+", "-", store.path.resolve().name.lower()).strip("-") or "store"
        if name in ("assets", "rate"):
            name = f"{name}-store"
        number, chosen = 1, name
        while chosen in found:
            number += 1
            chosen = f"{name}-{number}"
        found[chosen] = store
    return found
