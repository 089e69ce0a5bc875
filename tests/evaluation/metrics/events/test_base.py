"""What metrics over questions share: one item a question, and cut prompts are marked."""

from __future__ import annotations

from evaluation.metrics.base import TRUNCATED
from evaluation.metrics.events import QuestionMetric, WholeEventMetric
from schemas.cases import EventCase
from tests.support.evaluation.event_answers import prefers, said
from tests.support.events import event_case, make_fact_question, make_tendency

FACT, CHOICE = make_fact_question(), make_tendency()
CASE = event_case(facts=(FACT,), tendencies=(CHOICE,))


class Everything(QuestionMetric):
    """All questions of a case."""

    name = "everything"

    def questions(self, case: EventCase) -> list:  # type: ignore[type-arg]
        return [*case.facts, *case.tendencies]


class Whole(WholeEventMetric):
    """All of them at once."""

    name = "whole"

    def questions(self, case: EventCase) -> list:  # type: ignore[type-arg]
        return [*case.facts, *case.tendencies]


def test_every_question_is_one_item_however_many_probes_ask_it() -> None:
    metric = Everything()
    assert len(metric.probes(CASE)) == 4
    items = metric.score(CASE, said(FACT, "Alba Rail") | prefers(CHOICE, "B"), {}, "mean").items
    assert [(i.item, i.value) for i in items] == [(FACT.key, 1.0), (CHOICE.key, 0.0)]
    assert [i.probe for i in items] == [metric.probes(CASE)[0].id, metric.probes(CASE)[1].id]


def test_a_prompt_that_lost_its_beginning_is_marked_on_both_levels() -> None:
    answers = said(FACT, "Alba Rail") | prefers(CHOICE, "A")
    cut = {k: a.model_copy(update={"truncated": bool(a.targets)}) for k, a in answers.items()}
    assert [i.reason for i in Everything().score(CASE, cut, {}, "mean").items] == ["", TRUNCATED]
    (full_score,) = Whole().score(CASE, cut, {}, "mean").items
    assert (full_score.value, full_score.reason) == (1.0, TRUNCATED)
    assert Whole().summarise([Whole().score(CASE, cut, {}, "mean")]).truncated == 1


def test_an_event_without_questions_is_no_item_and_one_without_answers_unscored() -> None:
    facts_only = event_case(tendencies=())
    assert Everything().score(facts_only, {}, {}, "mean").mean is None
    (full_score,) = Whole().score(CASE, {}, {}, "mean").items
    assert (full_score.value, full_score.reason) == (None, "no answer")
