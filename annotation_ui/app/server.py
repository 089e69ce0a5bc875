"""The server of the rating app: Streamlit's own, with a session cookie that no script reads, drafts, and no frames.

``python -m annotation_ui.app.server OPTIONS RATINGS [SNAPSHOT]``; the options are Streamlit's, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from annotation_ui.app.widgets import cookie_name
from annotation_ui.campaigns.campaign import task_of
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import keep_draft
from schemas.core.errors import UserError

SESSION_PATH, DRAFT_PATH = "/scedit/session", "/scedit/draft"
LARGEST = 64_000  # bytes of a draft
_HEADERS = {
    "x-frame-options": "DENY",
    "content-security-policy": "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}


async def _refuse_frames(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    """Add headers to a response: no page of the app is shown inside another site's page."""
    response = await answer(request)
    response.headers.update(_HEADERS)
    return response


FRAME_REFUSAL = Middleware(BaseHTTPMiddleware, dispatch=_refuse_frames)


def routes(ratings: Path) -> list[Route]:
    """The app's own addresses beside Streamlit's: the session's cookie, and drafts."""
    return [
        Route(SESSION_PATH, partial(_session, ratings), methods=["POST", "DELETE"]),
        Route(DRAFT_PATH, partial(_draft, ratings), methods=["POST"]),
    ]


async def _session(ratings: Path, request: Request) -> Response:
    if not _is_own_request(request):
        return PlainTextResponse("not from a page of the app", 403)
    response = Response(status_code=204)
    if request.method == "DELETE":
        response.delete_cookie(cookie_name(ratings), path="/", httponly=True, samesite="strict")
        return response
    body = await _body(request)
    token = str(body.get("token", "")) if body else ""

    def known() -> bool:
        with RatingsDB(ratings) as db:
            return raters.authenticate(db, token) is not None

    try:
        if not await run_in_threadpool(known):
            return PlainTextResponse("no such session", 401)
    except UserError as error:
        return PlainTextResponse(error.what, 503)
    _remember(response, ratings, token, secure=bool(body and body.get("secure")))
    return response


async def _draft(ratings: Path, request: Request) -> Response:
    body = await _body(request) if _is_own_request(request) else None
    if body is None or not isinstance(body.get("answers"), dict):
        return PlainTextResponse("no draft of this app", 400)
    token = request.cookies.get(cookie_name(ratings), "")

    def save_draft() -> Response:
        with RatingsDB(ratings) as db:
            person = raters.authenticate(db, token)
            if person is None or person.name != body.get("person"):
                return PlainTextResponse("no such session", 401)
            campaign, item = (str(body.get(k)).encode(errors="replace").decode() for k in ("campaign", "item"))
            form = task_of(db, campaign).form
            keep_draft(db, campaign, person.name, item, body["answers"], form)
        return Response(status_code=204)

    try:
        response = await run_in_threadpool(save_draft)
    except UserError as error:
        return PlainTextResponse(error.what, 503)
    if response.status_code == 204:
        _remember(response, ratings, token, secure=bool(body.get("secure")))
    return response


def _is_own_request(request: Request) -> bool:
    """Whether a page of the app asks: another site cannot set this header."""
    return request.headers.get("x-scedit") == "1"


async def _body(request: Request) -> dict[str, Any] | None:
    """The JSON object that was sent; None where it is none, or is too long (it is read no further then)."""
    sent = bytearray()
    async for part in request.stream():
        sent += part
        if len(sent) > LARGEST:
            return None
    try:
        body = json.loads(sent)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _remember(response: Response, ratings: Path, token: str, *, secure: bool) -> None:
    response.set_cookie(
        cookie_name(ratings), token, max_age=int(raters.SESSION.total_seconds()), path="/", httponly=True,
        samesite="strict", secure=secure,
    )  # fmt: skip


def main() -> None:
    """Serve until stopped."""
    from streamlit.starlette import App

    options = json.loads(sys.argv.pop(1))
    ratings = Path(sys.argv[1])
    page = Path(__file__).with_name("main.py")
    App(page, routes=routes(ratings), middleware=[FRAME_REFUSAL]).run(config=options)


if __name__ == "__main__":
    main()
