"""Does a neighbour's prompt speak of the edit?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import CheckInputs, Leaks, RuleCheck, Stage, leaks
from construction.checks.leak_in_prompt import blank_step_labels
from schemas.verdicts import Verdict


class SubjectInNeighbour(RuleCheck):
    """Drop a neighbour prompt, for one edit, that names the edited subject or the edit's new object.

    Where that is only part of the neighbour's own name ("France" in "Tour de France"), the prompt is ``unsure``.

    The verdict stands on the link between the two facts, with the prompt as related item: the same prompt may serve
    another edit well.
    """

    name: ClassVar[str] = "subject_in_neighbour"
    version: ClassVar[int] = 7
    on: ClassVar[Stage] = "neighbour"
    about: ClassVar[str] = "does a neighbour's prompt name the edited subject or the new object?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the link, in relation to the prompt."""
        link, edit, prompt = inputs.link, inputs.edit, inputs.prompt
        assert link is not None and edit is not None and prompt is not None
        text, related = blank_step_labels(prompt.text), (prompt.id,)
        all_leaks = Leaks()
        for what, entity in (("edited subject", edit.subject), ("new object of the edit", edit.new)):
            edited_subject = inputs.fact.subject
            here = leaks(text, what, entity, subject=edited_subject, whose="the neighbour's")
            if here.named:
                reason = f"the neighbour's prompt names the {what} ('{here.named[0].text}')"
                return self.verdict(link, "drop", reason, spans=here.named, related=related)
            all_leaks += here
        if all_leaks.doubtful:
            spans = [place for place, _ in all_leaks.doubtful]
            return self.verdict(link, "unsure", all_leaks.doubtful[0][1], spans=spans, related=related)
        return self.verdict(link, "keep", related=related)
