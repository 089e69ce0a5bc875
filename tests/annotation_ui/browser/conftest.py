"""The app in a browser: one server and one browser for all tests of a file; each test has a new ratings file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from annotation_ui.ratings.database import RatingsDB
from tests.support.app import served_app as served
from tests.support.app.served_app import App

Visit = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    served.need_browser()
    with served.browser() as one:
        yield one


@pytest.fixture(scope="module")
def app(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with served.served(tmp_path_factory.mktemp("app") / "ratings.sqlite") as one:
        yield one


@pytest.fixture
def db(app: App) -> Iterator[RatingsDB]:
    """An empty file in the place where the server looks for it."""
    if app.process is None:  # a test that failed has killed it
        app.start()
    for file in app.ratings.parent.glob(f"{app.ratings.name}*"):
        file.unlink()
    with RatingsDB(app.ratings, create=True) as ratings:
        yield ratings


@pytest.fixture(scope="module")
def contexts() -> dict[str, Any]:
    """Windows by their options; each keeps what it has loaded of the app."""
    return {}


@pytest.fixture
def visit(app: App, browser: Any, contexts: dict[str, Any]) -> Iterator[Visit]:
    """A page for the owner of a secret: at a desk unless told otherwise, in a window where nobody is logged in."""

    def opened(secret: str, **options: Any) -> Any:
        options = {"viewport": {"width": 1366, "height": 768}} | options
        key = json.dumps(options)
        if key not in contexts:
            contexts[key] = browser.new_context(**options)
        contexts[key].clear_cookies()
        page = contexts[key].new_page()
        served.enter(page, app, secret)
        return page

    yield opened
    for context in contexts.values():
        for page in context.pages:
            page.close()


def remembered(page: Any) -> None:
    """Wait until the window has the session's cookie: before, another address asks for the secret again."""
    while not any(cookie["name"].startswith("scedit_") for cookie in page.context.cookies()):
        page.wait_for_timeout(50)
