"""What was sent is saved before the next item is shown: answers, skips, and nothing of another item."""

from __future__ import annotations

from typing import Any

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import keep_draft, next_item, skipped_items
from curation.store.store import Store
from tests.annotation_ui.app.conftest import Open, button, pilot, texts
from tests.annotation_ui.conftest import work


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
    page = open_page("rate.show", "ann")
    button(page, "The text is empty or unreadable").click().run()
    assert "All done" in texts(page) and not page.radio


def test_the_time_left_is_that_of_the_persons_own_pace(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann")
    for n, a in enumerate(db.assignments("pilot", "ann")[:6]):
        page = open_page("rate.show", "ann")
        assert ("min left" in page.get("progress")[0].proto.text) == (n >= 5)
        answers = {"coherence": 1, "consistency": 7, "completeness": 1}
        db.save("pilot", "ann", a.item, answers, form=db.campaign("pilot").form, seconds=40.0)
    assert "about 4 min left" in open_page("rate.show", "ann").get("progress")[0].proto.text


def test_a_second_window_replaces_nothing_unsaid_and_keeps_what_is_filled_in(
    db: RatingsDB, store: Store, open_page: Open
) -> None:
    pilot(db, store, "ann")
    first, second = (open_page("rate.show", "ann") for _ in range(2))  # both show the first item
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
    page = open_page("rate.show", "ann")  # the last one is shown
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
    assert open_page("rate.show", "ann").text_area[0].value == "half a thought"
