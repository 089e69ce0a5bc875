"""Does the script mention the old object, so that there is a place to cut?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import CheckInputs, RuleCheck, Stage
from construction.scripts.truncation import SoughtObject, first_cut
from schemas.verdicts import Span, Verdict


class NoMention(RuleCheck):
    """Drop a script without the old object or an alias of it: "truncation impossible" (Appendix B.2.1).

    Where the only place to cut at may be another word ("turkey" for Turkey), the script is ``unsure``.
    """

    name: ClassVar[str] = "no_mention"
    version: ClassVar[int] = 8
    on: ClassVar[Stage] = "script"
    about: ClassVar[str] = "does the script mention the old object, so that it can be cut?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the script."""
        question, script, fact = inputs.question, inputs.script, inputs.fact
        assert question is not None and script is not None
        sought = SoughtObject.of(fact)
        cut = first_cut(question.text, script.steps, sought)
        if cut is None:
            return self.verdict(script, "drop", f"no step mentions the old object ('{fact.old.text}'): nothing to cut")
        m = cut.mention
        spans = [Span(start=m.start, end=m.end, text=m.text, what="old object")]
        if cut.doubt:
            return self.verdict(script, "unsure", f"cut at a doubtful place: {cut.doubt}", spans=spans)
        return self.verdict(script, "keep", spans=spans)
