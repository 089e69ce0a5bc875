"""Tasks about events: what is shown, what is refused, what an answer says."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.event_questions import bare_words, standing_events, triplet_of
from annotation_ui.tasks.open_answers import answered_questions
from curation.rules.rule import EventRule
from curation.rules.selection import SelectionStream
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from schemas.events.questions import FactQuestion
from schemas.lineage import Lineage
from schemas.ratings import TENDENCY, Rating
from schemas.verdicts import Verdict
from tests.support.curation.verdicts import make_verdict
from tests.support.events import MERGER, MOVE, event_case, make_event, make_fact_question
from tests.support.open_answer_records import open_answers


def test_events_that_a_check_drops_are_left_out_and_those_that_people_drop_are_not(events: Store) -> None:
    assert [e.key for e in standing_events(events)] == [MERGER, MOVE]
    events.put([make_verdict(make_event().id, "drop", "person:ann/review_paraphrase@2")])
    assert [e.key for e in standing_events(events)] == [MERGER, MOVE]
    events.put([make_verdict(make_event().id, "drop", "repeats_event@1")])
    assert [e.key for e in standing_events(events)] == [MOVE]


@pytest.mark.parametrize(
    ("name", "count"), [("answer_tendency", 2), ("judge_tendency", 2), ("review_scope", 4), ("review_paraphrase", 1)]
)
def test_every_task_shows_what_its_form_shows_and_no_more(name: str, count: int, events: Store) -> None:
    event = make_event("e/template", "Delta Air has merged with Echo Air.", template="merger")
    events.put([event, make_fact_question(event=event.key)])
    task = make_task(name)
    items = list(task.items(events))
    assert items == list(task.items(events)) and len(items) == count
    for item in items:
        needed = {s.name for s in task.form.shows if not s.optional}
        assert needed <= set(item.shown) <= {s.name for s in task.form.shows}
        good = {f.name: f.allowed[0] for f in task.form.asked_fields()}
        records = task.records(item, good, person="ann")
        assert {r.item_id for r in records} <= set(task.judged(item))  # type: ignore[attr-defined]
        assert len({r.key for r in records}) == len(records)


TASK = make_task("review_scope")


def item_in(events: Store, scope: str, answer: str = "Alba Rail") -> TaskItem:
    expected = answer if scope == "in" else "Genoa"
    return next(i for i in TASK.items(events) if i.stratum == f"{scope} merger" and i.shown["answer"] == expected)


def test_events_of_one_template_are_reviewed_once(events: Store) -> None:
    role = {"role": "Buyer", "entity": {"text": "Delta Air"}}
    second = make_event("e/second", "Delta Air merged with Echo Air.", roles=[role])
    subject = {"text": "Delta Air"}
    questions = [make_fact_question("Which company runs Echo Air?", "Delta Air", event=second.key),
             make_fact_question("Who owns Delta Air?", "Delta Air", event=second.key, subject=subject)]  # fmt: skip
    before = list(TASK.items(events))
    events.put([second, *questions])
    after = list(TASK.items(events))
    assert len(after) == len(before) + 1, "the owner of a Buyer is another triplet, the other question is not"
    assert len(item_in(events, "in").related) == 2
    assert next(i for i in after if i.shown.get("role") == "Buyer").related == (questions[1].id,)


def test_an_unknown_answer_is_a_triplet_of_its_own() -> None:
    event = make_event()
    question, unknown = make_fact_question(), make_fact_question("Who leads it?", "unknown")
    assert triplet_of(event, question) != triplet_of(event, unknown)
    assert triplet_of(event, question)[:3] == ("merger", "", "P127")


@pytest.mark.parametrize(
    ("scope", "change", "right", "label"),
    [
        ("in", "certain", "yes", "keep"),
        ("in", "none", "yes", "drop"),
        ("in", "possible", "yes", "unsure"),
        ("in", "certain", "no", "drop"),
        ("out", "none", "yes", "keep"),
        ("out", "certain", "yes", "drop"),
        ("out", "possible", "no", "drop"),
    ],
)
def test_what_people_say_is_held_against_the_template(
    events: Store, scope: str, change: str, right: str, label: str
) -> None:
    answers: dict[str, Any] = {"change": change, "right": right, "comment": "looked up"}
    records = TASK.records(item_in(events, scope), answers, person="ann")
    assert [v.label for v in records if isinstance(v, Verdict) and v.check == "review_scope"] == [label]


def test_every_question_of_the_triplet_gets_the_verdict_and_more_relations_stand_in_the_reason(events: Store) -> None:
    item = item_in(events, "in").model_copy(update={"related": ("a" * 20, "b" * 20)})
    answers = {"change": "certain", "right": "yes", "missing": " its chair \n\n its seat"}
    records = [v for v in TASK.records(item, answers, person="ann") if isinstance(v, Verdict)]
    assert [v.item_id for v in records if v.label == "keep"] == ["a" * 20, "b" * 20]
    assert {v.reason for v in records if v.label == "keep"} == {"also changes: its chair; its seat"}
    assert TASK.judged(item) == item.related


def test_a_wrong_answer_needs_a_comment(events: Store) -> None:
    assert TASK.form.faults({"change": "certain", "right": "no"}) == ["'right' is no without a comment that says why"]


def test_nobody_is_told_the_scope(events: Store) -> None:
    assert isinstance(next(iter(events.all(FactQuestion))), FactQuestion)
    for item in TASK.items(events):
        assert not {"scope", "in", "out"} & set(item.shown)


TASK_REVIEW_PARAPHRASE = make_task("review_paraphrase")


def put_template_event(store: Store, bare: str) -> str:
    event = make_event("e/template", "In a surprise, Alba Rail has merged with Brenta Rail.", template="merger")
    line = Lineage(item_id=event.id, stage="paraphrase", made_at="2026-11-23", detail={"template_text": bare})
    store.put([event, make_fact_question(event=event.key)], [line])
    return event.id


def test_only_events_of_templates_are_reviewed_beside_their_bare_words_and_answers(events: Store) -> None:
    assert list(TASK_REVIEW_PARAPHRASE.items(events)) == []
    event = put_template_event(events, "Alba Rail merged with Brenta Rail.")
    (item,) = TASK_REVIEW_PARAPHRASE.items(events)
    assert item.id == event and item.case == "e/template"
    assert item.shown["bare"] == "Alba Rail merged with Brenta Rail."
    assert item.shown["answers"] == "1. Which company runs Brenta Rail? → Alba Rail"


def test_bare_words_that_are_the_event_s_own_are_not_shown_twice() -> None:
    event = make_event()
    line = Lineage(item_id=event.id, stage="template", made_at="x", detail={"template_text": event.text})
    assert bare_words(event, [line]) == "" == bare_words(event, [])


def test_a_no_drops_the_event_with_its_reason(events: Store) -> None:
    put_template_event(events, "Alba Rail merged with Brenta Rail in May.")
    (item,) = TASK_REVIEW_PARAPHRASE.items(events)
    answers = {"complete": "no", "nothing_added": "yes", "readable": "yes", "reasons": ["lost"]}
    verdict = TASK_REVIEW_PARAPHRASE.records(item, answers, person="ann")[0]
    assert isinstance(verdict, Verdict)
    assert (verdict.label, verdict.reason) == ("drop", "complete, lost")


JUDGE = make_task("judge_tendency")


def first(events: Store) -> TaskItem:
    return next(i for i in JUDGE.items(events) if "ticket" in i.shown["question"])


def test_the_proposed_answer_stands_with_its_text_and_the_siblings_are_all_others(events: Store) -> None:
    item = first(events)
    assert item.shown["proposed"] == "(A) They rise"
    assert item.shown["siblings"] == "1. How may rainfall in Genoa change?"
    assert item.case == "e/merger" and len(item.related) == 2 and item.stratum == "in merger"


@pytest.mark.parametrize(
    ("answers", "label", "number", "reason"),
    [
        ({"label": "right"}, "keep", 1.0, ""),
        ({"label": "wrong"}, "drop", 0.0, "the proposed answer is wrong"),
        ({"label": "wrong", "comment": "they fall"}, "drop", 0.0, "they fall"),
        ({"label": "wrong", "reasons": ["wording"]}, "drop", 0.0, "wording"),
        ({"label": "unsure", "reasons": ["repeats", "other"], "comment": "2"}, "unsure", 2.0, "repeats, other; 2"),
    ],
)  # fmt: skip
def test_right_keeps_wrong_drops_and_unsure_says_why(
    events: Store, answers: dict[str, Any], label: str, number: float, reason: str
) -> None:
    verdict, record = JUDGE.records(first(events), answers, person="ann")
    assert isinstance(verdict, Verdict) and isinstance(record, Verdict)
    assert (verdict.label, verdict.reason, verdict.by) == (label, reason, "person:ann/judge_tendency@2")
    assert (record.label, record.value, record.unit) == (None, number, "label")


def test_an_impossible_event_leaves_its_other_questions_unsure(events: Store) -> None:
    """One vote a person is the most severe of theirs, so a sibling that the same person keeps is held."""
    item = first(events)
    answers = {"label": "unsure", "reasons": ["impossible_event"]}
    _, _, sibling = JUDGE.records(item, answers, person="ann")
    assert isinstance(sibling, Verdict)
    assert (sibling.item_id, sibling.label, sibling.reason) == (item.related[1], "unsure", "impossible_event")
    other = next(i for i in JUDGE.items(events) if i.id == sibling.item_id)
    events.put([*JUDGE.records(item, answers, person="ann"), *JUDGE.records(other, {"label": "right"}, person="ann")])
    events.put(JUDGE.records(other, {"label": "right"}, person="bo"))
    kept = [q.key for case in SelectionStream(events, EventRule()) for q in case.tendencies]
    assert kept == []


@pytest.mark.parametrize(
    ("answers", "fault"),
    [
        ({"label": "unsure"}, "'label' is unsure without a reason in 'reasons'"),
        ({"label": "unsure", "reasons": ["other"]}, "the reason 'other' needs a comment"),
        ({"label": 2}, "'label' is 2; allowed: right, wrong, unsure"),
        ({"label": ["right"]}, "allowed: right, wrong, unsure"),
        ({}, "'label' has no answer"),
        ({"label": "right", "reasons": ["impossible_event"]}, "'label' is right though the event is impossible"),
        ({"label": "wrong", "reasons": ["wording", "impossible_event"]}, "then the question is unsure"),
    ],
)
def test_what_cannot_be_kept_is_refused(events: Store, answers: dict[str, Any], fault: str) -> None:
    with pytest.raises(DataError) as error:
        JUDGE.records(first(events), answers, person="ann")
    assert fault in str(error.value)


TASK_ANSWER_TENDENCY = make_task("answer_tendency")


def test_nothing_that_is_shown_tells_the_proposed_answer(events: Store) -> None:
    items = list(TASK_ANSWER_TENDENCY.items(events))
    assert len(items) == 2
    for item in items:
        assert set(item.shown) == {"event", "question", "option_a", "option_b", "option_c"}
        assert [item.shown[f"option_{o}"] for o in "abc"] == ["They rise", "They fall", "They stay as they are"]
    assert {TASK_ANSWER_TENDENCY.part(i) for i in items} == {"in scope", "out of scope"}


@pytest.mark.parametrize(("choice", "value"), [("a", 1.0), ("c", 3.0), ("none", 0.0)])
def test_an_answer_is_a_measurement_and_decides_nothing(events: Store, choice: str, value: float) -> None:
    item = next(iter(TASK_ANSWER_TENDENCY.items(events)))
    (records,) = TASK_ANSWER_TENDENCY.records(item, {"own": choice}, person="ann")
    assert isinstance(records, Verdict)
    assert (records.label, records.value, records.unit, records.by) == (
        None,
        value,
        "option",
        "person:ann/answer_tendency_own@2",
    )


def test_it_comes_before_judging() -> None:
    assert make_task("judge_tendency").after == ("answer_tendency",)
    assert TASK_ANSWER_TENDENCY.same_people and make_task("judge_tendency").same_people


def test_answers_by_scope_without_refusals(events: Store) -> None:
    events.put([event_case(), *open_answers()])
    assert [a.key for a, _, _ in answered_questions(events, "in")] == ["ice/price", "none/price"]
    assert [a.key for a, _, _ in answered_questions(events, "out")] == ["bm25/rain", "ice/rain", "none/rain"]
    assert {q.scope for _, _, q in answered_questions(events, "out")} == {"out"}


def test_an_answer_whose_question_is_away_is_refused(events: Store) -> None:
    events.put(open_answers())
    with pytest.raises(UserError, match="is not in the store; put a run's open answers"):
        list(answered_questions(events, "in"))


RATE = make_task("rate_answer")
GOOD = {"accuracy": 4, "coherence": 5, "comprehensiveness": 2, "overall": 5}


@pytest.fixture
def answered(events: Store) -> Store:
    events.put([event_case(), *open_answers()])
    return events


def test_the_form_asks_what_the_rubric_has_and_shows_no_method(answered: Store) -> None:
    assert tuple(f.name for f in RATE.form.asked_fields()) == TENDENCY.aspects
    assert {(f.low, f.high) for f in RATE.form.asked_fields()} == {TENDENCY.points}
    items = list(RATE.items(answered))
    assert [i.shown["answer"] for i in items] == ["Prices rise.", "Prices fall."], "neither refusals nor out of scope"
    assert all(set(i.shown) == {"event", "question", "right", "answer"} for i in items)
    assert {i.shown["right"] for i in items} == {"They rise"} and {i.case for i in items} == {"case/e/merger"}
    assert not any(word in text for i in items for word in ("m@1", "none") for text in i.shown.values())


def test_answers_are_ratings_of_the_rubric(answered: Store) -> None:
    item = next(iter(RATE.items(answered)))
    records = RATE.records(item, {**GOOD, "comment": "fine"}, person="ann")
    ratings = [r for r in records if isinstance(r, Rating)]
    assert {r.aspect: r.value for r in ratings} == GOOD
    assert {(r.rubric, r.scale, r.rater, r.form, r.item_id) for r in ratings} == {
        ("tendency", "likert5", "person:ann", "rate_answer@2", item.id)
    }


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"accuracy": 3}, "where accuracy is 3 or less, overall is 3 or less"),
        ({"overall": 6}, "allowed: 1 to 5"),
        ({"coherence": 0}, "allowed: 1 to 5"),
        ({"coherence": True}, "allowed: 1 to 5"),
    ],
)
def test_the_rule_and_the_scale_hold_for_people_too(answered: Store, change: dict[str, object], reason: str) -> None:
    item = next(iter(RATE.items(answered)))
    with pytest.raises(DataError, match=reason):
        RATE.records(item, {**GOOD, **change}, person="ann")


TASK_RATE_ANSWER_PAIR = make_task("rate_answer_pair")


def test_pairs_out_of_scope_that_differ(events: Store) -> None:
    answers = {a.key: a for a in open_answers()}
    events.put([event_case(), *answers.values()])
    (item,) = TASK_RATE_ANSWER_PAIR.items(events)
    assert (item.id, item.related) == (answers["ice/rain"].id, (answers["none/rain"].id,))
    assert (item.shown["before"], item.shown["answer"]) == ("Rain stays.", "Rain grows.")
    (rating,) = TASK_RATE_ANSWER_PAIR.records(item, {"consistency": 1}, person="ann")
    assert isinstance(rating, Rating) and (rating.rubric, rating.value) == ("consistency", 1)
    assert (rating.item_id, rating.before_id) == (item.id, *item.related)
