"""The rater's pages: nothing is lost, nothing is saved twice, and the end is the end; one's own answers."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.ratings import database
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import keep_draft, next_item, read_draft, skip_item, skipped_items
from annotation_ui.tasks.script_questions import FilterQuestion
from curation.store.store import Store
from schemas.core.errors import StoreError
from tests.annotation_ui.app.conftest import Open, button, pilot, texts
from tests.annotation_ui.conftest import work

SAVE = "Save and next"


def fill_in(page: Any, *values: Any) -> Any:
    for radio, value in zip(page.radio, values, strict=True):
        radio.set_value(value)
    return page


def latest(db: RatingsDB) -> dict[str, Any]:
    return dict(db.history("pilot")[-1].answers or {})


def test_an_answer_is_saved_before_the_next_item_is_shown(db: RatingsDB, page: Any) -> None:
    first = next_item(db, "pilot", "ann")
    assert first is not None and db.item("pilot", first.item).item.shown["question"] in texts(page)
    fill_in(page, 2, 7, 5)
    page.text_area[0].set_value(" vague ")
    button(page, SAVE).click().run()
    (revision,) = db.history("pilot")
    assert revision.answers == {"coherence": 2, "consistency": 7, "completeness": 5, "comment": "vague"}
    assert (revision.person, revision.item, revision.form) == ("ann", first.item, "rate_script@4")
    assert revision.seconds is not None and revision.seconds >= 0
    second = next_item(db, "pilot", "ann")
    assert second is not None and db.item("pilot", second.item).item.shown["question"] in texts(page)
    assert [r.value for r in page.radio] == [None, None, None], "the next form is empty"


def test_an_incomplete_form_saves_nothing_and_keeps_what_was_filled_in(db: RatingsDB, page: Any) -> None:
    page.radio[0].set_value(3)
    page.text_area[0].set_value("half way")
    button(page, SAVE).click().run()
    assert db.history("pilot") == []
    (box,) = page.error
    assert "Consistency" in box.value and "(and 1 more)" in box.value and "Coherence" not in box.value
    assert page.radio[0].value == 3 and page.text_area[0].value == "half way"


def test_going_back_shows_the_answer_and_saving_again_keeps_both(db: RatingsDB, page: Any) -> None:
    assert "Previous item" not in [b.label for b in page.button], "there is nothing to go back to"
    button(fill_in(page, 1, 2, 3), SAVE).click().run()
    item = db.history("pilot")[0].item
    button(page, "Previous item").click().run()
    assert [r.value for r in page.radio] == [1, 2, 3]
    page.radio[0].set_value(7)
    button(page, SAVE).click().run()
    assert [(r.item, (r.answers or {})["coherence"]) for r in db.history("pilot")] == [(item, 1), (item, 7)]
    assert [r.value for r in page.radio] == [None, None, None], "and on to the next open item"


def test_going_back_and_on_changes_nothing(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann")
    work(db, "pilot", "ann", 3)
    page = open_page("rate.show_rating", "ann")
    text = texts(page)
    button(page, "Previous item").click().run()
    button(page, "Previous item").click().run()
    button(page, "Next unanswered item").click().run()
    assert texts(page) == text
    assert len(db.history("pilot")) == 3


def test_a_training_item_tells_the_right_answer_once_and_an_attention_item_never(
    db: RatingsDB, store: Store, open_page: Open
) -> None:
    record = {"script": "Step 1: Go"}
    items = [
        RaterControlItem(purpose=p, id=p, shown=record, expected={"executability": 7}, because=f"because {p}")
        for p in ("training", "attention")
    ]
    pilot(db, store, "ann", task="rate_executability", known=items)
    page = open_page("rate.show_rating", "ann")
    assert "training item" in texts(page)
    button(fill_in(page, 2), SAVE).click().run()
    assert (
        "one after another? 7" in page.warning[0].value.replace("\\", "")
        and "because training" in page.warning[0].value
    )
    while next_item(db, "pilot", "ann") is not None:
        button(fill_in(page, 1), SAVE).click().run()
        assert not page.warning and "because" not in texts(page), "nothing tells an attention item from the others"
    purposes = {db.item("pilot", r.item).purpose for r in db.history("pilot")}
    assert purposes == {"training", "attention", "real"}


def test_an_answer_within_the_tolerance_was_right(db: RatingsDB, store: Store, open_page: Open) -> None:
    items = [RaterControlItem(purpose="training", id="t", shown={"script": "s"}, expected={"executability": 7})]
    pilot(db, store, "ann", task="rate_executability", known=items)
    page = open_page("rate.show_rating", "ann")
    button(fill_in(page, 6), SAVE).click().run()
    assert not page.warning and "right" in page.success[0].value


def test_nothing_is_done_while_another_campaign_is_open(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann")
    pilot(db, store, "ann", task="rate_executability", name="other")
    work(db, "pilot", "ann", 11)
    page = open_page("rate.show_rating", "ann")
    button(fill_in(page, 1, 7, 1), SAVE).click().run()
    button(page, "pilot").click().run()
    assert "All done" not in texts(page) and "Another one is waiting" in texts(page)
    button(page, "Continue with: other").click().run()
    assert page.session_state["campaign"] == "other"
    assert "0 of 12 done" in page.get("progress")[0].proto.text
    for a in db.assignments("other", "ann"):
        db.save("other", "ann", a.item, {"executability": 3}, form="rate_executability@3")
    page.run()
    assert "All done" in texts(page)


def test_the_first_campaign_with_something_left_is_opened(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann")
    pilot(db, store, "ann", task="rate_executability", name="other")
    work(db, "pilot", "ann")
    page = open_page("rate.show_rating", "ann")
    assert page.session_state["campaign"] == "other" and len(page.radio) == 1


def test_consent_comes_first_and_is_asked_once(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", consent="You agree to *this*.")
    page = open_page("rate.show_rating", "ann")
    assert "You agree to *this*." in texts(page) and not page.radio
    assert not people.consents(db, "ann")
    button(page, "I agree").click().run()
    assert people.consents(db, "ann")
    assert len(page.radio) == 3
    assert len(open_page("rate.show_rating", "ann").radio) == 3


def test_nobody_agrees_to_a_text_that_they_were_not_shown(db: RatingsDB, store: Store, open_page: Open) -> None:
    """The lead puts another text in place while the first one stands on the screen; then the button is pressed."""
    pilot(db, store, "ann", consent="One text.")
    page = open_page("rate.show_rating", "ann")
    pilot(db, store, "ann", consent="Another text.")
    button(page, "I agree").click().run()
    assert people.consents(db, "ann") == {} and "Another text." in texts(page) and not page.radio
    button(page, "I agree").click().run()
    assert list(people.consents(db, "ann")) == ["Another text."] and len(page.radio) == 3


def test_a_consent_of_hostile_text_stays_text(db: RatingsDB, store: Store, open_page: Open) -> None:
    from tests.support.hostile_text import NAMES

    evil = "\n".join(v for v in NAMES.values() if "\x00" not in v)
    pilot(db, store, "ann", consent=evil)
    page = open_page("rate.show_rating", "ann")
    assert not any("<script" in e.value or "<img" in e.value for e in page.get("html"))
    assert any("&lt;script&gt;" in e.value for e in page.get("html"))
    button(page, "I agree").click().run()
    assert list(people.consents(db, "ann")) == [evil] and len(page.radio) == 3


def _no_more_pages(connection: sqlite3.Connection, path: Path) -> None:
    """A full disk: the file gets no more pages than it has."""
    connection.execute("PRAGMA max_page_count = 1")


@pytest.mark.parametrize("fault", ["full", "locked"])
def test_what_cannot_be_saved_stays_in_the_form(
    db: RatingsDB, page: Any, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    fill_in(page, 2, 7, 5)
    page.text_area[0].set_value("ä" * 3000)
    monkeypatch.setattr(database, "BUSY", 0.05)
    with monkeypatch.context() as patch:
        if fault == "locked":
            db.connection.execute("BEGIN IMMEDIATE")
        else:
            patch.setattr(database, "_prepare", _no_more_pages)
            with RatingsDB(db.path) as other, pytest.raises(StoreError):
                for _ in range(100):  # until the last free page is used
                    other.adjudicate("pilot", db.assignments("pilot")[0].item, "lea", {"comment": "x" * 300})
        button(page, SAVE).click().run()
        if fault == "locked":
            db.connection.execute("ROLLBACK")
    (box,) = page.error
    assert box.value.startswith("That did not work. Try again") and str(db.path) not in box.value
    assert ("disk is full" in box.value) == (fault == "full")
    assert [r.value for r in page.radio] == [2, 7, 5] and page.text_area[0].value == "ä" * 3000
    button(page, SAVE).click().run()
    assert not page.error and latest(db)["comment"] == "ä" * 3000 and len(db.history("pilot")) == 1


def test_somebody_without_work_is_told_so(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann")
    people.invite(db, "bob")
    page = open_page("rate.show_rating", "bob")
    assert "Nothing is assigned" in texts(page) and not page.radio


def test_a_no_without_a_reason_names_the_question_and_what_to_do(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task="filter_question")
    page = open_page("rate.show_rating", "ann")
    button(fill_in(page, "yes", "yes", "yes", "no"), SAVE).click().run()
    (box,) = page.error
    assert "Do exactly two answers" in box.value and "choose a reason" in box.value
    assert "guides" not in box.value and "reasons" not in box.value, "no field's name"
    page.button_group[0].set_value(["other"])
    button(page, SAVE).click().run()
    assert "Something else" in page.error[0].value and "comment" in page.error[0].value
    assert db.history("pilot") == []
    page.text_area[0].set_value("it rhymes")
    button(page, SAVE).click().run()
    assert latest(db) == {
        "meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "no", "reasons": ["other"],
        "comment": "it rhymes",
    }  # fmt: skip


@pytest.mark.parametrize(("task", "keys"), [("rate_script", "1 to 7"), ("filter_question", "y and n")])
def test_only_keys_that_answer_something_are_named(
    db: RatingsDB, store: Store, open_page: Open, task: str, keys: str
) -> None:
    pilot(db, store, "ann", task=task)
    (line,) = [e.value for e in open_page("rate.show_rating", "ann").get("html") if "Keys:" in e.value]
    assert keys in line
    assert ("y and n" in line) != ("1 to 7" in line)


def test_a_long_pause_does_not_count_as_work(db: RatingsDB, page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session_state = page.session_state["begun"]
    page.session_state["begun"] = {i: (start - 90_000, token) for i, (start, token) in session_state.items()}
    button(fill_in(page, 1, 7, 1), SAVE).click().run()
    assert db.history("pilot")[0].seconds == 1800.0


def test_a_task_whose_form_was_changed_takes_no_answers(
    page: Any, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = type(make_task("rate_script"))
    monkeypatch.setattr(cls, "form", cls.form.model_copy(update={"title": "Other words"}))
    page = open_page("rate.show_rating", "ann")
    assert "closed" in page.warning[0].value and not page.radio


def test_a_skip_is_kept_with_its_words_and_can_be_corrected(db: RatingsDB, page: Any) -> None:
    first = next_item(db, "pilot", "ann")
    assert first is not None
    page.text_input[0].set_value("<b>what</b>")
    button(page, "I do not know enough about the subject").click().run()
    assert skipped_items(db, "pilot", "ann") == {first.item: "knowledge: <b>what</b>"}
    assert "0 of 12 done · 1 skipped" in page.get("progress")[0].proto.text and db.history("pilot") == []
    button(page, "Previous item").click().run()
    assert "You skipped this item (I do not know enough about the subject)" in texts(page)
    for radio in page.radio:
        radio.set_value(4)
    button(page, "Save and next").click().run()
    assert skipped_items(db, "pilot", "ann") == {} and db.history("pilot")[0].item == first.item


def test_the_last_item_skipped_ends_the_task(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann")
    work(db, "pilot", "ann", 11)
    page = open_page("rate.show_rating", "ann")
    button(page, "The text is empty or unreadable").click().run()
    assert "All done" in texts(page) and not page.radio


def test_the_time_left_is_that_of_the_persons_own_pace(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann")
    for n, a in enumerate(db.assignments("pilot", "ann")[:6]):
        page = open_page("rate.show_rating", "ann")
        assert ("min left" in page.get("progress")[0].proto.text) == (n >= 5)
        answers = {"coherence": 1, "consistency": 7, "completeness": 1}
        db.save("pilot", "ann", a.item, answers, form=db.campaign("pilot").form, seconds=40.0)
    assert "about 4 min left" in open_page("rate.show_rating", "ann").get("progress")[0].proto.text


def test_a_second_window_replaces_nothing_unsaid_and_keeps_what_is_filled_in(
    db: RatingsDB, store: Store, open_page: Open
) -> None:
    pilot(db, store, "ann")
    first, second = (open_page("rate.show_rating", "ann") for _ in range(2))  # both show the first item
    for n, page in enumerate((first, second)):
        for radio in page.radio:
            radio.set_value(2 + n)
        button(page, "Save and next").click().run()
    (revision,) = db.history("pilot")
    assert "was saved in another window" in second.error[0].value
    assert [r.value for r in second.radio] == [3, 3, 3], "the form stays, though its item is answered"
    second.radio[0].set_value(7)
    button(second, "Save and next").click().run()
    assert [(r.item, (r.answers or {})["coherence"]) for r in db.history("pilot")] == [
        (revision.item, 2),
        (revision.item, 7),
    ]
    assert not second.error and [r.value for r in second.radio] == [None, None, None]


def test_a_form_that_is_not_whole_stays_when_its_item_was_answered_elsewhere(db: RatingsDB, page: Any) -> None:
    work(db, "pilot", "ann", 1)
    page.radio[0].set_value(3)
    page.text_area[0].set_value("half a thought")
    button(page, "Save and next").click().run()
    assert "Please answer: Consistency" in page.error[0].value
    assert (page.radio[0].value, page.text_area[0].value) == (3, "half a thought")


def test_an_answer_that_was_closed_meanwhile_is_not_replaced(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task="rate_executability", name="exec", group="paper")
    pilot(db, store, "ann", task="rate_script", name="rest", group="paper")
    for a in db.assignments("exec", "ann")[:-1]:
        db.save("exec", "ann", a.item, {"executability": 3}, form="rate_executability@3")
    page = open_page("rate.show_rating", "ann")  # the last one is shown
    last = db.assignments("exec", "ann")[-1].item
    db.save("exec", "ann", last, {"executability": 3}, form="rate_executability@3")
    work(db, "rest", "ann")  # its question among the others
    page.radio[0].set_value(6)
    button(page, "Save and next").click().run()
    assert "another task that shows more about this item" in page.error[0].value
    assert [(r.answers or {})["executability"] for r in db.history("exec", item=last)] == [3]


def test_a_draft_waits_while_the_form_is_another(db: RatingsDB, open_page: Open, page: Any) -> None:
    campaign, form = db.campaign("pilot"), make_task("rate_script").form
    keep_draft(db, "pilot", "ann", db.assignments("pilot", "ann")[0].item, {"comment": "half a thought"}, form)
    db.add_campaign(campaign._replace(settings=campaign.settings | {"form_digest": "another"}))
    for radio in page.radio:
        radio.set_value(4)
    button(page, "Save and next").click().run()
    assert "This task is closed" in texts(page) and db.history("pilot") == []
    db.add_campaign(campaign)
    assert open_page("rate.show_rating", "ann").text_area[0].value == "half a thought"


def test_answers_and_skips_are_listed_newest_first(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", "bob")
    assert "not answered anything" in texts(open_page("rate.show_own_answers", "ann"))
    skip_item(db, "pilot", "ann", db.assignments("pilot", "ann")[0].item, "broken: a <i>")
    work(db, "pilot", "ann")
    page = open_page("rate.show_own_answers", "ann")
    assert [b.label for b in page.button].count("Change") == 10 and page.number_input[0].label == "Page (1 to 2)"
    newest = db.history("pilot")[-1]
    assert (
        f"Coherence: does the script fit the new fact? {(newest.answers or {})['coherence']}"
        in page.get("html")[0].value
    )
    page.number_input[0].set_value(2).run()
    assert [b.label for b in page.button].count("Change") == 2 and "Cannot judge" in texts(page)
    assert "a &lt;i&gt;" in "".join(e.value for e in page.get("html"))
    assert "not answered anything" in texts(open_page("rate.show_own_answers", "bob"))


def test_what_a_later_task_has_shown_more_of_is_closed(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task="rate_executability", name="exec", group="paper")
    pilot(db, store, "ann", name="rest", group="paper")
    for a in db.assignments("exec", "ann"):
        db.save("exec", "ann", a.item, {"executability": 3}, form=db.campaign("exec").form)
    work(db, "rest", "ann", 1)
    page = open_page("rate.show_own_answers", "ann")
    assert texts(page).count("cannot be changed: a later task") == 2, (
        "the one that was answered, and the next, which stands open"
    )


HALF = {"meaningful": "no", "reasons": ["duplicate"], "comment": "half a se"}


def test_a_draft_fills_the_form_and_a_save_ends_it(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task="filter_question")
    first = db.assignments("pilot", "ann")[0].item
    keep_draft(db, "pilot", "ann", first, HALF, FilterQuestion.form)
    page = open_page("rate.show_rating", "ann")
    assert [r.value for r in page.radio] == ["no", None, None, None]
    assert (page.button_group[0].value, page.text_area[0].value) == (["duplicate"], "half a se")
    for radio in page.radio[1:]:
        radio.set_value("yes")
    button(page, "Save and next").click().run()
    assert (db.history("pilot")[0].answers or {})["comment"] == "half a se"
    assert read_draft(db, "pilot", "ann", first, FilterQuestion.form) == {}
    assert [r.value for r in page.radio] == [None, None, None, None]


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
