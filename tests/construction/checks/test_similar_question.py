from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
from curation.similarity.rouge import rouge1_f
from schemas.scripts import ScriptQuestion


def test_how_like_a_question_is_to_the_earlier_ones(fact):
    texts = ["How to visit Peru?", "How can one cook like in Peru?", "How to visit Peru soon?"]
    asked = [ScriptQuestion(key=f"q{n}", fact=fact.key, text=text) for n, text in enumerate(texts)]
    found = []
    for n, question in enumerate(asked):
        (verdict,) = [
            v
            for v in judge("question", CheckInputs(fact=fact, question=question, questions=tuple(asked[:n])))
            if v.check == "similar_question"
        ]
        found.append((verdict.label, verdict.value, verdict.unit, verdict.related))
        assert verdict.value == pytest.approx(
            max((rouge1_f(question.text, o.text) for o in asked[:n]), default=0.0), abs=1e-6
        )
    assert [f[0] for f in found] == ["keep"] * 3 and {f[2] for f in found} == {"rouge1_f"}
    assert found[0][3] == () and found[2][3] == (asked[0].id,)
    assert found[2][1] == pytest.approx(2 * 4 / 9, abs=1e-6)
