"""The lead's decisions: the widest disagreement first, everybody's answers beside it, none of it anybody's rating."""

from __future__ import annotations

import re
from typing import Any

import pytest

from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from tests.annotation_ui.app.conftest import Open, Visit, button, pilot, texts
from tests.support.app.served_app import App
from tests.support.events import event_case
from tests.support.open_answer_records import open_answers

TASK = "rate_executability"
DECIDE = "Save decision"


@pytest.fixture
def items(db: RatingsDB, store: Store) -> list[str]:
    """A campaign of ann and bob in which the first three items are rated 1:7, 4:5 and 3:3; those items."""
    pilot(db, store, "ann", "bob", task=TASK)
    result = sorted({a.item for a in db.assignments("pilot")})
    for item, values in zip(result, ((1, 7), (4, 5), (3, 3)), strict=False):
        for person, value in zip(("ann", "bob"), values, strict=True):
            db.save("pilot", person, item, {"executability": value}, form=f"{TASK}@3")
    return result


@pytest.fixture
def page(items: list[str], open_page: Open) -> Any:
    return open_page("lead.adjudicate.show", "lea")


def shown(page: Any) -> str:
    """The item that the page is about."""
    return re.findall(r'data-item="([^"]+)"', pane(page))[0]


def pane(page: Any) -> str:
    """What is on the page as HTML."""
    return " ".join(e.value for e in page.get("html"))


def test_the_widest_comes_first_with_what_everybody_said(db: RatingsDB, items: list[str], page: Any) -> None:
    assert shown(page) == items[0]
    assert "<span>ann <b>1</b></span><span>bob <b>7</b></span>" in pane(page)
    assert "2 items with a disagreement, 0 decided" in texts(page)
    assert page.radio[0].value is None, "no answer is suggested"
    assert "1 of 2" in texts(page), "where a phone hides the field for the number"
    page.number_input[0].set_value(2).run()
    assert shown(page) == items[1] and "2 of 2" in texts(page)


def test_a_decision_is_kept_as_the_lead_s_and_the_next_is_shown(db: RatingsDB, items: list[str], page: Any) -> None:
    page.radio[0].set_value(6)
    button(page, DECIDE).click().run()
    decision = db.adjudications("pilot")[items[0]]
    assert (decision.lead, decision.answers) == ("lea", {"executability": 6})
    assert len(db.history("pilot")) == 6, "nobody's answer was touched"
    assert shown(page) == items[1]
    page.radio[0].set_value(4)
    button(page, DECIDE).click().run()
    assert "All disagreements are decided" in texts(page) and not page.radio


def test_a_decision_can_be_looked_at_and_changed(db: RatingsDB, items: list[str], open_page: Open) -> None:
    db.adjudicate("pilot", items[0], "lea", {"executability": 2, "comment": "weak"})
    page = open_page("lead.adjudicate.show", "lea")
    page.toggle[0].set_value(False).run()
    assert shown(page) == items[0]
    assert page.radio[0].value == 2 and page.text_area[0].value == "weak"
    page.radio[0].set_value(3)
    button(page, DECIDE).click().run()
    assert db.adjudications("pilot")[items[0]].answers == {"executability": 3, "comment": "weak"}


def test_an_incomplete_decision_is_refused_in_words(db: RatingsDB, items: list[str], page: Any) -> None:
    button(page, DECIDE).click().run()
    assert db.adjudications("pilot") == {}
    assert page.error[0].value.startswith("Please answer: Executability")


def test_what_a_task_refuses_is_refused_of_the_lead_too(db: RatingsDB, store: Store, open_page: Open) -> None:
    """Accuracy of 3 or less leaves no overall of 5; before, it was saved and then left out of every import."""
    store.put([event_case(), *open_answers()])
    pilot(db, store, "ann", "bob", task="rate_answer")
    item = min(a.item for a in db.assignments("pilot"))
    for person, value in (("ann", 1), ("bob", 5)):
        answers = {"accuracy": value, "coherence": value, "comprehensiveness": value, "overall": value}
        db.save("pilot", person, item, answers, form="rate_answer@2")
    page = open_page("lead.adjudicate.show", "lea")
    for radio, value in zip(page.radio, (3, 5, 5, 5), strict=True):
        radio.set_value(value)
    button(page, DECIDE).click().run()
    assert db.adjudications("pilot") == {}
    assert "where accuracy is 3 or less, overall is 3 or less" in page.error[0].value
    page.radio[3].set_value(3)
    button(page, DECIDE).click().run()
    assert db.adjudications("pilot")[item].answers["overall"] == 3


def test_comments_stand_beside_answers_and_withdrawn_or_replaced_ones_do_not(
    db: RatingsDB, items: list[str], open_page: Open
) -> None:
    for comment in ("first thought", "<b>second</b>"):
        db.save("pilot", "ann", items[0], {"executability": 1, "comment": comment}, form=f"{TASK}@3")
    page = open_page("lead.adjudicate.show", "lea")
    html = pane(page)
    assert "&lt;b&gt;second&lt;/b&gt;" in html and "first thought" not in html and "Comment by ann" in html


@pytest.mark.slow
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
    for width, height in ((390, 844), (320, 568), (740, 360), (1366, 768)):
        page = visit(secret, viewport={"width": width, "height": height}, has_touch=width < 1000)
        page.get_by_text("24 of 24 answers").wait_for()
        page.locator("[data-test-script-state='notRunning']").wait_for()
        page.goto(f"{app.url}adjudicate")
        page.get_by_role("button", name=DECIDE).wait_for()
        page.locator("[data-test-script-state='notRunning']").wait_for()
        cut = "(e) => e.scrollHeight > e.clientHeight + 1"
        assert not page.locator(".se-item").evaluate(cut), (width, height, "the text is whole")
        hints = page.locator(".se-hint").all()
        assert len(hints) == 3 and all(hint.is_visible() for hint in hints), (width, height)
        page.context.close()


def test_where_all_agree_there_is_nothing_to_decide(db: RatingsDB, store: Store, open_page: Open) -> None:
    people.invite(db, "lea", role="lead")
    assert "no campaign" in texts(open_page("lead.adjudicate.show", "lea"))
    pilot(db, store, "ann", "bob", task=TASK)
    page = open_page("lead.adjudicate.show", "lea")
    assert "no disagreements" in texts(page) and not page.radio and not page.number_input
