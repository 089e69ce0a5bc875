"""Has a cloze one blank?"""

from __future__ import annotations

from typing import ClassVar

from construction.documents.checks.base import ProbeCheck, ProbeInputs
from schemas.verdicts import Verdict


class OneBlank(ProbeCheck):
    """Drop probes of level 1 without a blank, and probes of any level with several: they have one answer."""

    name: ClassVar[str] = "one_blank"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "has a probe of level 1 a blank, and no probe several?"

    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        """The verdict on the probe."""
        probe = inputs.probe
        if probe.blanks > 1:
            return self.verdict(probe, "drop", f"{probe.blanks} blanks for one answer")
        if probe.level == 1 and not probe.blanks:
            return self.verdict(probe, "drop", "of level 1, without a blank")
        return self.verdict(probe, "keep")
