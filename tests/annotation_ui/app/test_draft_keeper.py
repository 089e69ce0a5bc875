"""Drafts on the page: every field is named by its own place, and what was kept is shown again."""

from __future__ import annotations

import pytest

from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import keep_draft, read_draft
from annotation_ui.tasks.script_questions import FilterQuestion
from curation.store.store import Store
from tests.annotation_ui.app.conftest import Open, Visit, button, pilot
from tests.annotation_ui.app.test_keyboard import press, ready, save, wait_until
from tests.support.app import served_app as served
from tests.support.app.served_app import App

FORM = FilterQuestion.form
HALF = {"meaningful": "no", "reasons": ["duplicate"], "comment": "half a se"}


def test_a_draft_fills_the_form_and_a_save_ends_it(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task="filter_question")
    first = db.assignments("pilot", "ann")[0].item
    keep_draft(db, "pilot", "ann", first, HALF, FORM)
    page = open_page("rate.show_rating", "ann")
    assert [r.value for r in page.radio] == ["no", None, None, None]
    assert (page.button_group[0].value, page.text_area[0].value) == (["duplicate"], "half a se")
    for radio in page.radio[1:]:
        radio.set_value("yes")
    button(page, "Save and next").click().run()
    assert (db.history("pilot")[0].answers or {})["comment"] == "half a se"
    assert read_draft(db, "pilot", "ann", first, FORM) == {}
    assert [r.value for r in page.radio] == [None, None, None, None]


@pytest.mark.slow
def test_what_is_typed_outlives_reload_second_tab_expiry_and_kill(
    db: RatingsDB, store: Store, visit: Visit, app: App
) -> None:
    from playwright.sync_api import expect

    pilot(db, store, "ann", task="filter_question")
    secret = people.invite(db, "ann")
    page = visit(secret)
    served.settled(page, 0, 24)
    page.get_by_role("radiogroup").nth(0).get_by_text("no", exact=True).click()
    page.get_by_role("button", name="The same as another question").click()
    page.get_by_label("Comment (optional)").fill("half a se")
    page.get_by_text("Draft saved.").wait_for()

    def filled(tab: object) -> None:
        served.settled(tab, 0, 24)
        expect(tab.get_by_label("Comment (optional)")).to_have_value("half a se")  # type: ignore[attr-defined]
        expect(tab.locator("[role=toolbar] [aria-pressed=true]")).to_have_count(1)  # type: ignore[attr-defined]

    page.reload()
    filled(page)
    second = page.context.new_page()
    second.goto(app.url)
    filled(second)
    db.connection.execute("DELETE FROM sessions")  # it has run out
    page.get_by_label("Comment (optional)").fill("half a sentence")
    page.get_by_text("your session has ended. Log in again").wait_for()
    served.enter(second, app, secret)
    filled(second)
    app.kill()
    app.start()
    second.goto(app.url)
    filled(second)


@pytest.mark.slow
def test_what_was_sent_after_the_session_ended_comes_back_after_the_login(
    db: RatingsDB, store: Store, visit: Visit
) -> None:
    """Typed and sent at once, so that no draft reached the server: the tab itself has kept it."""
    from playwright.sync_api import expect

    pilot(db, store, "ann", "bob")
    secret, other = people.invite(db, "ann"), people.invite(db, "bob")
    page = visit(secret)
    ready(page, 0, 12)
    db.connection.execute("DELETE FROM sessions")
    press(page, "375", ["3", "7", "5"])
    page.get_by_label("Comment (optional)").fill("a long thought")
    page.keyboard.press("Control+Enter")
    log_in = page.get_by_role("button", name="Log in")
    for person, text in ((other, ""), (secret, "a long thought")):  # somebody else never sees it
        page.get_by_label("Secret").fill(person)
        log_in.click()
        ready(page, 0, 12)
        expect(page.get_by_label("Comment (optional)")).to_have_value(text)
        wait_until(page, ["3", "7", "5"] if text else ["", "", ""])
        db.connection.execute("DELETE FROM sessions WHERE person = 'bob'")
        if not text:
            page.keyboard.press("Control+Enter")
            log_in.wait_for()
    save(page, 1, 12)
    (revision,) = db.history("pilot")
    assert (revision.person, (revision.answers or {})["comment"]) == ("ann", "a long thought")
    page.get_by_role("button", name="Previous item").click()
    page.get_by_text("You have answered this item").wait_for()
    wait_until(page, ["3", "7", "5"])  # of the file, not of the tab
