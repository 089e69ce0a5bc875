"""What was sent is saved before the next item is shown: answers, skips, and nothing of another item."""

from __future__ import annotations

from annotation_ui.app.rating.saving import field_keys, save_key
from annotation_ui.campaigns.campaign import make_task, next_item
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.skips import skipped_items
from curation.store.store import Store
from tests.annotation_ui.app.conftest import Open, button, pilot, texts
from tests.annotation_ui.conftest import work


def test_keys_of_two_items_never_meet() -> None:
    form = make_task("rate_script").form
    keys = [*field_keys("c", "a", form).values(), *field_keys("c", "b", form).values(), save_key("c", "a")]
    assert len(set(keys)) == len(keys) == 9


def test_a_skip_is_kept_with_its_words_and_can_be_corrected(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann")
    first = next_item(db, "pilot", "ann")
    assert first is not None
    page = open_page("rate.show", "ann")
    page.text_input[0].set_value("<b>what</b>")
    button(page, "I would have to know more").click().run()
    assert skipped_items(db, "pilot", "ann") == {first.item: "knowledge: <b>what</b>"}
    assert "0 of 12 done · 1 skipped" in page.get("progress")[0].proto.text and db.history("pilot") == []
    button(page, "Previous item").click().run()
    assert "You skipped this item (I would have to know more)" in texts(page)
    for radio in page.radio:
        radio.set_value(4)
    button(page, "Save and next").click().run()
    assert skipped_items(db, "pilot", "ann") == {} and db.history("pilot")[0].item == first.item


def test_the_last_item_skipped_ends_the_task(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann")
    work(db, "pilot", "ann", 11)
    page = open_page("rate.show", "ann")
    button(page, "The text is broken or empty").click().run()
    assert "All done" in texts(page) and not page.radio


def test_the_time_left_is_that_of_the_persons_own_pace(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann")
    for n, a in enumerate(db.assignments("pilot", "ann")[:6]):
        page = open_page("rate.show", "ann")
        assert ("min left" in page.get("progress")[0].proto.text) == (n >= 5)
        answers = {"coherence": 1, "consistency": 7, "completeness": 1}
        db.save("pilot", "ann", a.item, answers, form=db.campaign("pilot").form, seconds=40.0)
    assert "about 4 min left" in open_page("rate.show", "ann").get("progress")[0].proto.text
