"""An item's page while the ratings file cannot be read: what is filled in stays, and can be sent again."""

from __future__ import annotations

import sqlite3

import pytest

from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from tests.annotation_ui.app.conftest import pilot
from tests.annotation_ui.app.test_keyboard import last, listening, ready, wait_until
from tests.support.app import served_app as served


@pytest.mark.slow
def test_a_filled_form_outlives_a_file_that_is_away(db: RatingsDB, store: Store) -> None:
    served.need_browser()
    pilot(db, store, "ann", task="filter_question", spans=True)
    secret = people.invite(db, "ann")
    away = db.path.with_name("away.sqlite")
    with served.served(db.path) as app, served.browser() as browser:
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        served.enter(page, app, secret)
        ready(page, 0, 24)
        page.locator(".marks").wait_for()  # marking listens
        for key in ("m", "Enter"):  # the first word of the cut
            page.keyboard.press(key)
        page.get_by_role("button", name="Remove the mark on").wait_for()
        for key in "yny":
            page.keyboard.press(key)
        wait_until(page, ["yes", "no", "yes"])
        page.keyboard.press("a")
        page.get_by_label("Comment (optional)").fill("half a se")
        page.get_by_text("Draft kept.").wait_for()
        db.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.path.rename(away)
        for _ in range(2):  # sent twice in vain
            page.keyboard.press("Control+Enter")
            page.get_by_text("There is no such ratings file").wait_for()
            listening(page)  # the page has run, and takes keys again
            wait_until(page, ["yes", "no", "yes"])
            assert page.get_by_label("Comment (optional)").input_value() == "half a se"
            assert str(db.path) not in page.inner_text("body"), "where the server keeps it is nobody's business"
        away.rename(db.path)
        page.keyboard.press("Control+Enter")
        ready(page, 1, 24)
        result = last(db)
        assert len(result.pop("marked")) == 1
        assert result == {"meaningful": "yes", "changes": "no", "guides": "yes", "reasons": result["reasons"],
                         "comment": "half a se"}  # fmt: skip
        page.get_by_role("link", name="My answers").click()
        page.get_by_text("half a se").wait_for()
        db.path.rename(away)
        page.get_by_role("button", name="Change").click()
        page.get_by_text("There is no such ratings file").wait_for()
        assert page.get_by_role("radiogroup").count() == 0, "another page shows no form"
        away.rename(db.path)


def test_a_lock_while_something_is_read_is_a_sentence(db: RatingsDB, store: Store) -> None:
    from schemas.core.errors import StoreError

    with pytest.raises(StoreError, match="another program holds"), RatingsDB(db.path):
        raise sqlite3.OperationalError("database is locked")
