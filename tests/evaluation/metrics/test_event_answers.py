"""Open answers: every metric on a case worked by hand; what is not rated or unscored is never a zero."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.metrics.base import Answers
from evaluation.metrics.event_answers import (
    NOT_RATED,
    EventAllOpenWhole,
    EventOpen,
    EventOpenAccuracy,
    EventOpenCoherence,
    EventOpenComprehensiveness,
    EventOpenLocality,
    EventOpenWhole,
    RatedAnswer,
)
from schemas.answers import Answer, CaseScores
from schemas.cases import EventCase
from tests.support.evaluation.event_answers import said
from tests.support.evaluation.open_answers import RIGHT, SAME, WRONG, tendency_case, wrote
from tests.support.events import event_case

TWO = tendency_case(inside=2, outer=2)
FIRST, SECOND = (q.key for q in TWO.tendencies if q.scope == "in")
OUT, OTHER = (q.key for q in TWO.tendencies if q.scope == "out")


def answers(case: EventCase, ratings: dict[str, dict[str, int | None]], texts: dict[str, str] | None = None) -> Answers:
    """Answers with ratings of the judge "j" by question; a question without an entry is answered and not rated."""
    out: dict[str, Answer] = {}
    for question in case.tendencies:
        value = wrote(case, {question.key: (texts or {}).get(question.key, RIGHT)})
        for probe, answer in value.items():
            fields: dict[str, Any] = {"probe": probe, "written": answer.written}
            if question.key in ratings:
                fields |= {"rated_by": {"other": {"overall": 1}, "j": ratings[question.key]}, "source": "j"}
                out[probe] = RatedAnswer(**fields)
            else:
                out[probe] = answer
    return out


def full(
    overall: int | None, accuracy: int | None = 5, coherence: int | None = 4, whole: int | None = 2
) -> dict[str, int | None]:
    return {"accuracy": accuracy, "coherence": coherence, "comprehensiveness": whole, "overall": overall}


def score(metric: Any, after: Answers, before: Answers | None = None, case: EventCase = TWO) -> CaseScores:
    scores: CaseScores = metric.score(case, after, before or {}, "mean")
    return scores


def values(scores: CaseScores) -> list[float | None]:
    return [i.value for i in scores.items]


def test_open_answers_get_full_marks_or_not() -> None:
    after = answers(TWO, {FIRST: full(5), SECOND: full(4)})
    assert values(score(EventOpen(), after)) == [1.0, 0.0]
    assert values(score(EventOpenAccuracy(), after)) == [1.0, 1.0]
    assert values(score(EventOpenCoherence(), after)) == [0.0, 0.0]
    assert values(score(EventOpenComprehensiveness(), after)) == [0.0, 0.0]
    assert [i.item for i in score(EventOpen(), after).items] == [FIRST, SECOND], "questions in scope only"


@pytest.mark.parametrize(
    ("first", "second", "want"),
    [(5, 5, 1.0), (5, 4, 0.0), (None, 4, 0.0), (5, None, None), (None, None, None), ("missing", 5, None)],
)
def test_whole_events(first: Any, second: Any, want: float | None) -> None:
    """All overall ratings are 5; one that is lower decides, whatever is unscored beside it."""
    ratings = {SECOND: full(second)} | ({} if first == "missing" else {FIRST: full(first)})
    (item,) = score(EventOpenWhole(), answers(TWO, ratings)).items
    assert item.value == want and bool(item.reason) == (want is None)


def test_unscored_and_not_rated_are_no_zero_and_say_why() -> None:
    answer_list = score(EventOpen(), answers(TWO, {FIRST: full(None)}))
    assert values(answer_list) == [None, None]
    assert [i.reason for i in answer_list.items] == ["the rating of overall is unscored", NOT_RATED]
    summary = EventOpen().summarise([answer_list])
    assert (summary.mean, summary.items, summary.unscored) == (None, 0, 2)
    assert values(score(EventOpen(), {})) == [None, None], "no answer at all"


def test_facts_and_open_answers_together() -> None:
    case = event_case()
    key = next(q.key for q in case.tendencies if q.scope == "in")
    right = {**said(case.facts[0], "Alba Rail"), **said(case.facts[1], "unknown"), **said(case.facts[2], "Rome")}
    wrong = {**right, **said(case.facts[1], "Ada")}
    for facts, overall, want in ((right, 5, 1.0), (right, 4, 0.0), (wrong, 5, 0.0), (right, None, None)):
        after = {**facts, **answers(case, {key: full(overall)})}
        assert values(score(EventAllOpenWhole(), after, case=case)) == [want]
    assert score(EventAllOpenWhole(), right, case=event_case(tendencies=())).items == (), "no tendency question"


def test_locality_is_the_rating_of_the_pair() -> None:
    texts = {OUT: SAME, OTHER: WRONG}
    before = answers(TWO, {}, {OUT: SAME + " Mostly.", OTHER: RIGHT})
    after = answers(TWO, {OUT: {"consistency": 5}, OTHER: {"consistency": 4}}, texts)
    assert values(score(EventOpenLocality(), after, before)) == [1.0, 0.0]
    unscored = answers(TWO, {OUT: {"consistency": None}}, texts)
    assert [i.reason for i in score(EventOpenLocality(), unscored, before).items] == [
        "the rating of consistency is unscored",
        NOT_RATED,
    ]


def test_the_same_words_say_the_same_without_a_rater() -> None:
    before, after = answers(TWO, {}, {OUT: SAME}), answers(TWO, {}, {OUT: SAME + "\n"})
    assert values(score(EventOpenLocality(), after, before)) == [1.0, 1.0]
    variants = {p: a.model_copy(update={"error": "out of memory", "written": None}) for p, a in before.items()}
    scores = score(EventOpenLocality(), after, variants)
    assert values(scores) == [None, None] and scores.items[0].reason == "before the edit: out of memory"
