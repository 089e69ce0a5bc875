"""Does the question give away one of the objects?"""

from __future__ import annotations

from typing import Any, ClassVar

from construction.checks.base import CheckInputs, MentionCheck, Stage, leaks
from schemas.verdicts import Verdict


class LeakInQuestion(MentionCheck):
    """Drop a question that names the old or the new object, or an alias of one (Figure 6: "should not leak").

    An object that is only part of the subject's own name ("Porsche" in "Porsche Panamera") cannot be avoided by any
    question; such questions are ``unsure``, and so are those with an object inside a longer name ("London Bridge").
    """

    name: ClassVar[str] = "leak_in_question"
    version: ClassVar[int] = 3
    on: ClassVar[Stage] = "question"
    about: ClassVar[str] = "does the question name either object or an alias?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the question."""
        question, fact = inputs.question, inputs.fact
        assert question is not None
        text = question.text
        around: dict[str, Any] = {"subject": fact.subject, "relation": fact.relation, "rules": self.params.rules}
        found = leaks(text, "old object", fact.old, other=fact.new, **around)
        found += leaks(text, "new object", fact.new, other=fact.old, **around)
        if found.named:
            first = found.named[0]
            reason = f"the question names the {first.what} ('{first.text}')"
            return self.verdict(question, "drop", reason, spans=found.named)
        if found.doubtful:
            return self.verdict(question, "unsure", found.doubtful[0][1], spans=[place for place, _ in found.doubtful])
        return self.verdict(question, "keep", "; ".join(found.other))
