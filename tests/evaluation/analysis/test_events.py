from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.analysis.events import (
    ROUTING,
    UNKNOWN,
    event_tables,
    open_answer_tables,
    routing_value,
    routing_values,
    unknown_values,
    with_ratings,
)
from evaluation.analysis.tables import rates
from evaluation.judge.inputs import open_answers
from evaluation.metrics.base import Metric
from evaluation.metrics.event_answers import EventOpen, EventOpenLocality
from evaluation.metrics.events import EventChoiceLocality, EventFact, EventFactLocality
from evaluation.runs.frame import score_run
from evaluation.runs.results import Run
from schemas.events.questions import SCOPE_LISTS
from schemas.ratings import Rating
from tests.support.evaluation.event_answers import prefers, said, wrote
from tests.support.evaluation.event_runs import event_run
from tests.support.evaluation.open_answers import RIGHT, SAME, WRONG, open_run, rated, tendency_case
from tests.support.events import MOVE, event_case, make_event, make_fact_question, make_tendency

MERGER = event_case()


OUTSIDE = make_tendency("How may rain change?", "C", event=MOVE, scope="out")


MOVED = event_case(
    "case/e/move",
    event=make_event(MOVE, "Corvo Foods moved to Turin."),
    facts=(make_fact_question("Where is Corvo?", "Turin", event=MOVE),),
    tendencies=(OUTSIDE,),
)


ANSWERS = {
    case.key: {k: a for q in case.facts for k, a in said(q, "x").items()}
    | {k: a for q in case.tendencies for k, a in prefers(q, "A").items()}
    for case in (MERGER, MOVED)
}


def mentions(word: str, text: str) -> Any:
    return lambda prompt: f"Event: {text}\n{prompt}" if word in prompt else prompt


def routing(run: Any) -> list[tuple[Any, ...]]:
    """Method, kind, questions, and the means of the columns."""
    rows = rates(routing_values(run), ["method", "kind"], ROUTING, pooled=True)
    return [(*row[:3], *(None if v.mean is None else round(v.mean, 3) for v in row[3:])) for row in rows]


def test_right_another_and_no_event() -> None:
    """The merger's event is found wherever Brenta is named; Corvo's questions all get the merger's."""
    text = MERGER.event.text
    by_name = {
        MERGER.key: (ANSWERS[MERGER.key], mentions("Brenta", text)),
        MOVED.key: (ANSWERS[MOVED.key], mentions("", text)),
    }
    unedited = {key: (answers, None) for key, answers in ANSWERS.items()}
    facts, tendencies = routing(event_run([MERGER, MOVED], {"none": unedited, "bm25": by_name}))
    # in scope: "runs Brenta", "leads Brenta" right, "Where is Corvo" another; out of scope: Genoa without any
    assert facts == ("bm25", "facts", 4, 0.667, 0.333, 0.0, 1.0, 0.75)
    # ticket prices and the merger's rain without any; the move's rain, out of scope, with the merger
    assert tendencies == ("bm25", "tendencies", 3, 0.0, 0.0, 1.0, 0.5, 0.333)


def test_questions_that_were_not_asked_are_not_counted_and_a_method_that_puts_nothing_is_left_out() -> None:
    some = {k: a for k, a in ANSWERS[MERGER.key].items() if k in said(MERGER.facts[0], "x")}
    run = event_run([MERGER], {"ft_lm": {MERGER.key: (some, None)}, "ice": {MERGER.key: (some, mentions("", "x"))}})
    assert routing(run) == [("ice", "facts", 1, 0.0, 1.0, 0.0, None, 0.0)]


def test_questions_that_were_only_asked_openly_are_counted() -> None:
    """A run of open questions alone: the merger's own question with its event, the move's with the merger's."""
    text = MERGER.event.text
    by_name = {
        case.key: ({k: a for q in case.tendencies for k, a in wrote(q, "Prices rise.").items()}, mentions("", text))
        for case in (MERGER, MOVED)
    }
    assert routing(event_run([MERGER, MOVED], {"ice": by_name})) == [
        ("ice", "tendencies", 3, 1.0, 0.0, 0.0, 0.0, 0.333)
    ]


@pytest.mark.parametrize(
    ("kind", "prefix", "accuracy", "inner", "outer"),
    [
        ("facts", "", 0.687, (0.420, 0.027, 0.554), 0.983),
        ("tendencies", "", 0.539, (0.448, 0.217, 0.335), 0.920),
        ("tendencies", "e5_", None, (0.461, 0.539, 0.0), 0.0),
    ],
)
def test_the_released_routing(
    shared: Path, kind: str, prefix: str, accuracy: float | None, inner: tuple[float, ...], outer: float
) -> None:
    """What the authors' SERAC and E5 did, counted from the file that says where each question was sent."""
    file = shared / "data" / "elken" / "serac_routing.jsonl"
    if not file.is_file():
        pytest.skip("the released routing of ELKEN is not here (set SCEDIT_SHARED)")
    field = prefix + {"facts": "fact", "tendencies": "tendency"}[kind]
    rows = [json.loads(line).get(field) for line in file.read_text(encoding="utf-8").splitlines()]
    lists = [(SCOPE_LISTS[name], value) for row in rows if row for name, value in row.items()]
    values = [routing_value("m", kind, str(n), scope, to) for n, (scope, some) in enumerate(lists) for to in some]
    ((_, _, *found, none_outside, right),) = rates(values, ["kind"], ROUTING, pooled=True)
    if accuracy is not None:
        assert right.mean == pytest.approx(accuracy, abs=0.0006)
    assert tuple(v.mean for v in found) == pytest.approx(inner, abs=0.006 if prefix else 0.0006)
    assert (none_outside.mean or 0.0) == pytest.approx(outer, abs=0.0006)


def test_unknown_counted_by_hand() -> None:
    """Said of one gone answer, of the known one and out of scope, in the second case not at all."""
    gone, gone_too = make_fact_question("Who leads it?", "unknown"), make_fact_question("Who owns it?", "unknown")
    known, outside = make_fact_question(), make_fact_question("Where is it?", "Genoa", scope="out")
    one = event_case(facts=(gone, gone_too, known, outside))
    two = event_case("case/two", facts=(known,), tendencies=())
    first = said(gone, "unknown") | said(gone_too, "Ada") | said(known, "Unknown.") | said(outside, "unknown, sorry")
    answers = {one.key: (first, None), two.key: (said(known, "Alba Rail"), None)}
    never = {one.key: (said(gone, "Ada"), None)}
    run = event_run([one, two], {"a": answers, "never": never, "silent": {one.key: ({}, None)}, "c": {}})
    first_row, second_row = rates(unknown_values(run), ["method"], UNKNOWN, pooled=True)
    assert first_row[:2] == ("a", 5)
    assert [v.mean for v in first_row[2:]] == pytest.approx([1 / 3, 1 / 2, 3 / 5])
    assert [v.mean for v in second_row[2:]] == [None, 0.0, 0.0], "what is never said has no precision"


QUESTIONS = tuple(
    make_fact_question(f"Who is mayor of {name}?", "Ada", scope="out") for name in ("Rome", "Pisa", "Bari")
)


RAIN = make_tendency("How may rain change?", "C", scope="out")


CASE = event_case(facts=QUESTIONS, tendencies=(RAIN,))


OTHER = event_case("case/other", facts=QUESTIONS[:1], tendencies=())


METRICS: list[Metric] = [EventFact(), EventFactLocality(), EventChoiceLocality()]


def near(*texts: str, letter: str = "C") -> Any:
    facts = {k: a for q, text in zip(QUESTIONS, texts, strict=False) for k, a in said(q, text).items()}
    return facts | prefers(RAIN, letter)


def test_every_method_next_to_the_placebo() -> None:
    """Of four questions the method leaves three alone and the placebo one; of one tendency the method none."""
    by_method = {
        "none": (near("a", "b", "c"), near("a")),
        "ice": (near("a", "b", "x", letter="A"), near("a")),
        "placebo": (near("x", "y", "c"), near("z")),
    }
    run = event_run([CASE, OTHER], {m: {CASE.key: (a, None), OTHER.key: (b, None)} for m, (a, b) in by_method.items()})
    tables = {t.title: t for t in event_tables(run, score_run(run, METRICS, "mean"), METRICS)}
    facts, tendencies = tables["Locality next to the placebo's"].rows
    assert facts[:2] == ("ice", "Facts, locality") and [v.mean for v in facts[2:]] == pytest.approx([0.75, 0.25, 0.5])
    assert tendencies[1] == "Tendencies, locality" and [v.mean for v in tendencies[2:]] == [0.0, 1.0, -1.0]
    without = run._replace(editors=run.editors[:2])
    titles = [t.title for t in event_tables(without, score_run(without, METRICS, "mean"), METRICS)]
    assert "Locality next to the placebo's" not in titles


CASES = [tendency_case(0, inside=2, outer=2), tendency_case(2, inside=1, outer=0)]


INSIDE = [q.key for c in CASES for q in c.tendencies if q.scope == "in"]


OUTSIDE_OPEN_RATINGS = [q.key for c in CASES for q in c.tendencies if q.scope == "out"]


RUN = open_run(
    CASES,
    {
        "none": dict.fromkeys(INSIDE, WRONG) | dict.fromkeys(OUTSIDE_OPEN_RATINGS, SAME),
        "ice": dict.fromkeys(INSIDE, RIGHT) | {OUTSIDE_OPEN_RATINGS[0]: SAME, OUTSIDE_OPEN_RATINGS[1]: WRONG},
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
    return rated(
        ITEMS["ice", OUTSIDE_OPEN_RATINGS[1]], {"consistency": value}, before=ITEMS["none", OUTSIDE_OPEN_RATINGS[1]]
    )


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
    strange = rated(ITEMS["ice", OUTSIDE_OPEN_RATINGS[1]], {"consistency": 5}, before="0" * 20)
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
