"""Are the tags of a probe those of the closed list, and has a probe of level 3 any?"""

from __future__ import annotations

from typing import ClassVar

from construction.documents.checks.base import ProbeCheck, ProbeInputs
from schemas.verdicts import Verdict


class TagKnown(ProbeCheck):
    """Doubt probes with a tag that means none of the 24 of the closed list, and probes of level 3 without any tag."""

    name: ClassVar[str] = "tag_known"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "does every tag mean one of the closed list, and has a probe of level 3 any?"
    not_applicable: ClassVar[str] = "only probes of level 3 have tags"

    def applies(self, inputs: ProbeInputs) -> bool:
        """Only to probes of level 3, and to others with an unknown tag."""
        return inputs.probe.level == 3 or bool(inputs.unknown_tags)

    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        """The verdict on the probe."""
        probe = inputs.probe
        if inputs.unknown_tags:
            return self.verdict(probe, "unsure", f"the tag '{inputs.unknown_tags[0]}' is none of the closed list")
        if not probe.tags:
            return self.verdict(probe, "unsure", "of level 3, without a tag")
        return self.verdict(probe, "keep")
