"""Letters that are written: read as published, right, whole events, locality."""

from __future__ import annotations

import pytest

from evaluation.metrics.event_answers import EventLetter, EventLetterLocality, EventLetterWhole, letter_of
from evaluation.metrics.events import letter_probe, question_of
from evaluation.metrics.generation import EventChoice
from schemas.answers import Answer, GeneratedText
from schemas.events.questions import TendencyQuestion
from tests.support.events import event_case, make_tendency

PRICES, JOBS = make_tendency(), make_tendency("How may jobs change?", "B")
RAIN = make_tendency("How may rain change?", "C", scope="out")
CASE = event_case(tendencies=(PRICES, JOBS, RAIN))


def wrote(*texts: tuple[TendencyQuestion, str]) -> dict[str, Answer]:
    ids = [(letter_probe(question, EventChoice()).id, text) for question, text in texts]
    return {id: Answer(probe=id, written=GeneratedText(text=text, tokens=1, ended="stop")) for id, text in ids}


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("(A)", "A"), ("The answer is (C).", "C"), ("B. They fall", "B"), ("C", "C"), (" A \nB", "A"),
        ("a", None), ("A little", None), ("D", None), ("They rise.", None), ("\n(B)", "B"), ("", None),
    ],
)  # fmt: skip
def test_letters_are_read_from_the_first_line(text: str, letter: str | None) -> None:
    assert letter_of(text) == letter


def test_right_wrong_none_and_not_asked() -> None:
    """Prices right, jobs without a letter: half of the questions, and not the whole event."""
    answers = wrote((PRICES, "(A) They rise"), (JOBS, "They fall"))
    items = EventLetter().score(CASE, answers, {}, "mean").items
    assert [i.value for i in items] == [1.0, 0.0]
    assert [i.value for i in EventLetterWhole().score(CASE, answers, {}, "mean").items] == [0.0]
    both = answers | wrote((JOBS, "B."))
    assert [i.value for i in EventLetterWhole().score(CASE, both, {}, "mean").items] == [1.0]
    assert [i.value for i in EventLetter().score(CASE, wrote((PRICES, "A")), {}, "mean").items] == [1.0, None]


@pytest.mark.parametrize(("now", "then", "value"), [("C", "(C) no", 1.0), ("A", "C", 0.0), ("none", "none", 0.0)])
def test_locality_compares_letters(now: str, then: str, value: float) -> None:
    (item,) = EventLetterLocality().score(CASE, wrote((RAIN, now)), wrote((RAIN, then)), "mean").items
    assert item.value == value


def test_locality_without_an_answer_before_is_unscored() -> None:
    (item,) = EventLetterLocality().score(CASE, wrote((RAIN, "C")), {}, "mean").items
    assert item.value is None and item.reason.startswith("before the edit: ")


def test_what_is_asked_has_the_options_in_order_and_is_looked_up_without_them() -> None:
    probe = letter_probe(PRICES, EventChoice())
    assert "(A) They rise (B) They fall (C) They stay as they are\nAnswer:" in probe.prompt and probe.stop == ("\n",)
    assert question_of(probe.prompt) == PRICES.text
    assert EventLetter().probes(CASE) == [probe, letter_probe(JOBS, EventChoice())]
