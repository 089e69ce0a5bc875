"""Is a script question too long? A check measures; the rule of a split decides what that means."""

from typing import ClassVar, Literal

from construction import CheckInputs, RuleCheck
from schemas import Verdict


class LongQuestion(RuleCheck):
    """Counts the words of a question and is unsure of long ones."""

    name: ClassVar[str] = "long_question"
    version: ClassVar[int] = 1  # raise it when a verdict could change
    on: ClassVar[Literal["question"]] = "question"
    about: ClassVar[str] = "has the question more than 20 words?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on one question."""
        question = inputs.question
        assert question is not None  # given at this stage
        words = len(question.text.split())
        label: Literal["keep", "unsure"] = "unsure" if words > 20 else "keep"
        return self.verdict(question, label, f"{words} words", value=float(words), unit="words")
