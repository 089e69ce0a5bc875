"""The form of an item, in a browser: on one screen, large enough for fingers, saved by itself where that is wanted."""

from __future__ import annotations

import pytest

from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.preferences import read_preferences
from curation.store.store import Store
from tests.annotation_ui.app.conftest import pilot
from tests.annotation_ui.app.test_keyboard import ready, wait_until
from tests.support.app import served_app as served

_BOXES = """(selector) => [...document.querySelectorAll(selector)].map((e) => e.getBoundingClientRect())
    .map((r) => [r.top, r.bottom, r.left, r.right, r.width, r.height])"""


@pytest.mark.slow
def test_item_and_scale_are_on_one_screen_and_three_keys_save(db: RatingsDB, store: Store) -> None:
    served.need_browser()
    pilot(db, store, "ann", task="rate_script")
    secret = _secret(db)
    with served.served(db.path) as app, served.browser() as browser:
        for width, height in ((390, 844), (1366, 768)):
            context = browser.new_context(viewport={"width": width, "height": height}, has_touch=width < 600)
            page = context.new_page()
            served.enter(page, app, secret)
            ready(page, len(db.history("pilot")), 12)
            options = page.evaluate(_BOXES, "[data-testid=stForm] [data-testid=stRadioOption]")
            (button,) = page.evaluate(_BOXES, "[class*=st-key-save-] button")
            (item,) = page.evaluate(_BOXES, ".se-item")
            assert len(options) == 21 and min(min(b[4:]) for b in [*options, button]) >= 44, "for fingers"
            assert item[0] >= 0 and max(b[1] for b in [*options, button, item]) <= height, "all on one screen"
            assert min(b[2] for b in options) >= 0 and max(b[3] for b in options) <= width
            if width < 600:
                for n in range(3):
                    page.get_by_role("radiogroup").nth(n).get_by_text("6", exact=True).tap()
                page.get_by_role("button", name="Save and next").tap()
                ready(page, 1, 12)
                assert page.get_by_test_id("stMain").evaluate("(e) => e.scrollTop") == 0
        page.get_by_text("Save as soon as every question is answered").click()
        page.wait_for_function("() => document.querySelector('.st-key-auto_save input').checked")
        ready(page, 1, 12)
        for n in range(2):  # three keys an item and nothing else
            for key in "375":
                page.keyboard.press(key)
            ready(page, 2 + n, 12)
        page.keyboard.press("2")
        wait_until(page, ["2", "", ""])
        page.keyboard.press("h")
        page.wait_for_function("() => !document.querySelector('.se-item mark')")
        assert read_preferences(db, "zoe") == {"auto_save": "yes", "highlight": "no"}
    assert [list((r.answers or {}).values()) for r in db.history("pilot")] == [[6, 6, 6], [3, 7, 5], [3, 7, 5]]


@pytest.mark.slow
def test_the_filter_form_is_on_one_screen_with_its_reasons(db: RatingsDB, store: Store) -> None:
    served.need_browser()
    pilot(db, store, "ann", task="filter_question")
    secret = people.invite(db, "ann")
    with served.served(db.path) as app, served.browser() as browser:
        page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
        served.enter(page, app, secret)
        ready(page, 0, 24)
        main = page.get_by_test_id("stMain")
        assert main.evaluate("(e) => e.scrollHeight - e.clientHeight") == 0, "nothing scrolls"
        for key in "yyn":
            page.keyboard.press(key)
        wait_until(page, ["yes", "yes", "no"])
        page.locator("[role=toolbar] button").last.wait_for()
        boxes = [b for s in ("[role=toolbar] button", "textarea", "[class*=st-key-save-] button") for b in
                 page.evaluate(_BOXES, s)]  # fmt: skip
        assert len(boxes) == 10 and max(b[1] for b in boxes) <= 768, "reasons, comment and the button are in sight"


def _secret(db: RatingsDB) -> str:
    """A rater with the same items as ann, whose secret is known."""
    from annotation_ui.ratings.records import Assignment

    secret = people.invite(db, "zoe")
    db.add_items("pilot", [], [Assignment("zoe", a.item, a.batch, a.position) for a in db.assignments("pilot", "ann")])
    return secret
