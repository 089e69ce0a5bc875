"""ES, Efficacy Success (ScEdit Eq. 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from evaluation.metrics.base import Role
from evaluation.metrics.token_level.probes import FactPreference
from schemas.facts import Fact


class ES(FactPreference):
    """Is the new object more probable than the old one after the fact prompt?"""

    name: ClassVar[str] = "es"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "ES"
    about: ClassVar[str] = "Efficacy Success: after the fact prompt, P(new object) > P(old object) (Eq. 1)"
    role: ClassVar[Role] = "efficacy"
    purpose: ClassVar[str] = "fact"

    def prompts(self, fact: Fact) -> Sequence[str]:
        """The fact prompt."""
        return [fact.fact_prompt]
