from __future__ import annotations

import pytest

from evaluation.metrics.documents import ExactMatch, ExactMatchLevel1, ExactMatchLevel2, ExactMatchLevel3, ExactMatchNew
from schemas.answers import Answer
from tests.support.documents.answers import answered
from tests.support.documents.records import BRIDGE, document_case, make_probe

ONE = document_case()
TWO = document_case("case/two", probes=(make_probe("Two? ___", "1931", document=BRIDGE),))
OPENED, YEAR, WHO, WHAT = (p.query for p in ONE.probes)
AFTER = answered(ONE, {OPENED: (-0.1, 2, True), YEAR: (-0.5, 1, True), WHO: (-3.0, 3, False)}) | answered(TWO, {})


@pytest.mark.parametrize(
    ("metric", "mean", "probes"),
    [(ExactMatch, 2 / 5, 5), (ExactMatchLevel1, 1 / 2, 2), (ExactMatchLevel2, 1 / 2, 2), (ExactMatchLevel3, 0.0, 1)],
)
def test_pooled_over_probes_not_documents(metric: type[ExactMatch], mean: float, probes: int) -> None:
    instance = metric()
    summary = instance.summarise([instance.score(case, AFTER, {}, "mean") for case in (ONE, TWO)])
    assert (summary.mean, summary.items, summary.level, summary.unit) == (mean, probes, "question", "fraction")


def test_what_the_model_knew_before_does_not_count_as_new() -> None:
    before = answered(ONE, {OPENED: (-0.1, 2, True)})
    metric = ExactMatchNew()
    items = metric.score(ONE, AFTER, before, "mean").items
    assert [(i.item, i.value) for i in items] == [
        (ONE.probes[1].key, 1.0),
        (ONE.probes[2].key, 0.0),
        (ONE.probes[3].key, 0.0),
    ]
    (item, *_) = metric.score(ONE, AFTER, {}, "mean").items
    assert item.value is None and item.reason == "before the edit: no answer"


def test_answers_of_a_probe_that_did_not_ask_for_greedy_tokens_are_unscored() -> None:
    plain = {
        key: Answer(probe=key, targets=tuple(t.model_copy(update={"greedy": None}) for t in answer.targets))
        for key, answer in AFTER.items()
    }
    assert {i.value for i in ExactMatch().score(ONE, plain, {}, "mean").items} == {None}
