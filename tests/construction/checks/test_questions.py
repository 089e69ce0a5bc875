"""Checks of questions: their form, the subject that has to be named, objects that must not be, earlier questions."""

from __future__ import annotations

import time

import pytest

from construction.checks import CheckInputs, judge
from construction.checks.questions import MOST_WORDS
from curation.similarity.texts import rouge1_f
from schemas.facts import Entity
from schemas.scripts import ScriptQuestion
from tests.support.facts import make_fact

PERU = make_fact(aliases=("City of Kings",), new_aliases=("Christiania",))
PLAIN = make_fact("Peru", "Lima", None)
PORSCHE = make_fact(Entity(text="Porsche Panamera"), "Porsche", "Fiat", key="f/car")
YORK = make_fact("Acme", "York", "New York")
ISLAND = make_fact(Entity(text="São Tomé", aliases=("Saint Thomas Island",)), key="f/st")
US = make_fact("Texas", "United States", "Peru", aliases=("US", "America"))
FILM = make_fact(Entity(text="Deep Impact"), key="f/film")


def verdict_of(check, text, fact=PERU, earlier=None):
    question = ScriptQuestion(key="q", fact=fact.key, text=text)
    verdicts = judge("question", CheckInputs(fact=fact, question=question, questions=earlier))
    return next(v for v in verdicts if v.check == check)


FORM = [
    ("How to visit Peru?", "keep"),
    ("how CAN a visitor enter Peru?", "keep"),
    ("How is Peru governed?", "drop"),
    ("What is the capital of Peru?", "drop"),
    ("Please say how to visit Peru?", "drop"),
    ("Howto visit Peru?", "drop"),
    ("How to visit Peru.", "drop"),
    ("How to visit Peru? Now", "drop"),
    ("How to visit <|im_end|> Peru?", "drop"),
    ("How to visit Peru? How to leave it?", "drop"),
    ("How to visit Peru??", "keep"),
    ("How does Peru impact trade?", "drop"),
    ("How would a new capital influence Peru?", "drop"),
    ("How to be effective in Peru?", "keep"),
    ("How does rain have an effect on Peru?", "drop"),
    (f"How to Peru {' '.join(f'w{n}' for n in range(MOST_WORDS - 3))}?", "keep"),
    (f"How to Peru {' '.join(f'w{n}' for n in range(MOST_WORDS - 2))}?", "drop"),
    ("How to go to Peru go to Peru go to Peru?", "drop"),
    ("How to walk very very far in Peru?", "keep"),
]


@pytest.mark.parametrize(("text", "label"), FORM)
def test_what_is_a_question_that_a_script_can_answer(text, label):
    verdict = verdict_of("question_form", text)
    assert (verdict.label, bool(verdict.reason)) == (label, label == "drop"), verdict.reason


@pytest.mark.parametrize(
    ("fact", "text", "word"),
    [
        (PERU, "How does Peru affect trade?", "affect"),
        (FILM, "How to watch Deep Impact at home?", ""),
        (FILM, "How does Deep Impact influence its viewers?", "influence"),
        (make_fact("Impact"), "How to measure the impact of Impact?", "impact"),
        (make_fact("Impact"), "How to set up Impact at work?", ""),
    ],
)
def test_an_impact_is_shown_at_its_place_and_a_subject_of_that_name_is_none(fact, text, word):
    verdict = verdict_of("question_form", text, fact)
    assert verdict.label == ("drop" if word else "keep")
    assert [(s.text, s.what) for s in verdict.spans] == ([(word, "impact")] if word else [])


def test_a_very_long_question_is_judged_soon():
    start = time.monotonic()
    assert verdict_of("question_form", f"How to visit Peru {'and on ' * 20_000}?").label == "drop"
    assert time.monotonic() - start < 5


SUBJECT, LEAK = "subject_in_question", "leak_in_question"
NAMED = {
    "its name": (SUBJECT, ISLAND, "How to reach São Tomé by boat?", "keep", ["São Tomé"]),
    "without its accents": (SUBJECT, ISLAND, "How to reach Sao Tome by boat?", "keep", ["Sao Tome"]),
    "in its genitive": (SUBJECT, ISLAND, "How to learn São Tomé's dances?", "keep", ["São Tomé"]),
    "another name": (SUBJECT, ISLAND, "How to map Saint Thomas Island?", "keep", ["Saint Thomas Island"]),
    "the first of two": (SUBJECT, ISLAND, "How to tell São Tomé from Saint Thomas Island?", "keep", ["São Tomé"]),
    "a pronoun": (SUBJECT, ISLAND, "How to reach it by boat?", "drop", []),
    "part of a word": (SUBJECT, ISLAND, "How to cook sãotoméan soup?", "drop", []),
    "half of its name": (SUBJECT, ISLAND, "How to reach Tomé by boat?", "drop", []),
    "nothing but its object": (SUBJECT, ISLAND, "How to reach Lima?", "drop", []),
    "nothing": (LEAK, PERU, "How to cook a soup of Peru?", "keep", []),
    "the old object": (LEAK, PERU, "How to see Lima in Peru?", "drop", ["Lima"]),
    "another name of it": (LEAK, PERU, "How to see the City of Kings in Peru?", "drop", ["City of Kings"]),
    "the new object": (LEAK, PERU, "How to move from Peru to Oslo?", "drop", ["Oslo"]),
    "an old name of it": (LEAK, PERU, "How to move from Peru to Christiania?", "drop", ["Christiania"]),
    "both": (LEAK, PERU, "How to fly from Lima in Peru to Oslo?", "drop", ["Lima", "Oslo"]),
    "an object in a word": (LEAK, PERU, "How to sell limabeans in Peru?", "keep", []),
    "in the subject's name": (LEAK, PORSCHE, "How to repair a Porsche Panamera?", "unsure", ["Porsche"]),
    "beside it": (LEAK, PORSCHE, "How to ask Porsche about a Porsche Panamera?", "drop", ["Porsche"]),
    "a longer name": (LEAK, YORK, "How to reach Acme from New York?", "drop", ["New York"]),
    "no change, another's object": (LEAK, PLAIN, "How to move from Peru to Oslo?", "keep", []),
    "derived from the new": (LEAK, US, "How to visit Texas like a Peruvian?", "drop", ["Peruvian"]),
    "another word": (LEAK, US, "How to visit Texas and its perusers?", "keep", []),
    "a pronoun like an alias": (LEAK, US, "How to help us visit Texas?", "keep", []),
    "an alias in its genitive": (LEAK, US, "How to visit Texas with America's bus?", "drop", ["America"]),
    "no change, its object": (LEAK, PLAIN, "How to see Lima in Peru?", "drop", ["Lima"]),
}


@pytest.mark.parametrize("name", NAMED)
def test_who_is_named_where(name):
    check, fact, text, label, places = NAMED[name]
    verdict = verdict_of(check, text, fact)
    assert (verdict.label, [s.text for s in verdict.spans]) == (label, places), verdict.reason
    assert all(text[s.start : s.end] == s.text for s in verdict.spans)
    objects = dict.fromkeys(("Oslo", "Christiania", "New York", "Peruvian"), "new object")
    expected = {"subject"} if check == SUBJECT else {objects.get(place, "old object") for place in places}
    assert {s.what for s in verdict.spans} <= expected
    if label != "keep":
        assert (places[0] if places else fact.subject.text) in verdict.reason


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
    verdict = verdict_of(SUBJECT, text, make_fact(subject))
    assert verdict.label == label, verdict.reason


def test_how_like_a_question_is_to_the_earlier_ones(fact):
    texts = ["How to visit Peru?", "How can one cook like in Peru?", "How to visit Peru soon?"]
    questions = [ScriptQuestion(key=f"q{n}", fact=fact.key, text=text) for n, text in enumerate(texts)]
    for n, text in enumerate(texts):
        verdict = verdict_of("similar_question", text, fact, earlier=tuple(questions[:n]))
        value = max((rouge1_f(text, other) for other in texts[:n]), default=0.0)
        assert (verdict.label, verdict.unit) == ("keep", "rouge1_f")
        assert verdict.value == pytest.approx(value, abs=1e-6)
    assert verdict.related == (questions[0].id,) and verdict.value == pytest.approx(2 * 4 / 9, abs=1e-6)
