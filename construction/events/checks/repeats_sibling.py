"""How like is a tendency question to the earlier ones of its event?"""

from __future__ import annotations

from typing import ClassVar

from construction.events.checks.base import EventCheck, EventInputs
from curation.similarity.rouge import rouge1_f
from schemas.verdicts import Verdict


class RepeatsSibling(EventCheck):
    """Measure the greatest ROUGE-1 F with an earlier question of the same event; a threshold in the rule decides."""

    name: ClassVar[str] = "repeats_sibling"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "greatest ROUGE-1 F with an earlier tendency question of the same event"

    def judge_one(self, inputs: EventInputs) -> Verdict:
        """The verdict on the question."""
        question = inputs.question
        assert question is not None
        others = [q for q in inputs.earlier if q.id != question.id]
        if not others:
            return self.verdict(question, "keep", "the first question of its event", value=0.0, unit="rouge1_f")
        value, nearest = max(((rouge1_f(question.text, o.text), o) for o in others), key=lambda pair: pair[0])
        reason = f"most like '{nearest.key}' of {len(others)} earlier questions"
        verdict = self.verdict(question, "keep", reason, value=round(value, 6), unit="rouge1_f")
        return verdict.model_copy(update={"related": (nearest.id,)})  # not in its key: one verdict a question
