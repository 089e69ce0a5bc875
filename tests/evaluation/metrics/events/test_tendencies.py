"""Metrics over choices on cases worked by hand, and their three letters in one pass against three passes."""

from __future__ import annotations

import pytest

from evaluation.inference.scoring import score
from evaluation.metrics.events import (
    EventAllWhole,
    EventChoiceLocality,
    EventChoiceMass,
    EventChoiceRight,
    EventChoiceSway,
    EventChoiceWhole,
    choice_probes,
)
from evaluation.metrics.generation import EventChoice
from evaluation.models.language_model import LM
from tests.support.evaluation.event_answers import chose, prefers, said
from tests.support.events import event_case, make_fact_question, make_tendency

PRICES, JOBS = make_tendency(), make_tendency("How may jobs change?", "B")
RAIN, SNOW = make_tendency("How may rain change?", "C", scope="out"), make_tendency("And snow?", "C", scope="out")
FACT = make_fact_question()
ONE = event_case(facts=(FACT,), tendencies=(PRICES, JOBS, RAIN, SNOW))
TWO = event_case("case/two", facts=(), tendencies=(PRICES,))
FACTS_ONLY = event_case("case/facts", tendencies=())
FIRST = {"A": 0.4, "B": 0.1, "C": 0.1}  # always the first letter
AFTER = prefers(PRICES, "A") | chose(JOBS, FIRST) | prefers(RAIN, "C") | prefers(SNOW, "A") | said(FACT, "Alba Rail")
BEFORE = prefers(RAIN, "C") | prefers(SNOW, "B")


@pytest.mark.parametrize(
    ("metric", "mean", "items", "cases", "ties"),
    [
        (EventChoiceRight, 2 / 3, 3, 2, 1),
        (EventChoiceWhole, 1 / 2, 2, 2, 1),
        (EventAllWhole, 1 / 2, 2, 2, 1),
        (EventChoiceLocality, 1 / 2, 2, 1, 0),
        (EventChoiceMass, (0.9 + 0.6 + 0.9 + 0.9 + 0.9) / 5, 5, 2, 0),
        (EventChoiceSway, 1 / 5, 5, 2, 0),
    ],
)
def test_worked_by_hand(metric: type[EventChoiceRight], mean: float, items: int, cases: int, ties: int) -> None:
    instance = metric()
    scores = instance.summarise([instance.score(case, AFTER, BEFORE, "mean") for case in (ONE, TWO, FACTS_ONLY)])
    assert (scores.mean, scores.items, scores.cases, scores.ties) == (pytest.approx(mean), items, cases, ties)


def test_a_whole_event_needs_its_facts_too() -> None:
    case = event_case(facts=(FACT,), tendencies=(PRICES,))
    right, wrong = (prefers(PRICES, "A") | said(FACT, text) for text in ("Alba Rail", "Brenta Rail"))
    assert [EventAllWhole().score(case, a, {}, "mean").mean for a in (right, wrong)] == [1.0, 0.0]
    assert EventChoiceWhole().score(case, wrong, {}, "mean").mean == 1.0


def test_a_tie_after_the_edit_is_no_unchanged_answer() -> None:
    case, tie = event_case(facts=(), tendencies=(RAIN,)), chose(RAIN, FIRST)
    (item,) = EventChoiceLocality().score(case, tie, tie, "mean").items
    assert (item.value, item.tie) == (0.0, True)


def test_the_letters_of_one_pass_are_those_of_three(tiny: LM) -> None:
    """One probe with three targets against one probe a target: two ways through the scorer."""
    probes = [p for q in (PRICES, JOBS) for p in choice_probes(q, EventChoice())]
    variants = [p.model_copy(update={"targets": (letter,)}) for p in probes for letter in p.targets]
    variants = [type(p).model_validate(p.model_dump()) for p in variants]  # ids are kept with a copy
    joint_scores, separate = score(tiny, probes), score(tiny, variants)
    values = [t.logprob for a in joint_scores for t in a.targets]
    assert len(set(values)) == len(values) == 18
    assert values == pytest.approx([a.targets[0].logprob for a in separate], abs=1e-4)
    assert all(t.tokens == 1 for a in joint_scores for t in a.targets)
