"""Precision and recall of "unknown" on answers counted by hand."""

from __future__ import annotations

import pytest

from evaluation.analysis.events.unknown_answers import unknown_answers
from tests.support.evaluation.event_answers import said
from tests.support.evaluation.event_runs import event_run
from tests.support.events import event_case, make_fact_question

GONE, GONE_TOO = make_fact_question("Who leads it?", "unknown"), make_fact_question("Who owns it?", "unknown")
KNOWN, OUTSIDE = make_fact_question(), make_fact_question("Where is it?", "Genoa", scope="out")
ONE = event_case(facts=(GONE, GONE_TOO, KNOWN, OUTSIDE))
TWO = event_case("case/two", facts=(KNOWN,), tendencies=())


def test_counted_by_hand() -> None:
    """Said of one gone answer, of the known one and out of scope, in the second case not at all."""
    first = said(GONE, "unknown") | said(GONE_TOO, "Ada") | said(KNOWN, "Unknown.") | said(OUTSIDE, "unknown, sorry")
    run = event_run([ONE, TWO], {"a": {ONE.key: (first, None), TWO.key: (said(KNOWN, "Alba Rail"), None)}})
    (answers,) = unknown_answers(run)
    assert (answers.said, answers.wanted, answers.right, answers.questions) == (3, 2, 1, 5)
    assert (answers.precision.mean, answers.precision.n) == (pytest.approx(1 / 3), 1)
    assert (answers.recall.mean, answers.recall.n) == (pytest.approx(1 / 2), 1)


def test_a_method_that_never_says_it_has_no_precision_and_one_without_answers_no_row() -> None:
    run = event_run([ONE], {"a": {ONE.key: (said(GONE, "Ada"), None)}, "b": {ONE.key: ({}, None)}, "c": {}})
    (answers,) = unknown_answers(run)
    assert (answers.label, answers.precision.mean, answers.recall.mean) == ("a", None, 0.0)
