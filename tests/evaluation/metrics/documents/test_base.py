from __future__ import annotations

import pytest

from evaluation.metrics.documents import SEVERAL_BLANKS, ExactMatch, ExactMatchLiteral, answer_probe, read_answer
from evaluation.metrics.generation import Generation
from schemas.answers import Answer
from tests.support.documents.answers import answered
from tests.support.documents.records import document_case, make_probe

CASE = document_case(
    probes=(make_probe(), make_probe("From ___ to ___."), make_probe("Why?", level=None), make_probe("It is ___."))
)


def test_several_blanks_are_asked_nothing_and_counted_as_unscored() -> None:
    metric = ExactMatch()
    assert [p.item for p in metric.probes(CASE)] == [p.key for p in CASE.probes if p.blanks < 2]
    scores = metric.score(CASE, answered(CASE, {}), {}, "mean")
    assert [i.reason for i in scores.items if i.value is None] == [SEVERAL_BLANKS] and len(scores.items) == 4


def test_literal_probes_are_those_that_stand_in_the_document() -> None:
    assert [p.query for p in ExactMatchLiteral().asked(CASE)] == ["The Orla Bridge opened in ___."]


def test_the_choice_of_a_run_is_asked() -> None:
    from evaluation.metrics.generation import DocumentChoice

    metric = ExactMatch(Generation(documents=DocumentChoice(instruction="Say it.")))
    assert {p.instruction for p in metric.probes(CASE)} == {"Say it."}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "no answer"),
        (Answer(probe="p", error="too long"), "too long"),
        (Answer(probe="p", error="too long", truncated=True), "truncated: too long"),
        (Answer(probe="p"), "the answer has other targets than the probe"),
    ],
)
def test_an_answer_that_is_none_says_why(answer: Answer | None, reason: str) -> None:
    probe = answer_probe(CASE.probes[0], ExactMatch().choice)
    assert read_answer(probe, {} if answer is None else {probe.id: answer}) == (None, reason)
