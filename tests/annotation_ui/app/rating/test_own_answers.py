"""One's own answers: all of them, page by page, and nobody else's."""

from __future__ import annotations

from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import skip_item
from curation.store.store import Store
from tests.annotation_ui.app.conftest import Open, button, pilot, texts
from tests.annotation_ui.conftest import work


def test_answers_and_skips_are_listed_newest_first(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", "bob")
    assert "not answered anything" in texts(open_page("rating.own_answers.show", "ann"))
    skip_item(db, "pilot", "ann", db.assignments("pilot", "ann")[0].item, "broken: a <i>")
    work(db, "pilot", "ann")
    page = open_page("rating.own_answers.show", "ann")
    assert [b.label for b in page.button].count("Change") == 10 and "Page 1 of 2" in texts(page)
    newest = db.history("pilot")[-1]
    assert (
        f"Coherence: does the script fit the new fact? {(newest.answers or {})['coherence']}"
        in page.get("html")[0].value
    )
    button(page, "Older answers").click().run()
    assert [b.label for b in page.button].count("Change") == 2 and "Cannot judge" in texts(page)
    assert "a &lt;i&gt;" in "".join(e.value for e in page.get("html"))
    assert "not answered anything" in texts(open_page("rating.own_answers.show", "bob"))


def test_what_a_later_task_has_shown_more_of_is_closed(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task="rate_executability", name="exec", group="paper")
    pilot(db, store, "ann", name="rest", group="paper")
    for a in db.assignments("exec", "ann"):
        db.save("exec", "ann", a.item, {"executability": 3}, form=db.campaign("exec").form)
    work(db, "rest", "ann", 1)
    page = open_page("rating.own_answers.show", "ann")
    assert texts(page).count("cannot be changed: a later task") == 2, (
        "the one that was answered, and the next, which stands open"
    )
