"""Marked words: their shape, their place in the shown text, and what is stored of them."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.campaigns.campaign import form_digest, make_task
from annotation_ui.tasks import TASKS
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.forms import (
    MOST_SPANS,
    mark,
    markable,
    read_spans,
    span_faults,
    stored_spans,
    text_digest,
)
from schemas.core.errors import DataError
from schemas.ratings import Rating
from schemas.verdicts import Verdict

CUT = "Step 1: Fly 🛫 to Lima\nStep 2: visit"
SHOWN = {"edit": "Peru: Lima → Oslo", "question": "How do I get to Peru?", "cut": CUT}
ITEM = TaskItem(id="0" * 20, case="c/1", shown=SHOWN)
FILTER = make_task("filter_question", spans=True)
YES = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}
LIMA = mark(SHOWN, "cut", CUT.index("Lima"), CUT.index("Lima") + 4, "leak")


def marked(**changes: Any) -> dict[str, Any]:
    return {**YES, "marked": [{**LIMA, **changes}]}


def test_offsets_count_characters_not_units() -> None:
    assert LIMA["words"] == "Lima" and LIMA["start"] == 17 == len("Step 1: Fly 🛫 to ")
    assert FILTER.faults(ITEM, {**YES, "marked": [LIMA]}) == []


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (marked(words="Oslo"), "other words"),
        (marked(end=10**9), "other words"),
        (marked(digest="0" * 16), "another text"),
        (marked(text="edit"), "'edit'; allowed: question, cut"),
        (marked(text="x" * 10**6), "allowed: question, cut"),
        (marked(start=21, end=17), "where no words are"),
        (marked(start=-1), "where no words are"),
        (marked(start=True), "no mark"),
        (marked(start=17.0), "no mark"),
        (marked(label="other"), "labelled 'other'; allowed: leak, fail"),
        (marked(more=1), "no mark"),
        (marked(text="\ud800"), "allowed: question, cut"),
        (marked(words="\ud83d", start=11, end=12), "other words"),
        (marked(start=10**4000, end=10**4001), "other words"),
        (marked(start=17, end=17), "where no words are"),
        (marked(digest=LIMA["digest"].upper()), "another text"),
        (marked(label="leak "), "labelled 'leak '"),
        ({**YES, "marked": [LIMA, {**LIMA, "start": 13, "end": 21, "words": "to Lima"}]}, "twice"),
        ({**YES, "marked": "[{"}, "not a list"),
        ({**YES, "marked": {"text": "cut"}}, "not a list"),
        ({**YES, "marked": [None]}, "no mark"),
        ({**YES, "marked": [LIMA, LIMA]}, "twice"),
        ({**YES, "marked": [LIMA] * (MOST_SPANS + 1)}, "at most"),
    ],
)
def test_what_is_no_mark_is_refused_in_a_short_sentence(answers: dict[str, Any], message: str) -> None:
    (fault,) = FILTER.faults(ITEM, answers)
    assert message in fault and len(fault) < 200 and fault.encode()
    with pytest.raises(DataError):
        FILTER.records(ITEM, answers, person="ann")


def test_the_same_words_may_leak_and_fail() -> None:
    assert FILTER.faults(ITEM, {**YES, "marked": [LIMA, {**LIMA, "label": "fail"}]}) == []


def test_a_verdict_keeps_the_marks_with_label_text_and_digest() -> None:
    first, *rest = FILTER.records(ITEM, {**YES, "marked": [LIMA]}, person="ann")
    assert isinstance(first, Verdict) and first.label == "keep"
    (span,) = first.spans
    assert CUT[span.start : span.end] == span.text == "Lima"
    assert span.what == f"leak in cut, sha256:{text_digest(CUT)}"
    assert all(isinstance(r, Verdict) and not r.spans for r in rest)


def test_ratings_keep_theirs_in_a_verdict_of_its_own_which_a_later_answer_replaces() -> None:
    task = make_task("rate_executability", spans=True)
    item = TaskItem(id="1" * 20, case="c/1", shown={"script": "Step 1: Go"})
    words = mark(item.shown, "script", 8, 10, "fail")
    rating, verdict = task.records(item, {"executability": 2, "marked": [words]}, person="ann")
    assert isinstance(rating, Rating) and isinstance(verdict, Verdict)
    assert verdict.by == "person:ann/rate_executability_spans@3" and verdict.value == 1 and verdict.label is None
    assert [s.text for s in verdict.spans] == ["Go"]
    later = task.records(item, {"executability": 2}, person="ann")[1]
    assert later.key == verdict.key and isinstance(later, Verdict) and later.value == 0 and later.spans == ()


@pytest.mark.parametrize("name", TASKS.names())
def test_marked_words_of_every_task_reach_the_store(name: str) -> None:
    task = make_task(name, spans=True)
    shown = {text.name: "Step 1: Go" for text in task.form.shows}
    one, other = "1" * 20, "2" * 20
    related = (one, other) if name.startswith("compare") else (other,)
    item = TaskItem(id=one, case="c/1", shown=shown, related=related)
    good = {f.name: 1 if f.kind == "scale" else f.allowed[0] for f in task.form.asked_fields()}
    if name == "review_level":  # approved: then no other level is named
        del good["level"]
    words = mark(shown, markable(task.form)[0].name, 8, 10, task.span_labels[0].value)
    records = task.records(item, {**good, "marked": [words]}, person="ann")
    assert "Go" in [span.text for r in records if isinstance(r, Verdict) for span in r.spans]


@pytest.mark.parametrize("name", TASKS.names())
def test_every_task_takes_marks_where_a_campaign_asks_for_them(name: str) -> None:
    plain, task = make_task(name), make_task(name, spans=True)
    assert plain.form.label == task.form.label, "the questions are the same"
    assert form_digest(plain.form) != form_digest(task.form)
    assert [f.name for f in task.form.fields if f.kind == "spans"] == ["marked"] and markable(task.form)
    assert not [f for f in plain.form.fields if f.kind == "spans"], "the class was left as it is"
    assert task.with_spans().form == task.form
    assert task.form.asked_fields() == plain.form.asked_fields()


def test_an_old_answer_is_read_by_a_form_that_takes_marks() -> None:
    assert FILTER.faults(ITEM, YES) == [] and stored_spans(FILTER.form, YES) == ()
    assert span_faults(make_task("filter_question").form, SHOWN, {"marked": [LIMA]}) == []


@pytest.mark.parametrize(
    ("payload", "content"), [("", []), (" ", []), ("[1]", [1]), ("{", "{"), ("[" * 10**5, "[" * 10**5)]
)
def test_what_the_page_sends_is_read_without_a_traceback(payload: str, content: Any) -> None:
    assert read_spans(payload) == content
