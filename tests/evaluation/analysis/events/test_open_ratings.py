"""Ratings attached to a run's open answers, and their figures worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.analysis.events import open_answer_tables, with_ratings
from evaluation.judge.inputs import open_answers
from evaluation.metrics.event_answers import EventOpen, EventOpenLocality
from evaluation.runs.frame import score_run
from evaluation.runs.results import Run
from schemas.ratings import Rating
from tests.support.evaluation.open_answers import RIGHT, SAME, WRONG, open_run, rated, tendency_case

CASES = [tendency_case(0, inside=2, outer=2), tendency_case(2, inside=1, outer=0)]
INSIDE = [q.key for c in CASES for q in c.tendencies if q.scope == "in"]
OUTSIDE = [q.key for c in CASES for q in c.tendencies if q.scope == "out"]
RUN = open_run(
    CASES,
    {
        "none": dict.fromkeys(INSIDE, WRONG) | dict.fromkeys(OUTSIDE, SAME),
        "ice": dict.fromkeys(INSIDE, RIGHT) | {OUTSIDE[0]: SAME, OUTSIDE[1]: WRONG},
    },
)
ITEMS = {(a.label, a.answer.question): a.answer.id for a in open_answers(RUN)}


def ratings(values: list[int | None], **message: str) -> list[Rating]:
    """Overall ratings of the answers of ``ice`` in scope; the other aspects are 4."""
    rest = {"accuracy": 4, "coherence": 4, "comprehensiveness": 4}
    return [
        r
        for key, overall in zip(INSIDE, values, strict=False)
        for r in rated(ITEMS["ice", key], {"overall": overall} | (rest if overall is not None else {}), **message)  # type: ignore[arg-type]
    ]


def pair(value: int | None) -> list[Rating]:
    return rated(ITEMS["ice", OUTSIDE[1]], {"consistency": value}, before=ITEMS["none", OUTSIDE[1]])


def open_means(run: Run) -> dict[str, float | None]:
    scores = score_run(run, [EventOpen()], "mean").by_editor
    return {label: EventOpen().summarise(list(score["ev_open"].values())).mean for label, score in scores.items()}


def shown(run: Run) -> dict[tuple[str, str], dict[str, Any]]:
    """Method and aspect -> head -> cell, of the first source."""
    table = open_answer_tables(run)[0]
    return {(str(row[0]), str(row[1])): dict(zip(table.head, row, strict=True)) for row in table.rows}


def test_a_run_without_ratings_is_as_it_was() -> None:
    assert with_ratings(RUN, []) is RUN and with_ratings(RUN, rated("0" * 20, {"overall": 5})) is RUN
    assert open_answer_tables(RUN) == []


def test_figures_by_hand() -> None:
    """Overall 5, 4 and none: of two rated answers one has full marks, both have 4 or more, one of three has none."""
    run = with_ratings(RUN, ratings([5, 4, None]))
    (table,) = open_answer_tables(run)
    assert table.title == "Open answers rated by gpt-x"
    figures = shown(run)
    overall = figures["ice", "overall"]
    assert [overall[h].mean for h in ("Share of 5", "4 or more", "Mean")] == [0.5, 1.0, 4.5]
    assert overall["Answers"] == 3 and overall["Unscored"].mean == pytest.approx(1 / 3)
    accuracy = figures["ice", "accuracy"]
    assert (accuracy["Share of 5"].mean, accuracy["4 or more"].mean) == (0.0, 1.0)
    assert figures["none", "overall"]["Share of 5"].mean is None
    assert open_means(run) == {"none": None, "ice": 0.5}


@pytest.mark.parametrize(("value", "want"), [(5, 1.0), (4, 0.5), (None, 1.0)])
def test_consistency_counts_the_same_words_as_the_same(value: int | None, want: float) -> None:
    run = with_ratings(RUN, pair(value))
    figures = shown(run)["ice", "consistency"]
    assert (figures["Share of 5"].mean, figures["Same words"].mean) == (want, 0.5)
    assert figures["Unscored"].mean == (0.0 if value else 1.0), "of the pairs that were rated"
    scores = score_run(run, [EventOpenLocality()], "mean").by_editor["ice"]["ev_open_local"]
    assert EventOpenLocality().summarise(list(scores.values())).mean == want, "the metric says what the table says"


def test_a_pair_with_the_answer_of_another_run_does_not_count() -> None:
    strange = rated(ITEMS["ice", OUTSIDE[1]], {"consistency": 5}, before="0" * 20)
    assert with_ratings(RUN, strange) is RUN


def test_the_judge_with_most_ratings_counts_and_people_where_there_is_none() -> None:
    people = ratings([5, 5, 5], rater="person:ann")
    assert open_means(with_ratings(RUN, people))["ice"] == 1.0
    judges = [*ratings([4], rater="judge:a"), *ratings([4, 5], rater="judge:b")]
    run = with_ratings(RUN, [*people, *judges])
    assert open_means(run)["ice"] == 0.5, "judge b rated two answers"
    titles = [t.title for t in open_answer_tables(run)]
    assert titles == [f"Open answers rated by {who}" for who in ("b", "a (in no metric)", "people (in no metric)")]


def test_of_several_people_the_lower_median_and_no_lead() -> None:
    some = [r for name, v in (("ann", 5), ("bob", 4), ("eve", 5)) for r in ratings([v], rater=f"person:{name}")]
    assert open_means(with_ratings(RUN, some))["ice"] == 1.0
    assert open_means(with_ratings(RUN, some[: 2 * 4]))["ice"] == 0.0, "of two the lower one"
    lead = Rating.model_validate(
        some[0].model_dump() | {"key": "k", "form": "rate_tendency_adjudicated@1", "rater": "person:lead", "value": 1}
    )
    assert open_means(with_ratings(RUN, [*some, lead]))["ice"] == 1.0


def test_a_newer_form_of_the_same_rater_replaces_the_older_one() -> None:
    both = [*ratings([5]), *ratings([1], version=2)]  # type: ignore[arg-type]
    assert open_means(with_ratings(RUN, both))["ice"] == 0.0
