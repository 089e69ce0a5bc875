"""Does a neighbour's prompt speak of the edit?"""

from __future__ import annotations

from typing import ClassVar

from construction.checks.base import Check, Material, Stage, span
from construction.checks.leak_in_prompt import unlabelled
from schemas.mentions import find
from schemas.verdicts import Verdict


class SubjectInNeighbour(Check):
    """Drop a neighbour prompt, for one edit, that names the edited subject or the edit's new object.

    The verdict stands on the link between the two facts, with the prompt as related item: the same prompt may serve
    another edit well.
    """

    name: ClassVar[str] = "subject_in_neighbour"
    version: ClassVar[int] = 1
    on: ClassVar[Stage] = "neighbour"

    def judge(self, material: Material) -> Verdict:
        """The verdict on the link, in relation to the prompt."""
        link, edit, prompt = material.link, material.edit, material.prompt
        assert link is not None and edit is not None and prompt is not None
        text, related = unlabelled(prompt.text), (prompt.id,)
        for what, entity in (("edited subject", edit.subject), ("new object of the edit", edit.new)):
            if entity is not None and (found := find(text, entity)):
                reason = f"the neighbour's prompt names the {what} ('{found[0].text}')"
                return self.verdict(link, "drop", reason, spans=[span(m, what) for m in found], related=related)
        return self.verdict(link, "keep", related=related)
