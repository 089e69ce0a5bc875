"""A form on the screen: whole at every size, large enough for fingers, odd texts shown as text; one key an answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import Assignment, CampaignItem, RatingsDB
from annotation_ui.ratings.raters import read_preferences
from annotation_ui.tasks.base import TaskItem
from curation.store.store import Store
from tests.annotation_ui.app.conftest import pilot
from tests.annotation_ui.browser.conftest import Visit, remembered
from tests.annotation_ui.browser.test_keys import listening, press, ready, wait_until
from tests.support.app import served_app as served
from tests.support.app.served_app import App
from tests.support.documents.records import document_store

pytestmark = pytest.mark.slow

SAVE = "Save and next"


SCRIPTS = (
    "\n".join(f"Step {n}: Write down what the <b>office</b> of ward {n} asks for & why" for n in range(1, 320)),
    "<img src=x onerror=\"document.title='owned'\"> **bold** $x^2$ [link](http://127.0.0.1:9) :smile: # head\n"
    + "\n".join(
        f"الخطوة {n}: احجز غرفة قرب محطة أوسلو ثم اسأل عن <script>alert(1)</script> الطريق" for n in range(1, 9)
    ),
    "x" * 20_000,
)


_BOXES = """(selector) => [...document.querySelectorAll(selector)].map((e) => e.getBoundingClientRect())
    .map((r) => [r.top, r.bottom, r.left, r.right, r.width, r.height])"""


def test_item_and_scale_are_on_one_screen_and_three_keys_save(db: RatingsDB, store: Store, visit: Visit) -> None:
    pilot(db, store, "ann", task="rate_script")
    secret = _secret(db)
    for width, height in ((390, 844), (1366, 768)):
        page = visit(secret, viewport={"width": width, "height": height}, has_touch=width < 600)
        ready(page, len(db.history("pilot")), 12)
        options = page.evaluate(_BOXES, "[data-testid=stForm] [data-testid=stRadioOption]")
        (button,) = page.evaluate(_BOXES, "[class*=st-key-save-] button")
        (item,) = page.evaluate(_BOXES, ".se-item")
        assert len(options) == 21 and min(min(b[4:]) for b in [*options, button]) >= 44, "for fingers"
        if width > 600:
            assert item[0] >= 0 and max(b[1] for b in [*options, button, item]) <= height, "all on one screen"
        assert page.evaluate("(e => e.scrollHeight <= e.clientHeight + 1)(document.querySelector('.se-item'))")
        bar, block = (page.locator(name).first.bounding_box() for name in (".stProgress", ".stMainBlockContainer"))
        assert bar["width"] > 0.9 * block["width"] - 80, "as wide as the page"
        words = page.locator(".se-intro, [data-testid=stForm] .se-hint, .se-ends").all()
        assert len(words) == 7 and all(w.is_visible() for w in words), "everybody rates by the same texts"
        assert min(b[2] for b in options) >= 0 and max(b[3] for b in options) <= width
        if width < 600:
            for n in range(3):
                page.get_by_role("radiogroup").nth(n).get_by_text("6", exact=True).tap()
            page.get_by_role("button", name="Save and next").tap()
            ready(page, 1, 12)
            assert page.get_by_test_id("stMain").evaluate("(e) => e.scrollTop") == 0
    assert page.locator(".st-key-auto_save input").is_checked(), "as long as nobody has chosen otherwise"
    for n in range(2):  # three keys an item and nothing else
        for key in "375":
            page.keyboard.press(key)
        ready(page, 2 + n, 12)
    page.get_by_text("Save when a key answers the last question").click()
    page.wait_for_function("() => !document.querySelector('.st-key-auto_save input').checked")
    ready(page, 3, 12)
    press(page, "234", ["2", "3", "4"])
    page.keyboard.press("h")
    page.wait_for_function("() => !document.querySelector('.se-item mark')")
    wait_until(page, ["2", "3", "4"])
    end = time.monotonic() + served.PATIENCE  # the browser takes the marks away before the server has saved it
    while (saved := read_preferences(db, "zoe")).get("highlight") != "no" and time.monotonic() < end:
        time.sleep(0.1)
    assert saved == {"auto_save": "no", "highlight": "no"}
    assert [list((r.answers or {}).values()) for r in db.history("pilot")] == [[6, 6, 6], [3, 7, 5], [3, 7, 5]]


def test_the_filter_form_is_on_one_screen_with_its_reasons(db: RatingsDB, store: Store, visit: Visit) -> None:
    pilot(db, store, "ann", task="filter_question")
    secret = people.invite(db, "ann")
    page = visit(secret)
    ready(page, 0, 24)
    main = page.get_by_test_id("stMain")
    assert main.evaluate("(e) => e.scrollHeight - e.clientHeight") == 0, "nothing scrolls"
    press(page, "yyyn", ["yes", "yes", "yes", "no"])
    page.locator("[role=toolbar] button").last.wait_for()
    page.wait_for_timeout(500)
    boxes = [b for s in ("[role=toolbar] button", "[class*=st-key-save-] button") for b in page.evaluate(_BOXES, s)]
    reasons = make_task("filter_question").form.field("reasons").choices
    assert len(boxes) == len(reasons) + 1 and max(b[1] for b in boxes) <= 768, "the reasons and the button are in sight"
    (item,) = page.evaluate(_BOXES, ".se-item")
    assert item[0] >= 0, "and so is the item"


SIZES = ((390, 844), (320, 568), (740, 360), (1366, 768))


def at_every_size(visit: Visit, app: App, secret: str, address: str = "") -> Iterator[tuple[Any, int, int]]:
    """A page at the sizes of phones, held upright and turned, with a finger; then at a desk's."""
    for sizes in (SIZES[:3], SIZES[3:]):
        page = visit(secret, has_touch=len(sizes) > 1)
        remembered(page)
        for width, height in sizes:
            page.set_viewport_size({"width": width, "height": height})
            page.goto(app.url + address)
            yield page, width, height


@pytest.mark.parametrize("task", ["filter_question", "rate_script", "curate_probe"])
def test_text_scale_and_message_are_seen_at_every_size(
    db: RatingsDB, store: Store, tmp_path: Path, task: str, visit: Visit, app: App
) -> None:
    """A phone hid the end of the text and the message; a form with tags took no keys and showed no message either."""
    if task == "curate_probe":
        (tmp_path / "documents").mkdir()
        documents = document_store(tmp_path / "documents")
        store = next(documents)
    pilot(db, store, "ann", task=task)
    secret = people.invite(db, "ann")
    for page, width, height in at_every_size(visit, app, secret):
        listening(page)
        cut = "(e) => e.scrollHeight > e.clientHeight + 1"
        assert not page.locator(".se-item").evaluate(cut), "the text is whole"
        header = page.get_by_test_id("stHeader").bounding_box()
        count = page.get_by_text(" done").first.bounding_box()
        assert count["y"] >= min(header["y"] + header["height"], 60) - 12, "the header does not lie over the count"
        for group in page.get_by_role("radiogroup").all():
            tops = {round(e.bounding_box()["y"]) for e in group.get_by_test_id("stRadioOption").all()}
            assert len(tops) == 1 or width == 740, "a scale stands on one line"
            assert len(tops) == 1 or len(group.get_by_test_id("stRadioOption").all()) < 3
        page.keyboard.press("Enter")
        page.get_by_text("Please answer").first.wait_for()
        listening(page)
        page.wait_for_timeout(400)
        (alert,) = page.evaluate(_BOXES, "[data-testid=stForm] [data-testid=stAlert]")
        assert alert[0] >= 0 and alert[1] <= height, (width, height, alert)


def _secret(db: RatingsDB) -> str:
    """A rater with the same items as ann, whose secret is known."""
    secret = people.invite(db, "zoe")
    db.add_items("pilot", [], [Assignment("zoe", a.item, a.batch, a.position) for a in db.assignments("pilot", "ann")])
    return secret


def put_scripts(db: RatingsDB, person: str) -> None:
    """Items with the texts of ``SCRIPTS`` at the head of a person's order."""
    texts = {"fact": "The capital of Peru is أوسلو", "new": "أوسلو", "old": "Lima", "counts": "Lima", "question": "Q?"}
    items = [
        CampaignItem(TaskItem(id=f"{n:020x}", case=f"odd{n}", shown=texts | {"script": script}))
        for n, script in enumerate(SCRIPTS)
    ]
    db.add_items("pilot", items, [Assignment(person, i.item.id, 0, n) for n, i in enumerate(items)])


def test_long_and_foreign_scripts_on_a_turned_phone_and_at_double_size(
    db: RatingsDB, store: Store, visit: Visit
) -> None:
    pilot(db, store, "ann")
    put_scripts(db, "ann")
    secret = people.invite(db, "ann")
    page = visit(secret, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    for index, script in enumerate(SCRIPTS):
        ready(page, index, 15)
        assert page.locator("[data-text=script]").inner_text() == script, "shown whole, as text"
        for n, value in enumerate(("3", "7", "5")):
            group = page.get_by_role("radiogroup").nth(n)
            group.get_by_text(value, exact=True).tap()
            for size in ((844, 390), (683, 384), (390, 844)):  # turned, 200 % of 1366 x 768, upright again
                page.set_viewport_size({"width": size[0], "height": size[1]})
                assert_usable(page, size)
            assert group.locator("label:has(input:checked)").inner_text().strip() == value, "turning keeps answers"
        page.get_by_role("button", name=SAVE).tap()
    ready(page, len(SCRIPTS), 15)
    page.get_by_test_id("stExpandSidebarButton").tap()
    links = page.get_by_test_id("stSidebarNavLink")
    links.first.wait_for()
    assert all(e.bounding_box()["height"] >= 44 for e in links.all()), "for fingers, beside the form too"
    links.filter(has_text="My answers").tap()
    page.get_by_role("button", name="Change").first.tap()  # the side bar lies over nothing any more
    page.get_by_text("You have answered this item").wait_for()
    assert [list((r.answers or {}).values()) for r in db.history("pilot")] == [[3, 7, 5]] * len(SCRIPTS)
    assert page.title() != "owned", "text of models is shown as text"


def assert_usable(page: Any, size: tuple[int, int]) -> None:
    """Nothing is beside the screen, the button that saves can be reached and covers no question."""
    widths = page.evaluate("[document.documentElement, document.querySelector('.se-item')].map((e) => e.scrollWidth)")
    assert max(widths) <= size[0]
    button = page.get_by_role("button", name=SAVE)
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= size[1] + 1, (size, box)
    groups = [e.bounding_box() for e in page.locator("[role=radiogroup]").all()]
    assert all(b["y"] + b["height"] <= box["y"] + 1 or b["y"] >= box["y"] + box["height"] - 1 for b in groups), size
    boxes = [e.bounding_box() for e in page.locator(".se-item, [role=radiogroup]").all()]
    assert max(b["x"] + b["width"] for b in boxes) <= size[0] + 1


def test_the_lead_sees_the_whole_text_and_the_hints_at_every_size(
    db: RatingsDB, store: Store, visit: Visit, app: App
) -> None:
    """A turned phone cut the text in a box, and a desk hid the hints that raters see."""
    pilot(db, store, "ann", "bob")
    secret = people.invite(db, "lou", role="lead")
    for person, value in (("ann", 1), ("bob", 7)):
        for a in db.assignments("pilot", person):
            answers = {"coherence": value, "consistency": 7, "completeness": 7}
            db.save("pilot", person, a.item, answers, form="rate_script@4")
    for page, width, height in at_every_size(visit, app, secret, "adjudicate"):
        page.get_by_role("button", name="Save decision").wait_for()
        page.locator("[data-test-script-state='notRunning']").wait_for()
        cut = "(e) => e.scrollHeight > e.clientHeight + 1"
        assert not page.locator(".se-item").evaluate(cut), (width, height, "the text is whole")
        hints = page.locator(".se-hint").all()
        assert len(hints) == 3 and all(hint.is_visible() for hint in hints), (width, height)
