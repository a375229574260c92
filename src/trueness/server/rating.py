"""The pages of a rating: one page for all questions, so that no address tells anything; answers alone are taken.

Raters are told apart by a cookie with a random number.
"""

from __future__ import annotations

import json
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from trueness.browser.site import MEDIA, POLICY
from trueness.engine import StoreError
from trueness.ratings import Mode
from trueness.ratings.session import AnswerError, Session, is_rater, new_rater
from trueness.report.page import environment, template

_COOKIE = "trueness-rater"
_LARGEST = 1 << 16
"""Bytes of an answer."""
_YEAR = 365 * 24 * 3600
HEADINGS: dict[Mode, tuple[str, str, str]] = {
    "pairwise": (
        "Which explanation is better?",
        "A model has read a text. Two explanations mark the words that it is said to have decided by. Choose the one "
        "that you find better; you are not told who made them.",
        "Keys: 1 left, 2 right, 3 neither.",
    ),
    "simulation": (
        "What does the model say?",
        "Read the text. Sometimes words are marked by which the model is said to have decided. Foretell the model's "
        "answer, not your own.",
        "Keys: 1 the first answer, 2 the second, and so on.",
    ),
    "highlight": (
        "Which words speak for it?",
        "A model has read a text and decided. Choose the words that you think speak for its answer.",
        "Keys: Tab goes to the next word, the space bar chooses it.",
    ),
}


def rating_routes(session: Session) -> list[BaseRoute]:
    """What a server of a rating answers."""
    heading, explanation, keys = HEADINGS[session.design.mode]
    page = environment("trueness.ratings").get_template("rate.html")
    shown = page.render(policy=POLICY, heading=heading, explanation=explanation, keys=keys)
    files = {
        "rate.css": template("report.css") + template("words.css") + template("rate.css", "trueness.ratings"),
        "rate.js": template("rate.js", "trueness.ratings"),
    }

    async def start(request: Request) -> Response:
        answer = Response(shown, media_type=MEDIA["html"])
        return answer if is_rater(_rater(request)) else _as(new_rater(), answer)

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            return Response("There is no such page.", 404, media_type="text/plain")
        return Response(files[name], media_type=MEDIA[name.rsplit(".", 1)[1]])

    async def following(request: Request) -> Response:
        return await _answered(session, _rater(request))

    async def take(request: Request) -> Response:
        rater = _rater(request)
        if not is_rater(rater):
            return await _answered(session, rater)
        try:
            given = await _body(request)
            await run_in_threadpool(session.answer, rater, given.get("id"), given.get("answer"))
        except AnswerError as error:
            return JSONResponse({"fault": str(error)}, 409)
        except StoreError as error:
            return JSONResponse({"fault": str(error)}, 507)
        return await _answered(session, rater)

    async def another(_: Request) -> Response:
        rater = new_rater()
        return _as(rater, await _answered(session, rater))

    async def home(_: Request) -> Response:
        return RedirectResponse("/rate/", 303)

    return [
        Route("/", home),
        Route("/rate/", start),
        Route("/rate/next.json", following),
        Route("/rate/answers", take, methods=["POST"]),
        Route("/rate/another", another, methods=["POST"]),
        Route("/rate/{name}", file),
    ]


async def _answered(session: Session, rater: str) -> Response:
    if not is_rater(rater):
        return JSONResponse({"fault": "Your number is missing; open the page again."}, 409)
    return JSONResponse(await run_in_threadpool(session.next, rater))


def _rater(request: Request) -> str:
    return request.cookies.get(_COOKIE, "")


def _as(rater: str, answer: Response) -> Response:
    answer.set_cookie(_COOKIE, rater, httponly=True, samesite="strict", max_age=_YEAR, path="/rate/")
    return answer


async def _body(request: Request) -> dict[str, Any]:
    """What was sent, if it is a JSON object of a likely size."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > _LARGEST:
            raise AnswerError("This answer is too long.")
    try:
        given = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise AnswerError("This is no answer.") from error
    if not isinstance(given, dict):
        raise AnswerError("This is no answer.")
    return given
