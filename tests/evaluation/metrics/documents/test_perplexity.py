from __future__ import annotations

import math

import pytest

from evaluation.metrics.documents import (
    AnswerPerplexity,
    AnswerPerplexityLevel1,
    AnswerPerplexityLiteral,
    AnswerPerplexityNew,
    DocumentPerplexity,
    text_probe,
)
from schemas.answers import Answer, TargetScore
from tests.support.documents.answers import answered
from tests.support.documents.records import document_case, make_document, make_probe

ONE = document_case()
TWO = document_case("case/two", probes=(make_probe("Two ___"),))
OPENED, YEAR, WHO, WHAT = (p.query for p in ONE.probes)
TOLD = {OPENED: (-2.0, 4, True), YEAR: (-1.0, 1, False), WHO: (-6.0, 2, False), WHAT: (-1.0, 2, False)}
AFTER = answered(ONE, TOLD) | answered(TWO, {"Two ___": (-2.0, 1, False)})


def test_per_token_over_all_probes_of_all_documents() -> None:
    """-(−2 −1 −6 −1 −2) over 4 + 1 + 2 + 2 + 1 tokens: no mean of means."""
    metric = AnswerPerplexity()
    summary = metric.summarise([metric.score(case, AFTER, {}, "mean") for case in (ONE, TWO)])
    assert summary.mean == pytest.approx(math.exp(12 / 10)) and summary.unit == "perplexity" and summary.half is None
    assert summary.ends is None, "two documents are too few for an interval"
    one = AnswerPerplexityLevel1()
    assert one.summarise([one.score(c, AFTER, {}, "sum") for c in (ONE, TWO)]).mean == pytest.approx(math.exp(4 / 5))


def test_literal_probes_and_those_that_the_model_did_not_know_alone() -> None:
    loose = make_probe("The bridge was opened in ___.", "1931", document=ONE.document.key)
    case = document_case(probes=(*ONE.probes, loose))
    after = answered(case, TOLD)
    literal = [p.key for p in case.probes if p.level == 1 and p is not loose]
    assert [i.item for i in AnswerPerplexityLiteral().score(case, after, {}, "mean").items] == literal
    before = answered(case, {OPENED: (-2.0, 4, True)})
    metric = AnswerPerplexityNew()
    scores = metric.score(ONE, answered(ONE, TOLD), before, "mean")
    assert metric.summarise([scores]).mean == pytest.approx(math.exp(8 / 5)), "the first probe does not count"
    (first, *_) = metric.score(ONE, AFTER, {}, "mean").items
    assert first.value is None and first.reason == "before the edit: no answer"


def test_a_document_is_one_item_and_one_of_one_word_is_none() -> None:
    metric = DocumentPerplexity()
    probe = text_probe(ONE.document)
    assert probe is not None and metric.probes(ONE) == [probe]
    score = TargetScore(text=probe.targets[0], logprob=-18.0, tokens=12)
    scores = metric.score(ONE, {probe.id: Answer(probe=probe.id, targets=(score,))}, {}, "mean")
    assert [(i.value, i.weight) for i in scores.items] == [(1.5, 12.0)]
    short = document_case(document=make_document(text="Orla"))
    assert not metric.probes(short) and not metric.score(short, {}, {}, "mean").items


def test_an_answer_that_is_missing_is_unscored() -> None:
    (first, *_) = AnswerPerplexity().score(ONE, {}, {}, "mean").items
    assert first.value is None and first.reason == "no answer"
