"""Steps and relations add up to the whole; events by size, EM by tag and the constant answer by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from curation.stats.bounded import bounded_interval
from evaluation.analysis import breakdown
from evaluation.analysis.breakdown import (
    asked_probes,
    breakdowns,
    by_tag,
    constant_by_group,
    constant_hits,
    events_by_questions,
    pooled_share,
)
from evaluation.metrics.base import Metric
from evaluation.metrics.events import EventFact, EventFactWhole
from evaluation.runs.frame import score_run
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import load_run
from schemas.documents.tags import Tag
from tests.support.documents.records import make_probe
from tests.support.documents.runs import METRICS as DOCUMENT_METRICS
from tests.support.documents.runs import document_run, numbered_case, scores_of
from tests.support.evaluation.event_answers import said
from tests.support.evaluation.event_runs import event_run
from tests.support.events import event_case, make_fact_question
from tests.support.report import two_runs
from tests.support.report.two_runs import METRICS

two = two_runs.two


def test_steps_and_relations_add_up_to_the_whole(two: Path) -> None:
    run, metrics = load_run(two), load_metrics(METRICS)
    scores = score_run(run, metrics, "mean")
    relation, *steps = breakdowns(run, scores, metrics)
    assert [row[:3] for row in relation.rows] == [("P36", 8, 16)] and relation.head[3:] == ("none", "push", "weak")
    assert relation.rows[0][4] == bounded_interval(list(scores.means("push", "s_es").values()))
    assert [t.title.split()[0] for t in steps] == ["S-ES", "S-NS", "S-BO"]
    assert [row[:3] for row in steps[1].rows] == [("not stated", 6, 6)]


def test_rare_relations_are_one_line(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, metrics = load_run(two), load_metrics(METRICS)
    scores = score_run(run, metrics, "mean")
    cases = []
    for n, c in enumerate(run.split.cases):
        relation = c.fact.relation.model_copy(update={"id": f"P{n}"})
        cases.append(c.model_copy(update={"fact": c.fact.model_copy(update={"relation": relation})}))
    many = run._replace(split=run.split._replace(all_cases=tuple(cases)))
    assert len(breakdowns(many, scores, metrics)[0].rows) == 8
    monkeypatch.setattr(breakdown, "MOST", 3)
    rows = breakdowns(many, scores, metrics)[0].rows
    assert [row[1] for row in rows] == [1, 1, 1, 5] and rows[3][0] == "all others (5 relations)"


def test_events_are_grouped_by_how_many_questions_the_metric_asks() -> None:
    runs, gone = make_fact_question(), make_fact_question("Who leads it?", "unknown")
    one, two_questions = event_case("case/1", facts=(runs,)), event_case("case/2", facts=(runs, gone))
    also, none = event_case("case/3", facts=(runs,)), event_case("case/4", facts=())
    right, wrong = said(runs, "Alba Rail") | said(gone, "Ada"), said(runs, "Brenta") | said(gone, "unknown")
    answers = {one.key: right, two_questions.key: right, also.key: wrong, none.key: right}
    run = event_run([one, two_questions, also, none], {"a": {k: (a, None) for k, a in answers.items()}, "b": {}})
    metrics: list[Metric] = [EventFactWhole(), EventFact()]
    ((first, second),) = [t.rows for t in events_by_questions(run, score_run(run, metrics, "mean"), metrics)]
    assert first[:3] == ("Facts, whole event", 1, 2) and (first[3].mean, first[4].mean) == (0.5, None)
    assert second[1:3] == (2, 1) and second[3].mean == 0.0


TIME: tuple[Tag, ...] = ("time",)
CASES = [numbered_case(n, {f"answer {n}": ("time", "cause"), "Turkey": ("place",), "x": ()}) for n in range(15)]
RUN = document_run(CASES, {"none": {}, "ice": {}})


def tag_rows(run: Any, scores: Any, **more: int) -> dict[str, Any]:
    return {row[0]: row for table in by_tag(run, scores, DOCUMENT_METRICS, **more) for row in table.rows}


def test_em_of_each_tag_with_enough_probes() -> None:
    known = {f"answer {n}" for n in range(6)}
    rows = tag_rows(RUN, scores_of(CASES, {"none": set(), "ice": known}))
    assert set(rows) == {"time", "cause", "place", "all probes"}
    _, documents, probes, none, ice, constant = rows["time"]
    assert (documents, probes, none.mean, constant.mean) == (15, 15, 0, 0), "a document's own answer has no say"
    assert ice.mean == pytest.approx(6 / 15) and ice.n == 15 and ice.ends is not None
    assert rows["place"][4].mean == 0 and rows["place"][5].mean == 1.0
    assert rows["all probes"][2] == 45 and rows["all probes"][5].mean == pytest.approx(2 / 3)


def test_fewer_than_fifteen_probes_are_left_out_and_no_em_gives_nothing() -> None:
    few = CASES[:14]
    run, scores = document_run(few, {"none": {}}), scores_of(few, {"none": set()})
    assert list(tag_rows(run, scores)) == ["all probes"]
    assert list(tag_rows(run, scores, fewest=14)) == ["cause", "place", "time", "all probes"]
    assert by_tag(RUN, scores, []) == []


def test_unscored_probes_are_in_no_share() -> None:
    scores = scores_of(CASES, {"none": set(), "ice": {"Turkey"}})
    one = scores.by_editor["ice"]["em"]["case/0"]
    unscored = tuple(i.model_copy(update={"value": None}) for i in one.items)
    scores.by_editor["ice"]["em"]["case/0"] = one.model_copy(update={"items": unscored})
    _, _, probes, _, ice, _ = tag_rows(RUN, scores)["place"]
    assert ice.n == 14 and probes == 15


@pytest.mark.parametrize(
    ("answers", "want"),
    [
        (("Turkey", "turkey.", "TURKEY", "Peru"), 0.75),
        (("Turkey", "turkey", "Peru"), 0.0),  # Peru, as often, is first
        (("Turkey", "Peru"), 0.0),
        (("Turkey",), 0.0),
    ],
)
def test_the_constant_is_the_most_frequent_answer_of_the_other_documents(answers: tuple[str, ...], want: float) -> None:
    asked = [(f"case/{n}", make_probe(f"q{n}?", answer, level=3)) for n, answer in enumerate(answers)]
    assert pooled_share(constant_hits(asked)).mean == want


def test_accepted_answers_count_and_one_document_answers_nothing_for_itself() -> None:
    accepted = [("case/a", make_probe("q?", "1931", level=3, accepted=("the year 1931", "MCMXXXI")))]
    accepted += [(f"case/{n}", make_probe(f"q{n}?", "mcmxxxi", level=3)) for n in range(3)]
    assert pooled_share(constant_hits(accepted)).mean == 1.0
    same = [("case/a", make_probe(f"q{n}?", "Turkey", level=3)) for n in range(5)]
    assert pooled_share(constant_hits(same)).mean == 0
    assert constant_by_group(asked_probes(RUN)).mean == pytest.approx(2 / 3)  # Turkey and x, but no answer about time


def test_queries_with_several_blanks_are_not_asked() -> None:
    case = CASES[0].model_copy(update={"probes": (make_probe("___ and ___.", "x", document="d/0"),)})
    assert asked_probes(document_run([case], {"none": {}})) == []
