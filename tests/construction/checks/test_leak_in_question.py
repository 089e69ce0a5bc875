"""A question that names one of the objects leaks the answer, unless no question can do without that name."""

from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
from schemas.facts import Entity
from schemas.scripts import ScriptQuestion
from tests.support.facts import make_fact

PERU = make_fact(aliases=("City of Kings",), new_aliases=("Christiania",))
PORSCHE = make_fact(Entity(text="Porsche Panamera"), "Porsche", "Fiat", key="f/car")
YORK = make_fact("Acme", "York", "New York")

QUESTIONS = {
    "nothing": (PERU, "How to cook a soup of Peru?", "keep", []),
    "the old object": (PERU, "How to see Lima in Peru?", "drop", [("Lima", "old object")]),
    "another name of it": (PERU, "How to see the City of Kings in Peru?", "drop", [("City of Kings", "old object")]),
    "the new object": (PERU, "How to move from Peru to Oslo?", "drop", [("Oslo", "new object")]),
    "an old name of it": (PERU, "How to move from Peru to Christiania?", "drop", [("Christiania", "new object")]),
    "both": (PERU, "How to fly from Lima in Peru to Oslo?", "drop", [("Lima", "old object"), ("Oslo", "new object")]),
    "part of a word": (PERU, "How to sell limabeans in Peru?", "keep", []),
    "part of the subject's name": (PORSCHE, "How to repair a Porsche Panamera?", "unsure", [("Porsche", "old object")]),
    "beside the subject's name": (
        PORSCHE,
        "How to ask Porsche about a Porsche Panamera?",
        "drop",
        [("Porsche", "old object")],
    ),
    "the longer name of the other one": (
        YORK,
        "How to reach Acme from New York?",
        "drop",
        [("New York", "new object")],
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_who_is_named_where(name):
    fact, text, label, places = QUESTIONS[name]
    question = ScriptQuestion(key="q", fact=fact.key, text=text)
    verdicts = judge("question", CheckInputs(fact=fact, question=question))
    (verdict,) = [v for v in verdicts if v.check == "leak_in_question"]
    assert verdict.label == label, verdict.reason
    assert [(s.text, s.what) for s in verdict.spans] == places
    assert all(text[s.start : s.end] == s.text for s in verdict.spans)
    assert label == "keep" or places[0][0] in verdict.reason


def test_a_fact_without_a_change_is_judged_by_its_one_object():
    plain = make_fact("Peru", "Lima", None)
    for text, label in (("How to move from Peru to Oslo?", "keep"), ("How to see Lima in Peru?", "drop")):
        verdicts = judge(
            "question", CheckInputs(fact=plain, question=ScriptQuestion(key="q", fact=plain.key, text=text))
        )
        assert next(v.label for v in verdicts if v.check == "leak_in_question") == label
