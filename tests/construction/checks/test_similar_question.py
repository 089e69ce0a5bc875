from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
from curation.similarity.texts import rouge1_f
from schemas.scripts import ScriptQuestion


def test_how_like_a_question_is_to_the_earlier_ones(fact):
    texts = ["How to visit Peru?", "How can one cook like in Peru?", "How to visit Peru soon?"]
    questions = [ScriptQuestion(key=f"q{n}", fact=fact.key, text=text) for n, text in enumerate(texts)]
    results = []
    for n, question in enumerate(questions):
        (verdict,) = [
            v
            for v in judge("question", CheckInputs(fact=fact, question=question, questions=tuple(questions[:n])))
            if v.check == "similar_question"
        ]
        results.append((verdict.label, verdict.value, verdict.unit, verdict.related))
        assert verdict.value == pytest.approx(
            max((rouge1_f(question.text, o.text) for o in questions[:n]), default=0.0), abs=1e-6
        )
    assert [f[0] for f in results] == ["keep"] * 3 and {f[2] for f in results} == {"rouge1_f"}
    assert results[0][3] == () and results[2][3] == (questions[0].id,)
    assert results[2][1] == pytest.approx(2 * 4 / 9, abs=1e-6)
