"""Is a probe of level 1 literal, and no other one?"""

from __future__ import annotations

from typing import ClassVar

from construction.documents.checks.base import ProbeCheck, ProbeInputs
from schemas.documents.document import is_literal
from schemas.verdicts import Verdict


class LevelLiteral(ProbeCheck):
    """Doubt clozes of level 1 that do not stand in their document word for word, and literal ones of another level.

    Level 1 is defined by it (MULFE §4.2). Such a probe is a good one of another level, so people decide. Case and
    punctuation are folded.
    """

    name: ClassVar[str] = "level_literal"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "does a cloze of level 1, filled in, stand in its document word for word, and no other one?"
    not_applicable: ClassVar[str] = "it has no level"

    def applies(self, inputs: ProbeInputs) -> bool:
        """Only to probes that have a level."""
        return inputs.probe.level is not None

    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        """The verdict on the probe."""
        probe, literal = inputs.probe, is_literal(inputs.probe, inputs.document)
        if probe.level == 1 and not literal:
            return self.verdict(probe, "unsure", "of level 1, and not word for word in its document: another level?")
        if probe.level != 1 and literal:
            reason = f"of level {probe.level}, and word for word in its document: level 1?"
            return self.verdict(probe, "unsure", reason)
        return self.verdict(probe, "keep")
