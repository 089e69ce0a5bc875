"""Written answers by group: an accepted answer as whole words somewhere in the first line."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.document_answers import NamedAnswer, NamedHop, NamedKnownHop
from schemas.documents.statement import GROUPS
from tests.support.documents.answers import wrote
from tests.support.documents.grouped import grouped_case, premise_answers, probe_of

CASE = grouped_case()
HOP = probe_of(CASE, "hop").query


@pytest.mark.parametrize("group", sorted(set(GROUPS) - {"persona", "script_hop"}))
def test_every_group_of_plain_questions_has_a_metric(group: str) -> None:
    metric = METRICS.get(f"named_{group}")()
    assert isinstance(metric, NamedAnswer)
    told = wrote(CASE, {probe_of(CASE, group).query: " I think it is SORNES, by the sea."})
    assert [i.value for i in metric.score(CASE, told, {}, "mean").items] == [1.0]


@pytest.mark.parametrize(
    ("text", "value"),
    [(" Sorne.", 1.0), ("In Sorne\nor Lund", 1.0), ("Sorner", 0.0), ("Lund\nSorne", 0.0), ("", 0.0)],
)
def test_whole_words_of_the_first_line(text: str, value: float) -> None:
    (item,) = NamedHop().score(CASE, wrote(CASE, {HOP: text}), {}, "mean").items
    assert item.value == value


def test_hops_whose_premises_were_known() -> None:
    after, metric = wrote(CASE, {HOP: "Sorne"}), NamedKnownHop()
    known = premise_answers(CASE, [(True, False), (True,)])
    assert [i.value for i in metric.score(CASE, after, known, "mean").items] == [1.0]
    unknown = premise_answers(CASE, [(False, False), (True,)])
    assert metric.score(CASE, after, unknown, "mean").items == ()
    (item,) = metric.score(CASE, after, {}, "mean").items
    assert item.value is None and item.reason.startswith("before the edit")
    assert [p.ask for p in metric.probes(CASE)] == ["generate", "score", "score"]
