"""Logging in: the right secret opens a session, a wrong one says so and opens nothing."""

from __future__ import annotations

import time
from typing import Any

import pytest

from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.raters import identity_of
from curation.store.store import Store
from tests.annotation_ui.app.conftest import Visit, button, pilot
from tests.support.app.served_app import App


def _login(ratings: str, *, ended: bool = False) -> None:
    from annotation_ui.app.main import show_login
    from annotation_ui.ratings.database import RatingsDB

    with RatingsDB(ratings) as db:
        show_login(db, ended=ended)


@pytest.fixture
def page(db: RatingsDB) -> Any:
    testing = pytest.importorskip("streamlit.testing.v1", reason="streamlit is not installed")
    return testing.AppTest.from_function(_login, kwargs={"ratings": str(db.path)}, default_timeout=60).run()


def sessions(db: RatingsDB) -> int:
    return int(db.connection.execute("SELECT count(*) FROM sessions").fetchone()[0])


@pytest.mark.parametrize("padding", ["{}", "  {}\n"])
def test_the_right_secret_opens_one_session_of_its_person(db: RatingsDB, page: Any, padding: str) -> None:
    people.invite(db, "bob")
    secret = people.invite(db, "ann")
    page.text_input[0].set_value(padding.format(secret))
    button(page, "Log in").click().run()
    assert not page.error
    person = people.authenticate(db, page.session_state["token"])
    assert person is not None and person.name == "ann"
    assert page.session_state["remember"] is True, "so that a reload does not ask again"
    assert sessions(db) == 1


@pytest.mark.parametrize("secret", ["", "guess", "ann", "' OR 1=1 --", "x" * 5000, "\U0001f600"])
def test_a_wrong_one_waits_says_so_and_opens_nothing(db: RatingsDB, page: Any, secret: str) -> None:
    people.invite(db, "ann")
    page.text_input[0].set_value(secret)
    began = time.monotonic()
    button(page, "Log in").click().run()
    assert time.monotonic() - began >= 0.5, "guessing is slow"
    assert len(page.error) == 1 and (not secret or secret not in page.error[0].value)
    assert "token" not in page.session_state and sessions(db) == 0


def test_a_session_that_ended_says_so_and_that_the_draft_is_saved(db: RatingsDB, page: Any) -> None:
    testing = pytest.importorskip("streamlit.testing.v1", reason="streamlit is not installed")
    assert not page.warning, "nobody was logged in"
    ended = testing.AppTest.from_function(_login, kwargs={"ratings": str(db.path), "ended": True}, default_timeout=60)
    assert ended.run().warning[0].value.startswith("Your session has ended. Your answers and your draft are saved.")
    ended.session_state["logged-out"] = True
    assert not ended.run().warning, "whoever logged out knows it"


def test_the_secret_is_typed_unseen(page: Any) -> None:
    assert page.text_input[0].proto.type == page.text_input[0].proto.PASSWORD


@pytest.mark.slow
def test_a_personal_link_leads_in_and_the_finish_page_shows_the_code(
    db: RatingsDB, store: Store, visit: Visit, app: App, browser: Any
) -> None:
    url = "https://app.prolific.com/submissions/complete?cc=C1ABCD"
    pilot(db, store, "p01", "bob", task="rate_executability", completion_code="C1ABCD", completion_url=url)
    secret, bob = people.invite(db, "p01"), people.invite(db, "bob")
    for a in db.assignments("pilot", "p01"):
        db.save("pilot", "p01", a.item, {"executability": 3}, form="rate_executability@3")
    page = visit(bob, viewport={"width": 390, "height": 844})  # somebody else rated in this browser before
    page.get_by_text("0 of 12 done").wait_for()
    page.goto(f"{app.url}?invitation={secret}&PROLIFIC_PID=5f1&evil=%3Cscript%3E")
    page.get_by_text("12 of 12 done").wait_for()
    page.get_by_text("Your completion code: C1ABCD").wait_for()
    assert page.get_by_role("link", name="Finish at app.prolific.com").get_attribute("href") == url
    assert secret not in page.url and identity_of(db, "p01") == {"PROLIFIC_PID": "5f1"}
    page.reload()
    page.get_by_text("12 of 12 done").wait_for()  # the session is the link's owner's
    other = browser.new_context().new_page()
    other.goto(f"{app.url}?invitation={secret}&PROLIFIC_PID=other")
    other.get_by_text("belongs to another participant").wait_for()
    other.goto(f"{app.url}?invitation=wrong")
    other.get_by_text("not valid any more").wait_for()
