"""Logging in: the right secret opens a session, a wrong one says so and opens nothing."""

from __future__ import annotations

import time
from typing import Any

import pytest

from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from tests.annotation_ui.app.conftest import button


def _login(ratings: str) -> None:
    from annotation_ui.app.login import show_login
    from annotation_ui.ratings.database import RatingsDB

    with RatingsDB(ratings) as db:
        show_login(db)


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


@pytest.mark.parametrize("secret", ["guess", "ann", "' OR 1=1 --", "x" * 5000, "\U0001f600"])
def test_a_wrong_one_waits_says_so_and_opens_nothing(db: RatingsDB, page: Any, secret: str) -> None:
    people.invite(db, "ann")
    page.text_input[0].set_value(secret)
    began = time.monotonic()
    button(page, "Log in").click().run()
    assert time.monotonic() - began >= 0.5, "guessing is slow"
    assert len(page.error) == 1 and secret not in page.error[0].value
    assert "token" not in page.session_state and sessions(db) == 0


def test_an_empty_secret_is_nobody_s(db: RatingsDB, page: Any) -> None:
    people.invite(db, "ann")
    button(page, "Log in").click().run()
    assert len(page.error) == 1 and sessions(db) == 0


def test_an_earlier_secret_does_not_work_any_more(db: RatingsDB, page: Any) -> None:
    old = people.invite(db, "ann")
    people.invite(db, "ann")
    page.text_input[0].set_value(old)
    button(page, "Log in").click().run()
    assert len(page.error) == 1 and sessions(db) == 0


def test_the_secret_is_typed_unseen(page: Any) -> None:
    assert page.text_input[0].proto.type == page.text_input[0].proto.PASSWORD
