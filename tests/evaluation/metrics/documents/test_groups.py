"""Exact match by group: any accepted answer; hops where the rest is known; what must stay is in no other figure."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.document_answers import GroupMatch, HopMatch, KnownHopMatch, LocalityMatch
from evaluation.metrics.documents import ExactMatch, any_answer_probe
from schemas.documents.statement import GROUPS, KEPT
from tests.support.documents.answers import answered
from tests.support.documents.grouped import CHOICE, grouped_answers, grouped_case, premise_answers, probe_of

CASE = grouped_case()


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_has_a_metric_that_asks_its_probes_alone(group: str) -> None:
    metric = METRICS.get(f"em_{group}")()
    assert isinstance(metric, GroupMatch)
    items = metric.score(CASE, grouped_answers(CASE, {group: (False, True)}), {}, "mean").items
    assert [(item.item, item.value) for item in items] == [(probe_of(CASE, group).key, 1.0)]
    (item,) = metric.score(CASE, grouped_answers(CASE, {}), {}, "mean").items
    assert item.value == 0.0
    (item,) = metric.score(CASE, {}, {}, "mean").items
    assert (item.value, item.reason) == (None, "no answer")


def test_what_must_stay_is_no_part_of_em() -> None:
    told = answered(CASE, {}, greedy=True)
    metric = ExactMatch()
    items = metric.score(CASE, told, {}, "mean").items
    assert {i.item for i in items} == {p.key for p in CASE.probes if p.group not in KEPT}
    assert LocalityMatch.role == "document_locality" and len(items) == len(GROUPS) - len(KEPT)


def test_an_answer_that_does_not_say_whether_it_is_greedy_is_unscored() -> None:
    told = grouped_answers(CASE, {"hop": (None, True)})
    (item,) = HopMatch().score(CASE, told, {}, "mean").items
    assert item.value is None and "does not say" in item.reason


@pytest.mark.parametrize(
    ("known", "value"),
    [
        ([(False, True), (True,)], 1.0),
        ([(True, True), (False,)], None),
        ([(False, False), (True,)], None),
    ],
)
def test_a_hop_counts_where_every_premise_was_known_before(known: list[tuple[bool, ...]], value: float | None) -> None:
    after = grouped_answers(CASE, {"hop": (True, False)}) | premise_answers(CASE, [(False, False), (False,)])
    items = KnownHopMatch().score(CASE, after, premise_answers(CASE, known), "mean").items
    assert [i.value for i in items] == ([] if value is None else [value])


def test_premises_that_were_not_asked_before_leave_the_hop_unscored() -> None:
    after = grouped_answers(CASE, {"hop": (True, False)})
    (item,) = KnownHopMatch().score(CASE, after, {}, "mean").items
    assert item.value is None and item.reason.startswith("before the edit")
    assert item.probe == any_answer_probe(probe_of(CASE, "hop"), CHOICE).id


def test_the_known_metric_asks_the_premises_too() -> None:
    asked = KnownHopMatch().probes(CASE)
    assert [p.purpose for p in asked] == ["document_answer", "document_premise", "document_premise"]
    assert asked[1].targets == ("Sorne", "in Sorne")


def test_pooled_over_probes_and_nothing_where_no_case_has_the_group() -> None:
    bare = grouped_case("case/bare", probes=tuple(p for p in CASE.probes if p.group != "hop"))
    told = grouped_answers(CASE, {"hop": (True, False)})
    metric = HopMatch()
    summary = metric.summarise([metric.score(case, told, {}, "mean") for case in (CASE, bare)])
    assert (summary.mean, summary.items, summary.level) == (1.0, 1, "question")
    assert metric.summarise([metric.score(bare, told, {}, "mean")]).mean is None
