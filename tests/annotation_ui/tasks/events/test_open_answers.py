from __future__ import annotations

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.tasks.open_answers import answered_questions
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from schemas.ratings import TENDENCY, Rating
from tests.support.events import event_case
from tests.support.open_answer_records import open_answers


def test_answers_by_scope_without_refusals(events: Store) -> None:
    events.put([event_case(), *open_answers()])
    assert [a.key for a, _, _ in answered_questions(events, "in")] == ["ice/price", "none/price"]
    assert [a.key for a, _, _ in answered_questions(events, "out")] == ["bm25/rain", "ice/rain", "none/rain"]
    assert {q.scope for _, _, q in answered_questions(events, "out")} == {"out"}


def test_an_answer_whose_question_is_away_is_refused(events: Store) -> None:
    events.put(open_answers())
    with pytest.raises(UserError, match="is not in the store; put a run's open answers"):
        list(answered_questions(events, "in"))


TASK = make_task("rate_answer")
GOOD = {"accuracy": 4, "coherence": 5, "comprehensiveness": 2, "overall": 5}


@pytest.fixture
def answered(events: Store) -> Store:
    events.put([event_case(), *open_answers()])
    return events


def test_the_form_asks_what_the_rubric_has_and_shows_no_method(answered: Store) -> None:
    assert tuple(f.name for f in TASK.form.asked_fields()) == TENDENCY.aspects
    assert {(f.low, f.high) for f in TASK.form.asked_fields()} == {TENDENCY.points}
    items = list(TASK.items(answered))
    assert [i.shown["answer"] for i in items] == ["Prices rise.", "Prices fall."], "neither refusals nor out of scope"
    assert all(set(i.shown) == {"event", "question", "right", "answer"} for i in items)
    assert {i.shown["right"] for i in items} == {"They rise"} and {i.case for i in items} == {"case/e/merger"}
    assert not any(word in text for i in items for word in ("m@1", "none") for text in i.shown.values())


def test_answers_are_ratings_of_the_rubric(answered: Store) -> None:
    item = next(iter(TASK.items(answered)))
    records = TASK.records(item, {**GOOD, "comment": "fine"}, person="ann")
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
    item = next(iter(TASK.items(answered)))
    with pytest.raises(DataError, match=reason):
        TASK.records(item, {**GOOD, **change}, person="ann")


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
