from __future__ import annotations

import random

import pytest

from construction.authoring.diversity import UNIT, chosen_verdict, selection_order, surplus_verdict
from construction.authoring.outcome import QuestionOutcome
from curation.similarity.texts import rouge1_f
from schemas.scripts import ScriptQuestion
from schemas.verdicts import Verdict


def made(text: str, label: str = "keep") -> QuestionOutcome:
    question = ScriptQuestion(key=f"f/1/q-{abs(hash(text)) % 10**8}", fact="f/1", text=text)
    verdict = Verdict(key="v", item_id=question.id, by="some_check@1", label=label, reason="because")
    return QuestionOutcome(question, (verdict,))


def naive(questions):
    """Greedy max-min, written down from its definition."""
    selection: list[int] = []
    while len(selection) < len(questions):

        def rank(i):
            near = max(
                (rouge1_f(questions[i].question.text, questions[j].question.text) for j in selection), default=0.0
            )
            return questions[i].verdicts[0].label != "keep", near, i

        selection.append(min((i for i in range(len(questions)) if i not in selection), key=rank))
    return selection


def test_hand_worked():
    texts = ["How to visit Peru?", "How to visit Peru now?", "How do I cook a soup from Peru?", "How to visit in Peru?"]
    assert selection_order([made(t) for t in texts]) == [0, 2, 1, 3]


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_definition(seed):
    rng = random.Random(seed)
    words = ["visit", "Peru", "plan", "trip", "send", "parcel", "learn", "greet", "cook", "buy"]
    questions = [
        made("How to " + " ".join(rng.choices(words, k=4)) + "?", rng.choice(["keep", "keep", "unsure"]))
        for _ in range(9)
    ]
    assert selection_order(questions) == naive(questions)


def test_what_a_check_is_unsure_of_comes_last():
    questions = [made("How to fly?", "unsure"), made("How to visit Peru?"), made("How to visit Peru?x")]
    assert selection_order(questions) == [1, 2, 0]


def test_none_and_one():
    assert selection_order([]) == [] and selection_order([made("How to go?")]) == [0]


def test_the_verdict_names_the_nearest_of_the_chosen():
    questions, near, far = (made(t).question for t in ("How to visit Peru?", "How to see Peru?", "How do I cook?"))
    verdict = surplus_verdict(questions, [far, near])
    assert (verdict.label, verdict.value, verdict.unit) == ("drop", 0.75, UNIT)
    assert "'How to see Peru?'" in verdict.reason
    repeat = chosen_verdict(questions)
    assert (repeat.key, repeat.label) == (verdict.key, "keep")  # judged again, it replaces the first
