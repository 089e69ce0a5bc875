from __future__ import annotations

from pathlib import Path
from statistics import stdev
from types import SimpleNamespace
from typing import Any

import pytest

from curation.stats.bounded import bounded_interval
from curation.stats.intervals import Interval
from evaluation.analysis import breakdown
from evaluation.analysis.breakdown import (
    asked_probes,
    breakdowns,
    by_tag,
    constant_by_group,
    constant_hits,
    document_tables,
    events_by_questions,
    seed_tables,
)
from evaluation.analysis.comparison import Comparison, MethodRow
from evaluation.analysis.tables import pooled_share
from evaluation.metrics.base import Metric, Summary
from evaluation.metrics.events import EventFact, EventFactWhole
from evaluation.metrics.generation import load_metrics
from evaluation.runs.frame import score_run
from evaluation.runs.results import load_run
from schemas.documents.tags import Tag
from tests.support.documents.records import make_probe
from tests.support.documents.runs import METRICS as DOCUMENT_METRICS
from tests.support.documents.runs import document_run, numbered_case, scores_of, table_of
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


def tag_rows(run: Any, scores: Any) -> dict[str, Any]:
    return {row[0]: row for table in by_tag(run, scores, DOCUMENT_METRICS) for row in table.rows}


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


CASES_DOCUMENT_TABLES = [numbered_case(n, {f"a{n}": (), f"b{n}": ("time",)}) for n in range(3)]


def test_rows_in_the_papers_columns() -> None:
    run = document_run(
        CASES_DOCUMENT_TABLES,
        {
            "none": {},
            "memit": {"components": {"simplify": "ner_qg@1:abc", "covariance": "x"}},
            "soft": {"editor": "side", "params": {"terms": ("soft",), "lr": 1e-6}},
            "all": {"editor": "side", "params": {"terms": ("text", "soft"), "lr": 1e-6}},
        },
    )
    scores = scores_of(
        CASES_DOCUMENT_TABLES, {"none": set(), "memit": {"a0"}, "soft": {"b0"}, "all": {"a0", "b0", "b1"}}
    )
    (table,) = document_tables(run, table_of(run, scores))
    assert table.head == ("Method", "Statements", "Settings", "Level 1, EM", "Overall, EM")
    rows = {row[0]: row[1:] for row in table.rows}
    assert [rows[n][0] for n in ("none", "memit")] == ["", "ner_qg"]
    assert [rows[n][1] for n in ("none", "soft", "all")] == ["", "terms soft", "terms text + soft"]
    assert [v.mean for v in rows["all"][2:]] == [1 / 3, 0.5]


def frontier(**methods: tuple[float | None, float | None]) -> list[tuple[str, str]]:
    rows: list[Any] = []
    for label, means in methods.items():
        values = {n: Interval(v, None, 1) for n, v in zip(("em", "em_spec"), means, strict=True)}
        summaries = {name: SimpleNamespace(interval=value, mean=value.mean) for name, value in values.items()}
        rows.append(SimpleNamespace(label=label, editor=label, params={}, summaries=summaries))
    run: Any = SimpleNamespace(
        editors=[SimpleNamespace(label=r.label, manifest=SimpleNamespace(components={})) for r in rows]
    )
    tables = {t.title: t for t in document_tables(run, SimpleNamespace(rows=rows))}  # type: ignore[arg-type]
    found = tables.get("Efficacy against specificity")
    return [] if found is None else [(str(row[0]), str(row[-1])) for row in found.rows]


def test_what_no_other_beats_at_both() -> None:
    methods = {"none": (0.1, 1.0), "ice": (0.6, 0.8), "ft": (0.5, 0.7), "lora": (0.6, 0.7), "side": (0.7, 0.5)}
    assert frontier(**methods) == [
        ("none", "yes"), ("ice", "yes"), ("ft", "no: ice, lora"), ("lora", "no: ice"), ("side", "yes"),
    ]  # fmt: skip
    assert frontier(a=(0.5, 0.5), b=(0.5, 0.5)) == [("a", "yes"), ("b", "yes")], "equal methods beat no other"
    assert frontier(a=(0.5, None), b=(None, 0.5)) == [] and frontier(a=(0.0, 0.0)) == [("a", "yes")]


def row(label: str, mean: float | None, *, cases: int = 6, editor: str = "lora", variant: str = "", pending: int = 0,
        failed: int = 0, **params: Any) -> MethodRow:  # fmt: skip
    summary = Summary("s_es", mean, 0.1, cases, cases)
    return MethodRow(label, editor, params, False, {"s_es": summary}, {}, cases, failed, pending, None, None, None, (),
                     variant=variant)  # fmt: skip


def found(*rows: MethodRow) -> list[Any]:
    metric: Any = SimpleNamespace(name="s_es", title="S-ES")
    return seed_tables(Comparison("all", 6, rows, {}), [metric])


def test_mean_deviation_and_range_over_seeds() -> None:
    (one,) = found(row("b", 0.7, seed=1, rank=8), row("a", 0.5, seed=0, rank=8), row("c", 0.6, seed=2, rank=8))
    assert one.title == "a, b, c" and one.head[1:4] == ("seed 0", "seed 1", "seed 2")
    ((title, *values),) = one.rows
    assert title == "S-ES"
    assert [v.mean for v in values] == pytest.approx([0.5, 0.7, 0.6, 0.6, stdev([0.5, 0.7, 0.6]), 0.2])
    assert {v.missing for v in values} == {""} and {v.low for v in values} == {None}


@pytest.mark.parametrize(
    "other",
    [
        row("b", 0.7, seed=1, rank=4),
        row("b", 0.7, seed=1, rank=8, editor="mend"),
        row("b", 0.7, seed=0, rank=8),
        row("b", 0.7, seed=1, rank=8, variant="relabel@1"),
        row("b", 0.7, seed=1, rank=8, pending=2),
        row("b", 0.7, seed=1, rank=8, failed=1),
        row("b", 0.7, rank=8),
    ],
)
def test_other_settings_are_no_repeat(other: MethodRow) -> None:
    assert found(row("a", 0.5, seed=0, rank=8), other) == []


def test_other_cases_and_missing_values_have_no_line() -> None:
    first = row("a", 0.5, seed=0)
    for other in (row("b", 0.7, seed=1, cases=5), row("b", None, seed=1)):
        (one,) = found(first, other)
        assert one.rows == ()
    assert found(first) == []
