"""How short answers and choices are read, on answers that a model could give."""

from __future__ import annotations

import math

import pytest

from evaluation.metrics.events import choice_probes, chosen_option, fold_answer, is_right, is_same, says_unknown
from evaluation.metrics.generation import EventChoice
from schemas.answers import Answer, TargetScore
from schemas.facts import Object
from tests.support.evaluation.event_answers import chose, prefers
from tests.support.events import make_fact_question, make_tendency

LEADING, ANYWHERE = EventChoice(), EventChoice(unknown="anywhere")
QUESTION = make_fact_question().model_copy(update={"answer": Object(text="Alba Rail Inc.", aliases=("ALBA",))})
GONE = make_fact_question("Who leads it?", "unknown")


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Alba Rail Inc.", True), (" alba rail inc\nQuestion: more", True), ("Alba", True), ("ALBA.", True),
        ("Alba Rail", False), ("It is Alba", False), ("", False), ("unknown", False), ("\n\n", False),
    ],
)  # fmt: skip
def test_an_answer_is_the_name_or_an_alias(text: str, right: bool) -> None:
    assert is_right(QUESTION, fold_answer(text), LEADING) is right


@pytest.mark.parametrize(
    ("text", "leading", "anywhere"),
    [
        ("Unknown.", True, True), ("unknown to me", True, True), ("unknown, it seems", True, True),
        ("unknowns", False, True), ("the unknown soldier", False, True), ("It is unknown", False, True),
        ("", False, False), ("not known", False, False),
    ],
)  # fmt: skip
def test_what_says_unknown(text: str, leading: bool, anywhere: bool) -> None:
    assert (says_unknown(fold_answer(text), LEADING), says_unknown(fold_answer(text), ANYWHERE)) == (leading, anywhere)
    assert (
        is_right(GONE, fold_answer(text), LEADING) is leading
        and is_right(GONE, fold_answer(text), ANYWHERE) is anywhere
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("genoa", "genoa", True), ("genoa", "turin", False), ("alba", "alba rail inc", True), ("", "", True),
     ("unknown", "unknown, sorry", True), ("alba", "unknown", False), ("alba", "alba rail", False)],
)  # fmt: skip
def test_answers_that_say_the_same(one: str, other: str, same: bool) -> None:
    assert is_same(QUESTION, one, other, LEADING) is same


def test_a_name_that_is_only_a_full_stop_is_no_empty_answer() -> None:
    dots = QUESTION.model_copy(update={"answer": Object(text="Alba", aliases=("...", "."))})
    assert not is_right(dots, fold_answer(""), LEADING) and is_right(dots, "alba", LEADING)
    assert not is_same(dots, "", "alba", LEADING) and is_same(dots, "", "", LEADING)


def test_an_option_keeps_its_probability_wherever_it_stands() -> None:
    option = chosen_option(make_tendency(), prefers(make_tendency(), "B"), LEADING)
    assert not isinstance(option, str)
    assert (option.letter, option.by_order, option.mass) == ("B", ("B", "B", "B"), pytest.approx(0.9))
    assert option.shares == pytest.approx((1 / 9, 6 / 9, 2 / 9))


def test_a_model_that_always_says_a_has_chosen_nothing() -> None:
    """Its letter is a different option in every order: the shares are equal, a tie."""
    option = chosen_option(make_tendency(), chose(make_tendency(), {"A": 0.3, "B": 0.1, "C": 0.1}), LEADING)
    assert not isinstance(option, str)
    assert option.letter is None and option.by_order == ("A", "B", "C") and option.mass == pytest.approx(0.5)


def test_shares_are_taken_order_by_order() -> None:
    """By hand: option A has .2/.4, .1/.4 (shown as C), .05/.1 (as B); B .1/.4, .2/.4, .01/.1; C the rest."""
    orders = ({"A": 0.2, "B": 0.1, "C": 0.1}, {"A": 0.2, "B": 0.1, "C": 0.1}, {"A": 0.04, "B": 0.05, "C": 0.01})
    option = chosen_option(make_tendency(), chose(make_tendency(), *orders), LEADING)
    assert not isinstance(option, str)
    assert option.shares == pytest.approx(((0.5 + 0.25 + 0.5) / 3, (0.25 + 0.5 + 0.1) / 3, (0.25 + 0.25 + 0.4) / 3))
    assert option.letter == "A" and option.by_order == ("A", "B", "A") and option.mass == pytest.approx(0.3)


def test_probabilities_of_almost_nothing_still_choose() -> None:
    choice = EventChoice(orders="given")
    (probe,) = choice_probes(make_tendency(), choice)
    targets = tuple(
        TargetScore(text=x, logprob=v, tokens=1) for x, v in zip("ABC", (-900.0, -901.0, -math.inf), strict=True)
    )
    option = chosen_option(make_tendency(), {probe.id: Answer(probe=probe.id, targets=targets)}, choice)
    assert not isinstance(option, str) and (option.letter, option.mass) == ("A", 0.0)


def test_all_orders_must_be_answered() -> None:
    answers = prefers(make_tendency(), "A")
    del answers[choice_probes(make_tendency(), LEADING)[1].id]
    assert chosen_option(make_tendency(), answers, LEADING) == "no answer"
