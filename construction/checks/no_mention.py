"""Does the script mention the old object, so that there is a place to cut?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import CheckInputs, RuleCheck, Stage
from construction.scripts.truncation import first_cut
from schemas.verdicts import Span, Verdict


class NoMention(RuleCheck):
    """Drop a script without the old object or an alias of it: "truncation impossible" (Appendix B.2.1)."""

    name: ClassVar[str] = "no_mention"
    version: ClassVar[int] = 2
    on: ClassVar[Stage] = "script"
    about: ClassVar[str] = "does the script mention the old object, so that it can be cut?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the script."""
        question, script, fact = inputs.question, inputs.script, inputs.fact
        assert question is not None and script is not None
        cut = first_cut(question.text, script.steps, old=fact.old, subject=fact.subject, beside=(fact.new,))
        if cut is None:
            return self.verdict(script, "drop", f"no step mentions the old object ('{fact.old.text}'): nothing to cut")
        m = cut.mention
        return self.verdict(script, "keep", spans=[Span(start=m.start, end=m.end, text=m.text, what="old object")])
