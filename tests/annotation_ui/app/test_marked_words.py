"""Marking words in a real browser: by mouse, by keys, on a phone; kept as a draft, saved, imported."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.forms import text_digest
from curation.store.store import Store
from schemas.verdicts import Verdict
from tests.annotation_ui.app.conftest import Open, Visit, button, pilot
from tests.annotation_ui.app.test_keyboard import last, ready, save

SELECT = """(n) => {
  const node = document.querySelector('[data-text="cut"]').firstChild, range = document.createRange();
  range.setStart(node, 0); range.setEnd(node, n);
  const selection = window.getSelection();
  selection.removeAllRanges(); selection.addRange(range);
}"""  # what a long press does: Playwright has no finger that rests


def chips(page: Any) -> Any:
    return page.get_by_role("button", name="Remove the mark on")


@pytest.mark.slow
def test_words_are_marked_by_mouse_keys_and_finger_and_reach_the_store(
    db: RatingsDB, store: Store, visit: Visit
) -> None:
    pilot(db, store, "ann", task="filter_question", spans=True)
    secret = people.invite(db, "ann")
    order = [db.item("pilot", a.item).item for a in db.assignments("pilot", "ann")]
    page = visit(secret)
    ready(page, 0, 24)
    page.locator('[data-text="question"]').dblclick(position={"x": 5, "y": 8})  # the first word, by mouse
    page.get_by_role("button", name="Mark: Leak").click()
    chips(page).wait_for()
    for key in ("m", "ArrowRight", "Shift+ArrowRight", "Enter"):  # the second and third word of the cut
        page.keyboard.press(key)
    chips(page).nth(1).wait_for()
    for key in "yyyy":  # marking ends where answers begin
        page.keyboard.press(key)
    page.get_by_text("Draft saved.").wait_for()
    page.reload()
    ready(page, 0, 24)
    chips(page).nth(1).wait_for()  # marks are part of the draft
    save(page, 1, 24, by="Enter")
    question, cut = order[0].shown["question"], order[0].shown["cut"]
    marks = {m["text"]: m for m in last(db)["marked"]}
    assert marks["question"]["words"] == question.split()[0]
    assert marks["cut"]["words"] == " ".join(cut.split()[1:3])
    assert marks["cut"] == {
        "text": "cut", "start": cut.index(marks["cut"]["words"]), "end": len(" ".join(cut.split()[:3])),
        "words": marks["cut"]["words"], "label": "leak", "digest": text_digest(cut),
    }  # fmt: skip

    page.keyboard.press("m")
    page.keyboard.press("Shift+M")  # the other label
    chips(page).wait_for()
    chips(page).click()
    chips(page).wait_for(state="detached")
    page.keyboard.press("Escape")

    phone = visit(secret, viewport={"width": 390, "height": 844}, has_touch=True)
    ready(phone, 1, 24)
    phone.evaluate(SELECT, 6)
    offered = phone.get_by_role("button", name="Mark: Problem")
    offered.wait_for()
    assert offered.bounding_box()["height"] >= 44
    offered.tap()
    chips(phone).wait_for()
    assert chips(phone).bounding_box()["height"] >= 44
    for n in range(4):
        phone.get_by_role("radiogroup").nth(n).get_by_text("yes", exact=True).tap()
    phone.get_by_role("button", name="Save and next").tap()
    ready(phone, 2, 24)
    assert [(m["label"], m["words"]) for m in last(db)["marked"]] == [("fail", order[1].shown["cut"][:6].strip())]
    assert import_campaign(db, store, "pilot").rejected == ()
    verdicts = [v for v in store.all(Verdict) if v.check == "filter_question" and v.spans]
    assert {s.text for v in verdicts for s in v.spans} >= {marks["question"]["words"], marks["cut"]["words"]}


def test_marks_of_another_text_are_refused_and_the_form_stays_filled(
    db: RatingsDB, store: Store, open_page: Open
) -> None:
    pilot(db, store, "ann", task="filter_question", spans=True)
    page = open_page("rate.show_rating", "ann")
    (field,) = [t for t in page.text_area if "Mark the words" in t.label]
    field.set_value('[{"text": "cut", "start": 0, "end": 4, "words": "Stop", "label": "leak", "digest": "0"}]')
    for radio in page.radio:
        radio.set_value("yes")
    button(page, "Save and next").click().run()
    assert "another text" in page.error[0].value and not db.history("pilot")
    assert [r.value for r in page.radio] == ["yes"] * 4
    (field,) = [t for t in page.text_area if "Mark the words" in t.label]
    field.set_value("")
    button(page, "Save and next").click().run()
    assert len(db.history("pilot")) == 1 and "marked" not in (db.history("pilot")[0].answers or {})
