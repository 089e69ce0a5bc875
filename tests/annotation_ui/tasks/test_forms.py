"""Forms, what every task keeps to, and marked words."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.campaigns.campaign import form_digest, make_task
from annotation_ui.tasks import TASKS
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.forms import (
    COMMENT_LENGTH,
    MOST_SPANS,
    Field,
    FieldOption,
    mark,
    markable,
    read_spans,
    span_faults,
    stored_spans,
    text_digest,
)
from annotation_ui.tasks.generated_scripts import RateScript
from annotation_ui.tasks.script_questions import FilterQuestion, QualitySample
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.ratings import Rating
from schemas.verdicts import Verdict

YES = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}
SEVEN = {"coherence": 7, "consistency": 7, "completeness": 7}


@pytest.mark.parametrize("name", TASKS.names())
def test_every_form_passes_a_good_answer_and_refuses_an_empty_one(name: str) -> None:
    form = TASKS.get(name).form
    good = {f.name: f.high if f.kind == "scale" else f.allowed[0] for f in form.asked_fields()}
    assert form.faults(good) == []
    assert len(form.faults({})) == sum(field.required for field in form.asked_fields())
    assert form.name == name
    assert form.fields[-1].name == "comment"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"guides": "maybe"}, "'guides' is 'maybe'; allowed: yes, no"),
        ({"guides": None}, "'guides' has no answer"),
        ({"guides": "no"}, "'guides' is no without a reason in 'reasons'"),
        ({"guides": "no", "reasons": ["target_not_forced", "x"]}, "'reasons' names 'x'; allowed: not_asked"),
        ({"guides": "no", "reasons": "other"}, "'reasons' is not a list of different choices"),
        ({"guides": "no", "reasons": ["other"]}, "the reason 'other' needs a comment"),
        ({"reasons": ["other", "other"], "comment": "x"}, "'reasons' is not a list of different choices"),
        ({"comment": 3}, "'comment' is not text"),
        ({"comment": "x" * (COMMENT_LENGTH + 1)}, "longer than"),
        ({"score": 9}, "unknown field 'score'"),
    ],
)
def test_filter_faults(change: dict[str, Any], fault: str) -> None:
    faults = FilterQuestion.form.faults({**YES, **change})
    assert len(faults) == 1
    assert fault in faults[0]


@pytest.mark.parametrize("value", [0, 8, 9, "7", 3.0, True, [3], float("nan")])
def test_a_scale_takes_its_integers_only(value: Any) -> None:
    faults = RateScript.form.faults({**SEVEN, "consistency": value})
    assert len(faults) == 1
    assert "allowed: 1 to 7" in faults[0]


def test_a_no_of_the_quality_sample_says_why() -> None:
    answers = {"question": "no", "change": "yes", "cut": "yes"}
    assert QualitySample.form.faults(answers) == ["'question' is no without a comment that says why"]
    assert QualitySample.form.faults({**answers, "comment": "nonsense"}) == []


def test_clean_keeps_the_order_and_drops_what_is_empty() -> None:
    clean = FilterQuestion.form.clean({"comment": "  ", "reasons": [], **YES, "unknown": 1})
    assert list(clean) == ["meaningful", "depends", "changes", "guides"]


def test_malformed_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="has choices"):
        Field(name="x", kind="yes_no", asks="?", choices=(FieldOption(value="a", text="A"),))
    with pytest.raises(ValueError, match="lower to a higher"):
        Field(name="x", kind="scale", asks="?", low=7, high=1)


ITEM = TaskItem(id="a" * 20, case="c/1", shown={})


def verdicts(answers: dict[str, Any], *, person: str = "ann") -> dict[str, Verdict]:
    records = FilterQuestion().records(ITEM, answers, person=person)
    return {v.check: v for v in records if isinstance(v, Verdict)}


ABOUT_EVENTS = (
    *("answer_tendency", "judge_tendency", "review_scope", "review_paraphrase"),
    *("rate_answer", "rate_answer_pair"),
)
"""They keep to the same in ``events/test_event_items.py``, on a store of events."""
ABOUT_DOCUMENTS = ("curate_probe", "review_level")
"""They keep to the same in ``documents``, on a store of documents."""


@pytest.mark.parametrize(
    "name", [n for n in TASKS.names() if n not in ("verify_leak", "screen_question", *ABOUT_EVENTS, *ABOUT_DOCUMENTS)]
)
def test_every_task_shows_what_its_form_shows_and_no_more(name: str, store: Store) -> None:
    task = make_task(name)
    items = list(task.items(store))
    assert items == list(task.items(store))
    assert len(items) == (12 if task.level == "ordinal" else 6 if name.startswith("compare") else 24)
    for item in items:
        needed = {s.name for s in task.form.shows if not s.optional}
        assert needed <= set(item.shown) <= {s.name for s in task.form.shows}
        good = {f.name: 4 if f.kind == "scale" else f.allowed[0] for f in task.form.asked_fields()}
        records = task.records(item, good, person="ann")
        assert {r.item_id for r in records} <= set(task.judged(item))  # type: ignore[attr-defined]
        assert len({r.key for r in records}) == len(records)


def test_three_times_yes_keeps_and_each_yes_is_a_measurement() -> None:
    records = verdicts(YES)
    assert list(records) == [
        "filter_question", "filter_question_meaningful", "filter_question_depends", "filter_question_changes",
        "filter_question_guides",
    ]  # fmt: skip
    assert (records["filter_question"].label, records["filter_question"].reason) == ("keep", "")
    assert [v.value for v in records.values()] == [None, 1.0, 1.0, 1.0, 1.0]
    assert all(v.item_id == ITEM.id and v.by == f"person:ann/{check}@3" for check, v in records.items())


def test_one_no_drops_and_the_reason_names_question_reasons_and_comment_in_that_order() -> None:
    answers = {**YES, "guides": "no", "changes": "no", "reasons": ["duplicate", "other"], "comment": "it; repeats"}
    records = verdicts(answers)
    assert records["filter_question"].label == "drop"
    assert records["filter_question"].reason == "changes, guides, duplicate, other; it; repeats"
    assert records["filter_question_guides"].value == 0.0
    assert records["filter_question_meaningful"].value == 1.0


def test_a_comment_on_a_kept_item_is_not_lost() -> None:
    assert verdicts({**YES, "comment": "fine"})["filter_question"].reason == "fine"


def test_answers_that_do_not_pass_name_item_form_and_how_many_faults() -> None:
    with pytest.raises(DataError) as error:
        FilterQuestion().records(ITEM, {"meaningful": "yes", "zeal": 1}, person="ann")
    assert error.value.what == "unknown field 'zeal' (and 3 more faults)"
    assert ITEM.id in str(error.value.where) and "filter_question@3" in str(error.value.where)
    with pytest.raises(DataError) as error:
        FilterQuestion().records(ITEM, {**YES, "guides": "perhaps"}, person="ann")
    assert "more faults" not in error.value.what


def test_what_is_kept_is_tidied_first() -> None:
    tidy = FilterQuestion().checked(ITEM, {"comment": " why \n", **YES, "reasons": []})
    assert tidy == {**YES, "comment": "why"} and list(tidy)[-1] == "comment"


CUT = "Step 1: Fly 🛫 to Lima\nStep 2: visit"
SHOWN = {"edit": "Peru: Lima → Oslo", "question": "How do I get to Peru?", "cut": CUT}
CUT_ITEM = TaskItem(id="0" * 20, case="c/1", shown=SHOWN)
FILTER = make_task("filter_question", spans=True)
LIMA = mark(SHOWN, "cut", CUT.index("Lima"), CUT.index("Lima") + 4, "leak")


def marked(**changes: Any) -> dict[str, Any]:
    return {**YES, "marked": [{**LIMA, **changes}]}


def test_offsets_count_characters_not_units() -> None:
    assert LIMA["words"] == "Lima" and LIMA["start"] == 17 == len("Step 1: Fly 🛫 to ")
    assert FILTER.faults(CUT_ITEM, {**YES, "marked": [LIMA]}) == []


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
    (fault,) = FILTER.faults(CUT_ITEM, answers)
    assert message in fault and len(fault) < 200 and fault.encode()
    with pytest.raises(DataError):
        FILTER.records(CUT_ITEM, answers, person="ann")


def test_the_same_words_may_leak_and_fail() -> None:
    assert FILTER.faults(CUT_ITEM, {**YES, "marked": [LIMA, {**LIMA, "label": "fail"}]}) == []


def test_a_verdict_keeps_the_marks_with_label_text_and_digest() -> None:
    first, *rest = FILTER.records(CUT_ITEM, {**YES, "marked": [LIMA]}, person="ann")
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
    assert FILTER.faults(CUT_ITEM, YES) == [] and stored_spans(FILTER.form, YES) == ()
    assert span_faults(make_task("filter_question").form, SHOWN, {"marked": [LIMA]}) == []


@pytest.mark.parametrize(
    ("payload", "content"), [("", []), (" ", []), ("[1]", [1]), ("{", "{"), ("[" * 10**5, "[" * 10**5)]
)
def test_what_the_page_sends_is_read_without_a_traceback(payload: str, content: Any) -> None:
    assert read_spans(payload) == content
