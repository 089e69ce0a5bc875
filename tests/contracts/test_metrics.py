"""What every registered metric must keep to."""

from __future__ import annotations

import ast
import copy
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from evaluation.inference.answering import answer
from evaluation.metrics import METRICS, base
from evaluation.metrics.base import Metric, Role
from evaluation.metrics.generation import Generation
from evaluation.metrics.meaning import JointItem
from evaluation.metrics.pooled import PERPLEXITY
from schemas.answers import CaseScores, ItemScore
from schemas.cases import AnyCase
from schemas.core.errors import UserError
from schemas.probes import Probe
from tests.support.arithmetic import ArithmeticLM, make_case
from tests.support.documents.grouped import grouped_case
from tests.support.documents.records import document_case
from tests.support.documents.shared import make_shared
from tests.support.events import event_case, make_fact_question

FACTS = [make_case("Land1"), make_case("Land2"), make_case("Club1", change="temporal")]
KNOWLEDGE = {"background_questions": [{"text": "In which league is Brenta?", "answer": {"text": "First League"}}]}
EVENTS = [
    event_case(),
    event_case(
        "case/facts",
        facts=(make_fact_question(), make_fact_question("In which league?", background=True, **KNOWLEDGE)),
        tendencies=(),
    ),
    event_case("case/tendencies", facts=()),
]


DOCUMENTS = [document_case(), grouped_case()]
SAMPLES = 500  # random samples of scores a metric


def cases_of(metric: Metric) -> list[AnyCase]:
    """Cases of every type that the metric takes."""
    record = {"fact": FACTS, "event": EVENTS, "document": DOCUMENTS}
    return [case for kind in metric.takes for case in record[kind]]


@pytest.fixture(params=METRICS.names())
def metric(request: pytest.FixtureRequest) -> Metric:
    kind = METRICS.get(request.param)
    return kind(Generation(shared=make_shared())) if getattr(kind, "shared", False) else kind()


def answers(probes: Sequence[Probe], lm: ArithmeticLM):
    return {a.probe: a for a in answer(lm, probes, rewrite=None)}


def test_says_what_it_is(metric):
    assert isinstance(metric, Metric)
    assert METRICS.get(metric.name) is type(metric)
    assert metric.title and metric.about and metric.version >= 1
    assert metric.better in ("higher", "lower")


def test_asks_the_same_every_time(metric):
    for case in cases_of(metric):
        assert metric.probes(case) == metric.probes(type(case).model_validate(case.payload()))


@pytest.mark.parametrize("normalisation", ["mean", "sum"])
def test_is_pure_and_values_are_fractions(metric, normalisation):
    most = 1.0 if metric.unit == "fraction" else float("inf")
    lm, edited_lm = ArithmeticLM(), ArithmeticLM(lift={"Oslo": 4.0, "Rome": -2.0})
    for case in cases_of(metric):
        probes = metric.probes(case)
        before, after = answers(probes, lm), answers(probes, edited_lm)
        copies = copy.deepcopy((case, before, after))
        first = metric.score(case, after, before, normalisation)
        assert metric.score(case, after, before, normalisation) == first
        assert (case, before, after) == copies
        assert (first.case, first.metric) == (case.key, metric.name)
        assert all(i.value is None or 0.0 <= i.value <= most for i in first.items)
        probe = {p.id for p in probes}
        if "event" in metric.takes:  # a question may be asked by several probes, and an event is one item
            assert len({i.probe for i in first.items}) == len(first.items) and bool(first.items) == bool(probe)
        elif "document" in metric.takes:  # what was known before may be no item
            assert {i.probe for i in first.items} <= probe and len({i.probe for i in first.items}) == len(first.items)
        elif isinstance(metric, JointItem):  # several probes make one item
            assert {i.probe for i in first.items} <= probe and len(first.items) == len(metric.groups(case))
        else:
            assert len(first.items) == len(probes) and {i.probe for i in first.items} == probe


def test_no_answers_are_unscored_not_zero(metric):
    scores = [metric.score(case, {}, {}, "mean") for case in cases_of(metric)]
    summary = metric.summarise(scores)
    assert (summary.mean, summary.half, summary.cases, summary.items) == (None, None, 0, 0)
    assert summary.unscored == sum(len(one.items) for one in scores)
    assert (summary.unscored == 0) == metric.shared, "a state that was asked with another case has no item here"


def drawn_scores(metric: Metric, rng: np.random.Generator) -> list[CaseScores]:
    """Up to twelve cases with values within the bounds: spread, at one end, or all the same; neighbours may recur."""
    low, high = (max(metric.bounds[0], -20.0), min(metric.bounds[1], 20.0))
    ends, kind = (low, high), rng.integers(4)
    out = []
    for case in range(rng.integers(1, 13)):
        items = []
        for n in range(rng.integers(0, 5)):
            value = [rng.uniform(low, high), ends[rng.integers(2)], high, low + (high - low) * rng.random() ** 8][kind]
            largest = max(value, rng.random() ** 4) if metric.name == "s_bo" else None
            cluster = f"n{rng.integers(4)}" if kind % 2 else None
            weight = float(rng.integers(1, 5)) if metric.pooled else 1.0
            item = ItemScore(
                probe=f"{case}/{n}", item="i", value=value, cluster=cluster, weight=weight, largest=largest
            )
            items.append(item)
        out.append(CaseScores(case=f"c{case}", metric=metric.name, items=tuple(items)))
    return out


def test_an_interval_holds_its_mean_and_stays_in_the_bounds(metric):
    """A divergence with a negative mean was printed as -5.91 [0.00, -1.84]."""
    rng = np.random.default_rng(44)
    low, high = metric.bounds if metric.unit != PERPLEXITY else (1.0, math.inf)
    for _ in range(SAMPLES):
        summary = metric.summarise(drawn_scores(metric, rng))
        interval = summary.interval
        if interval.low is None or interval.high is None:
            assert summary.mean is None or summary.cases < 5 or interval.missing in ("all agree", "one neighbour")
            continue
        assert summary.cases >= 5 and interval.low < interval.high
        assert low <= interval.low <= summary.mean + 1e-9 and summary.mean - 1e-9 <= interval.high <= high
        assert summary.share is None or 0 <= summary.share <= 1 + 1e-9


def test_a_mean_outside_of_the_bounds_is_refused(metric):
    item = ItemScore(probe="p", item="i", value=metric.bounds[0] - 5.91)
    with pytest.raises(UserError, match="outside of its bounds"):
        metric.summarise([CaseScores(case="c", metric=metric.name, items=(item,))])


def test_the_value_of_the_unedited_model_is_what_it_says(metric):
    """By definition: answers after the edit that are those before it."""
    lm = ArithmeticLM()
    values = []
    for case in cases_of(metric):
        before = answers(metric.probes(case), lm)
        values += [i.value for i in metric.score(case, before, before, "mean").items if i.value is not None]
    assert metric.unedited is None or set(values) <= {metric.unedited}


def test_some_case_is_asked_something(metric):
    assert any(metric.probes(case) for case in cases_of(metric))


def test_a_role_that_reports_ask_for_is_held_by_one_metric_of_ours() -> None:
    held = Counter(METRICS.get(name).role for name in METRICS.names())
    assert set(held) == set(get_args(Role))
    two = {"document_efficacy", "document_locality"}  # EM and EM of the edit itself: splits have the one or the other
    assert {role: n for role, n in held.items() if n > 1} == {"text": held["text"], "other": held["other"]} | {
        role: 2 for role in two
    }


def test_no_report_code_asks_for_a_metric_by_its_name() -> None:
    """A metric of a plug-in with the same role takes part. (``analysis`` has the columns of published tables.)"""
    found = []
    for path in sorted((Path(base.__file__).parents[1] / "report").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = [n for n in ast.walk(tree) if isinstance(n, ast.Constant)]
        found += [f"{path.name}:{n.lineno}: {n.value}" for n in constants if n.value in METRICS.names()]
    assert not found
