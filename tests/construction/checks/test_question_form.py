"""One "How ..." question for a guide: its beginning and end, no impact, no second question, no endless repetition."""

from __future__ import annotations

import time

import pytest

from construction.checks import CheckInputs, judge
from construction.checks.questions import MOST_WORDS
from schemas.facts import Entity
from schemas.scripts import ScriptQuestion
from tests.support.facts import make_fact

FACT = make_fact()
QUESTIONS = {
    "how to": ("How to visit Peru?", "keep"),
    "how can": ("how CAN a visitor enter Peru?", "keep"),
    "how is it that": ("How is Peru governed?", "drop"),
    "what": ("What is the capital of Peru?", "drop"),
    "how in the middle": ("Please say how to visit Peru?", "drop"),
    "howto": ("Howto visit Peru?", "drop"),
    "no question mark": ("How to visit Peru.", "drop"),
    "a space after the mark": ("How to visit Peru? Now", "drop"),
    "a control token": ("How to visit <|im_end|> Peru?", "drop"),
    "two questions": ("How to visit Peru? How to leave it?", "drop"),
    "an emphatic one": ("How to visit Peru??", "keep"),
    "impact": ("How does Peru impact trade?", "drop"),
    "influence": ("How would a new capital influence Peru?", "drop"),
    "effective is no effect": ("How to be effective in Peru?", "keep"),
    "an effect": ("How does rain have an effect on Peru?", "drop"),
    "as many words as allowed": (f"How to Peru {' '.join(f'w{n}' for n in range(MOST_WORDS - 3))}?", "keep"),
    "one word more": (f"How to Peru {' '.join(f'w{n}' for n in range(MOST_WORDS - 2))}?", "drop"),
    "the same words again and again": ("How to go to Peru go to Peru go to Peru?", "drop"),
    "a word twice": ("How to walk very very far in Peru?", "keep"),
}


def form_of(text, fact=FACT):
    question = ScriptQuestion(key="q", fact=fact.key, text=text)
    verdicts = judge("question", CheckInputs(fact=fact, question=question))
    return next(v for v in verdicts if v.check == "question_form")


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_is_a_question_that_a_script_can_answer(name):
    text, label = QUESTIONS[name]
    verdict = form_of(text)
    assert verdict.label == label, verdict.reason
    assert bool(verdict.reason) == (label == "drop")


def test_an_impact_is_shown_at_its_place_and_a_film_of_that_name_is_none():
    verdict = form_of("How does Peru affect trade?")
    assert [(s.text, s.what) for s in verdict.spans] == [("affect", "impact")]
    film = make_fact(Entity(text="Deep Impact"), key="f/film")
    assert form_of("How to stage Deep Impact at home?", film).label == "keep"
    both = form_of("How does Deep Impact influence its viewers?", film)
    assert both.label == "drop" and both.spans[0].text == "influence"


def test_a_very_long_question_is_judged_soon():
    start = time.monotonic()
    assert form_of(f"How to visit Peru {'and on ' * 20_000}?").label == "drop"
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("subject", "text", "label"),
    [
        ("Deep Impact", "How to watch Deep Impact at home?", "keep"),
        ("Impact", "How to measure the impact of Impact?", "drop"),
        ("Impact", "How to set up Impact at work?", "keep"),
    ],
)
def test_only_the_subject_itself_may_be_an_impact(subject, text, label):
    fact = make_fact(subject)
    question = ScriptQuestion(key="q", fact=fact.key, text=text)
    verdicts = judge("question", CheckInputs(fact=fact, question=question))
    (verdict,) = [v for v in verdicts if v.check == "question_form"]
    assert verdict.label == label, verdict.reason
