"""Locality of events by what the model writes: the texts before and after the edit, question by question."""

from __future__ import annotations

from evaluation.metrics.base import Answers
from evaluation.metrics.events.base import Question, QuestionMetric
from evaluation.metrics.events.tendencies import tendencies_out_of_scope
from evaluation.metrics.text_level.base import texts_around
from schemas.answers import Answer, ItemScore


class WrittenLocality(QuestionMetric):
    """Does the model write the same before and after the edit, out of scope (ELKEN Table 2, locality)?"""

    asks = tendencies_out_of_scope

    def value(self, question: Question, after: Answers, before: Answers) -> ItemScore:
        """What ``compare`` says of the two texts; unscored where one is missing."""
        probe = self.probes_of(question)[0].id
        texts = texts_around(after.get(probe), before.get(probe))
        if isinstance(texts, str):
            return self.item(question, None, texts)
        now, then = texts
        return self.compare(question, now.text, then.text, after.get(probe))

    def compare(self, question: Question, now: str, then: str, answer: Answer | None) -> ItemScore:
        """The score of the text after the edit (``now``) beside the one before it; ``answer`` holds its ratings."""
        raise NotImplementedError
