"""Does a neighbour's prompt speak of the edit?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import CheckInputs, RuleCheck, Stage, leaks, span
from construction.checks.leak_in_prompt import unlabelled
from schemas.verdicts import Span, Verdict


class SubjectInNeighbour(RuleCheck):
    """Drop a neighbour prompt, for one edit, that names the edited subject or the edit's new object.

    Where that is only part of the neighbour's own name ("France" in "Tour de France"), the prompt is ``unsure``.

    The verdict stands on the link between the two facts, with the prompt as related item: the same prompt may serve
    another edit well.
    """

    name: ClassVar[str] = "subject_in_neighbour"
    version: ClassVar[int] = 2
    on: ClassVar[Stage] = "neighbour"
    about: ClassVar[str] = "does a neighbour's prompt name the edited subject or the new object?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the link, in relation to the prompt."""
        link, edit, prompt = inputs.link, inputs.edit, inputs.prompt
        assert link is not None and edit is not None and prompt is not None
        text, related = unlabelled(prompt.text), (prompt.id,)
        within: list[Span] = []
        for what, entity in (("edited subject", edit.subject), ("new object of the edit", edit.new)):
            if entity is None:
                continue
            free, part = leaks(text, entity, subject=inputs.fact.subject)
            if free:
                reason = f"the neighbour's prompt names the {what} ('{free[0].text}')"
                return self.verdict(link, "drop", reason, spans=[span(m, what) for m in free], related=related)
            within += [span(m, what) for m in part]
        if within:
            reason = f"the {within[0].what} ('{within[0].text}') is part of the neighbour's name"
            return self.verdict(link, "unsure", reason, spans=within, related=related)
        return self.verdict(link, "keep", related=related)
