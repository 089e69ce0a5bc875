"""How like is a question to the earlier ones of its fact?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import CheckInputs, RuleCheck, Stage
from curation.similarity.rouge import rouge1_f
from schemas.verdicts import Verdict


class SimilarQuestion(RuleCheck):
    """Measure the greatest ROUGE-1 F of a question with an earlier one of the same fact, which is the related item.

    It drops nothing: a threshold in the split's rule says from where on two questions are one. Only earlier ones are
    compared, so of two equal questions the first has no fault.
    """

    name: ClassVar[str] = "similar_question"
    version: ClassVar[int] = 1
    on: ClassVar[Stage] = "question"
    about: ClassVar[str] = "greatest ROUGE-1 F with an earlier question of the same fact"

    def applies(self, inputs: CheckInputs) -> bool:
        """Only where the earlier questions of the fact are given."""
        return inputs.questions is not None

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the question."""
        question, earlier = inputs.question, inputs.questions
        assert question is not None and earlier is not None
        others = [q for q in earlier if q.id != question.id and q.fact == question.fact]
        if not others:
            return self.verdict(question, "keep", "the first question of its fact", value=0.0, unit="rouge1_f")
        scored = [(rouge1_f(question.text, other.text), other) for other in others]
        value, nearest = max(scored, key=lambda pair: pair[0])
        reason = f"most like '{nearest.key}' of {len(others)} earlier questions"
        verdict = self.verdict(question, "keep", reason, value=round(value, 6), unit="rouge1_f")
        return verdict.model_copy(update={"related": (nearest.id,)})  # not in its key: one verdict a question
