"""Guidelines: those of one's own tasks, each once, with every anchor and reason."""

from __future__ import annotations

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from tests.annotation_ui.app.conftest import Open, pilot, texts


def headings(page: object) -> list[str]:
    return [s.value for s in page.subheader]  # type: ignore[attr-defined]


def test_people_read_their_own_tasks_and_the_lead_reads_all(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task="rate_script")
    people.invite(db, "bob")
    for name in ("questions", "questions-2"):
        pilot(db, store, "ann", "bob", task="filter_question", name=name)
    people.invite(db, "cho")
    one, two = (f"{make_task(t).form.title} ({make_task(t).form.label})" for t in ("rate_script", "filter_question"))
    assert headings(open_page("guidelines.show", "ann")) == [one, two], "two campaigns of a task have one guideline"
    assert headings(open_page("guidelines.show", "bob")) == [two]
    assert headings(open_page("guidelines.show", "lea")) == [one, two]
    nobody = open_page("guidelines.show", "cho")
    assert headings(nobody) == [] and "Nothing is assigned" in texts(nobody)


def test_every_question_hint_anchor_and_reason_is_there(db: RatingsDB, store: Store, open_page: Open) -> None:
    for n, task in enumerate(("rate_script", "filter_question", "quality")):
        pilot(db, store, "ann", task=task, name=f"c{n}")
    text = texts(open_page("guidelines.show", "ann"))
    for task in ("rate_script", "filter_question", "quality"):
        form = make_task(task).form
        for f in form.fields:
            if f.kind == "text":
                continue
            assert f.asks in text
            assert f.hint in text
            assert all(c.text in text for c in f.choices)
            if f.kind == "scale":
                assert f"{f.low} = {f.low_text}" in text and f"{f.high} = {f.high_text}" in text
