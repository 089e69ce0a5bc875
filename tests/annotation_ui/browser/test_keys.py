"""A form by keyboard alone, in a real browser, wherever the focus is when a key is pressed."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from tests.annotation_ui.app.conftest import pilot
from tests.annotation_ui.browser.conftest import Visit
from tests.annotation_ui.conftest import begin
from tests.support.app import served_app as served

pytestmark = pytest.mark.slow


def checked(page: Any) -> list[str]:
    """The answers as they stand, a question each; '' for an open one."""
    return [
        (g.locator("label:has(input:checked)").inner_text().strip() if g.locator("input:checked").count() else "")
        for g in page.get_by_role("radiogroup").all()
    ]


def ready(page: Any, done: int, of: int) -> None:
    """Wait until the count says so and the keys are listened to."""
    served.settled(page, done, of)
    listening(page)


def listening(page: Any) -> None:
    """Wait until the keys of the form that is shown are listened to: the app itself says so."""
    text = "document.documentElement.dataset.sceditForm"  # of this form, not of the one before
    page.wait_for_function(f"() => {text} && document.querySelector('.' + {text} + ' button')")
    page.locator("[data-test-script-state='notRunning']").wait_for()


def wait_until(page: Any, answers: list[str]) -> None:
    groups = "[...document.querySelectorAll('[role=radiogroup]')]"
    answer = "(g) => (g.querySelector('label:has(input:checked)') || {innerText: ''}).innerText.trim()"
    page.wait_for_function(f"(wanted) => {groups}.map({answer}).join() === wanted", arg=",".join(answers))


def press(page: Any, keys: str, answers: list[str]) -> None:
    """Press keys one after another, and wait until the answers are these."""
    for key in keys:
        page.keyboard.press(key)
    wait_until(page, answers)


def save(page: Any, done: int, of: int, *, by: str = "Control+Enter") -> None:
    """Save by a key, and wait for the next item."""
    page.keyboard.press(by)
    ready(page, done, of)


def last(db: RatingsDB) -> dict[str, Any]:
    return dict(db.history("pilot")[-1].answers or {})


def test_scales_by_keys_before_and_after_the_mouse(db: RatingsDB, store: Store, visit: Visit) -> None:
    pilot(db, store, "ann", task="rate_script")
    page = visit(people.invite(db, "ann"))
    ready(page, 0, 12)
    press(page, "375", ["3", "7", "5"])  # digits, the focus nowhere
    press(page, "4", ["3", "7", "4"])  # a digit on a filled form corrects the question answered last
    save(page, 1, 12)
    assert last(db) == {"coherence": 3, "consistency": 7, "completeness": 4}

    page.get_by_role("radiogroup").nth(0).get_by_text("2", exact=True).click()  # a click, then keys for the rest
    press(page, "61", ["2", "6", "1"])
    page.get_by_role("radiogroup").nth(1).get_by_text("5", exact=True).click()
    press(page, "7", ["2", "7", "1"])  # the question that was clicked last
    save(page, 2, 12)  # the focus is on a radio button
    assert last(db) == {"coherence": 2, "consistency": 7, "completeness": 1}

    press(page, "111", ["1", "1", "1"])
    page.get_by_label("Comment (optional)").click()
    page.keyboard.type("see steps 2 and 3: no y, n")
    assert checked(page) == ["1", "1", "1"], "what is typed into the comment answers nothing"
    save(page, 3, 12)  # the focus is in the comment
    assert last(db)["comment"] == "see steps 2 and 3: no y, n"
    assert len(db.history("pilot")) == 3, "nothing was saved twice"


def test_yes_and_no_and_reasons_by_mouse_and_by_letter(db: RatingsDB, store: Store, visit: Visit) -> None:
    pilot(db, store, "ann", task="rate_executability", name="other")
    pilot(db, store, "ann", task="filter_question")
    page = visit(people.invite(db, "ann"))
    ready(page, 0, 12)
    page.get_by_test_id("stSidebar").get_by_role("button", name="pilot").click()
    ready(page, 0, 24)
    assert page.get_by_role("option").count() == page.get_by_role("combobox").count() == 0, "no list has to be opened"
    press(page, "yyyn", ["yes", "yes", "yes", "no"])  # right after a task was chosen
    page.get_by_role("button", name="The same as another question").click()
    page.locator("[role=toolbar] [aria-pressed=true]").wait_for()
    save(page, 1, 24)  # the focus is on a reason
    assert last(db) == {
        "meaningful": "yes",
        "depends": "yes",
        "changes": "yes",
        "guides": "no",
        "reasons": ["duplicate"],
    }

    # e is chosen and taken back; h is a reason while reasons are shown
    press(page, "yyynehec", ["yes", "yes", "yes", "no"])
    page.wait_for_function("() => document.querySelectorAll('[role=toolbar] [aria-pressed=true]').length === 2")
    save(page, 2, 24)
    assert sorted(last(db)["reasons"]) == ["duplicate", "old_knowledge_leak"]


def test_the_last_answer_saves_once_and_a_held_key_rates_one_item(db: RatingsDB, store: Store, visit: Visit) -> None:
    pilot(db, store, "ann", task="rate_executability", auto_save=True)
    pilot(db, store, "ann", task="filter_question", name="filter", auto_save=True)
    page = visit(people.invite(db, "ann"))
    ready(page, 0, 12)
    for _ in range(3):
        page.keyboard.down("5")  # held: the browser repeats it
    ready(page, 1, 12)
    for _ in range(3):
        page.keyboard.down("5")
    page.keyboard.up("5")
    assert checked(page) == [""], "the next item was not rated by a key that was still down"
    page.get_by_label("Comment (optional)").fill("see step 5")
    page.locator(".se-item").click(position={"x": 20, "y": 12})
    page.keyboard.press("3")  # one key an item, and what was typed before goes along
    ready(page, 2, 12)
    page.get_by_text("saved: 3").wait_for()
    assert last(db) == {"executability": 3, "comment": "see step 5"}
    page.keyboard.press("Alt+ArrowLeft")
    page.get_by_text("You have answered this item").wait_for()
    listening(page)
    press(page, "4", ["4"])  # what was answered before is saved by Enter alone
    page.keyboard.press("Enter")
    page.get_by_text("You have answered this item").wait_for(state="detached")
    ready(page, 2, 12)
    assert [(r.answers or {})["executability"] for r in db.history("pilot")] == [5, 3, 4]

    page.get_by_test_id("stSidebar").get_by_role("button", name="filter").click()
    ready(page, 0, 24)
    press(page, "yyny", ["yes", "yes", "no", "yes"])
    page.get_by_text("Draft saved.").wait_for()
    assert db.history("filter") == [], "a no asks for its reason first"
    page.keyboard.press("b")
    page.locator("[role=toolbar] [aria-pressed=true]").wait_for()
    save(page, 1, 24, by="Enter")
    for key in "yyyy":
        page.keyboard.press(key)
    ready(page, 2, 24)
    assert [sorted(r.answers or {}) for r in db.history("filter")] == [
        ["changes", "depends", "guides", "meaningful", "reasons"], ["changes", "depends", "guides", "meaningful"]
    ]  # fmt: skip


def test_keys_work_after_a_page_link_and_a_new_item_takes_them_after_a_moment(
    db: RatingsDB, store: Store, visit: Visit
) -> None:
    """Enter after a link opened the link again; twelve digits in half a second saved items that nobody had seen."""
    pilot(db, store, "ann", task="rate_executability", auto_save=True)
    page = visit(people.invite(db, "ann"), viewport={"width": 1360, "height": 768})  # its own: its clock is stopped
    ready(page, 0, 12)
    page.get_by_role("link", name="My answers").click()
    page.get_by_text("You have not answered anything yet").wait_for()
    page.get_by_role("link", name="Rate").click()
    ready(page, 0, 12)
    assert page.evaluate("document.activeElement.tagName") == "BODY"
    page.get_by_text("Save when a key answers the last question").click()
    page.wait_for_function("() => !document.querySelector('.st-key-auto_save input').checked")
    ready(page, 0, 12)
    press(page, "4", ["4"])
    save(page, 1, 12, by="Enter")
    page.get_by_text("Save when a key answers the last question").click()
    page.wait_for_function("() => document.querySelector('.st-key-auto_save input').checked")
    ready(page, 1, 12)
    page.clock.set_fixed_time(page.evaluate("Date.now()"))  # a slow machine types no later than a quick one
    for key in "123456712345":
        page.keyboard.press(key, delay=40)
    ready(page, 2, 12)
    page.wait_for_timeout(1000)
    assert len(db.history("pilot")) == 2, "the item that was shown is saved, and none that nobody has seen"


def test_keys_work_after_the_select_box_and_the_number_of_adjudicate(db: RatingsDB, store: Store, visit: Visit) -> None:
    for name, task, answers in (
        ("one", "rate_executability", [{"executability": 1}, {"executability": 7}]),
        ("two", "rate_script", [{"coherence": n, "consistency": 7, "completeness": 4} for n in (1, 7)]),
    ):
        pilot(db, store, "ann", "bob", task=task, name=name)
        for item in sorted({a.item for a in db.assignments(name)})[:3]:
            for person, answer in zip(("ann", "bob"), answers, strict=True):
                db.save(name, person, item, answer, form=make_task(task).form.label)
    page = visit(people.invite(db, "lea", role="lead"))
    page.get_by_text("answers").first.wait_for()
    page.goto(page.url.partition("/progress")[0].rstrip("/") + "/adjudicate")
    page.get_by_text("3 items with a disagreement, 0 decided").wait_for()
    page.get_by_role("combobox").click()
    page.get_by_role("option", name="two").click()
    page.get_by_role("radiogroup").nth(2).wait_for()
    listening(page)
    press(page, "2", ["2", "", ""])
    page.get_by_role("spinbutton").fill("2")
    assert page.evaluate("document.documentElement.dataset.sceditKeys") == "off", "the page shows that keys go there"
    page.keyboard.press("Enter")
    page.get_by_text("2 of 3").wait_for()
    listening(page)
    press(page, "3", ["3", "", ""])


def test_a_comparison_by_keys_whatever_the_mouse_did_before(db: RatingsDB, store: Store, visit: Visit) -> None:
    a, b, tie = "A is better", "B is better", "Equally good"
    pilot(db, store, "ann", task="compare_scripts")
    pilot(db, store, "ann", task="rate_executability", name="other")
    page = visit(people.invite(db, "ann"))
    page.get_by_test_id("stSidebar").get_by_role("button", name="pilot").click()
    ready(page, 0, 6)
    blocks = page.locator(".se-pair > .se-block")
    boxes = [blocks.nth(n).bounding_box() for n in (0, 1)]
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"], "side by side"

    press(page, "123", [a, b, tie])
    page.get_by_test_id("stSidebar").get_by_text("Highlight").click()
    page.locator("mark").first.wait_for(state="detached")  # the page has run again
    listening(page)
    press(page, "1", [a, b, a])  # a digit corrects the question that was answered last, before the run
    page.get_by_role("button", name="Cannot judge this item").first.click()
    page.get_by_role("button", name="The language").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="The language").wait_for(state="detached")
    press(page, "3", [a, b, tie])
    save(page, 1, 6, by="Enter")  # of the form, though the focus went back to the button that had opened
    assert last(db) == {"coherence": "first", "consistency": "second", "completeness": "tie"}

    page.get_by_role("button", name="Previous item").click()
    page.get_by_text("You have answered this item").wait_for()
    listening(page)
    press(page, "2", [b, b, tie])  # a form that is shown filled in: from the first question on
    press(page, "11", [b, a, a])
    press(page, "3", [b, a, tie])
    page.get_by_role("radiogroup").nth(1).get_by_text(b).click()
    press(page, "3", [b, tie, tie])  # the question that was clicked
    page.locator(".se-item").click(position={"x": 20, "y": 12})
    save(page, 1, 6, by="Enter")
    assert last(db) == {"coherence": "second", "consistency": "tie", "completeness": "tie"}
    assert len(db.history("pilot")) == 2


@pytest.mark.parametrize("size", [(1366, 768), (390, 844)], ids=["desk", "phone"])
def test_adjudication_by_keys_on_one_screen_or_a_page_that_scrolls(
    db: RatingsDB, store: Store, visit: Visit, size: tuple[int, int]
) -> None:
    """At a desk all that a decision needs is in sight; on a phone the page scrolls. No mouse is needed for it."""
    pilot(db, store, "ann", "bob", task="rate_script")
    items = sorted({a.item for a in db.assignments("pilot")})
    for n, item in enumerate(items[:2]):
        for person, value in (("ann", 1), ("bob", 7 - n)):
            answers = {"coherence": value, "consistency": 7, "completeness": 4, "comment": f"because of {person}"}
            db.save("pilot", person, item, answers, form="rate_script@4")
    long = "\n".join(f"Step {n}: Ask the office of ward {n} in Oslo, and write down what it says" for n in range(60))
    db.connection.execute("UPDATE items SET body = json_set(body, '$.shown.script', ?)", [long])
    page = visit(people.invite(db, "lea", role="lead"))
    page.get_by_text("of 24 answers").wait_for()
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(page.url.partition("/progress")[0].rstrip("/") + "/adjudicate")
    page.get_by_text("2 items with a disagreement, 0 decided").wait_for()
    listening(page)
    needed = [page.get_by_text("because of bob"), *page.get_by_role("radiogroup").all()]
    needed.append(page.get_by_role("button", name="Save decision"))
    for number in range(3):
        assert page.locator(".st-key-decision .se-ends").nth(number).is_visible(), "the anchors of each scale"
    if size[0] > 640:
        for part in needed:
            box = part.bounding_box()
            assert box is not None and box["y"] >= 0 and box["y"] + box["height"] <= size[1] + 1
    else:
        for part in (page.locator(".se-judged"), page.locator(".se-judged .se-item")):
            assert part.evaluate("e => e.scrollHeight <= e.clientHeight + 1"), "the text is whole, the page scrolls"
        for part in needed:
            part.scroll_into_view_if_needed()
            assert part.is_visible()
    page.keyboard.press("Alt+ArrowRight")  # the second item
    page.locator(f'[data-item="{items[1]}"]').wait_for(state="attached")
    listening(page)
    press(page, "674", ["6", "7", "4"])
    page.keyboard.press("Enter")
    page.get_by_text("2 items with a disagreement, 1 decided").wait_for()
    assert db.adjudications("pilot")[items[1]].answers == {"coherence": 6, "consistency": 7, "completeness": 4}


def test_unsure_by_keys_asks_for_a_reason_and_is_saved_with_it(db: RatingsDB, events: Store, visit: Visit) -> None:
    secret = people.invite(db, "ann")
    begin(db, events, "e", "judge_tendency", overlap=1)
    page = visit(secret, viewport={"width": 390, "height": 844})
    ready(page, 0, 2)
    reasons = page.locator("[role=toolbar] button")
    assert not reasons.first.is_visible()
    page.keyboard.press("3")
    reasons.first.wait_for(state="visible")
    page.keyboard.press("Enter")
    page.get_by_text("You chose “Unsure”. Please choose a reason").wait_for()
    listening(page)
    page.keyboard.press("b")
    page.locator("[role=toolbar] [aria-pressed=true]").wait_for()
    save(page, 1, 2, by="Enter")
    (revision,) = db.history("e")
    assert revision.answers == {"label": "unsure", "reasons": ["ambiguous"]}
