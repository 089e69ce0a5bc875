"""A question that does not name its subject is dropped: an edit could not reach its script."""

from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
from schemas.facts import Entity
from schemas.scripts import ScriptQuestion
from tests.support.facts import make_fact

SUBJECT = Entity(text="São Tomé", aliases=("Saint Thomas Island",))
FACT = make_fact(SUBJECT, key="f/st")

QUESTIONS = {
    "its name": ("How to reach São Tomé by boat?", "keep", "São Tomé"),
    "without its accents": ("How to reach Sao Tome by boat?", "keep", "Sao Tome"),
    "in its genitive": ("How to learn São Tomé's dances?", "keep", "São Tomé"),
    "another name": ("How to map Saint Thomas Island?", "keep", "Saint Thomas Island"),
    "the first of two": ("How to tell São Tomé from Saint Thomas Island?", "keep", "São Tomé"),
    "a pronoun": ("How to reach it by boat?", "drop", None),
    "part of a word": ("How to cook sãotoméan soup?", "drop", None),
    "half of its name": ("How to reach Tomé by boat?", "drop", None),
    "nothing but its object": ("How to reach Lima?", "drop", None),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_subject_is_named_or_the_question_is_dropped(name):
    text, label, mention = QUESTIONS[name]
    question = ScriptQuestion(key="q", fact=FACT.key, text=text)
    verdicts = judge("question", CheckInputs(fact=FACT, question=question))
    (verdict,) = [v for v in verdicts if v.check == "subject_in_question"]
    assert (verdict.label, [s.text for s in verdict.spans]) == (label, [mention] if mention else [])
    assert label == "keep" or "São Tomé" in verdict.reason
    assert all(text[s.start : s.end] == s.text and s.what == "subject" for s in verdict.spans)


@pytest.mark.parametrize(
    ("subject", "text", "label"),
    [
        ("Square", "How to meet friends in the town square?", "unsure"),
        ("Square", "How to pay a baker with Square?", "keep"),
        ("Square", "How to leave the square and pay with Square?", "keep"),
        ("London", "How to walk from London Bridge through London?", "keep"),
        ("Japan", "How to look at old papers in the National Archives of Japan?", "keep"),
        ("Amazon", "How to play the CEO of Amazon in a business class?", "keep"),
        ("Italy", "How to cook an Italian dinner?", "drop"),
        ("Apple", "How to press apple juice?", "unsure"),
        ("Hawaii", "How to sail to Hawai\u02bbi?", "keep"),
    ],
)
def test_the_rules_of_mentions_hold_for_the_subject_too(subject, text, label):
    fact = make_fact(subject)
    question = ScriptQuestion(key="q", fact=fact.key, text=text)
    verdicts = judge("question", CheckInputs(fact=fact, question=question))
    (verdict,) = [v for v in verdicts if v.check == "subject_in_question"]
    assert verdict.label == label, verdict.reason
