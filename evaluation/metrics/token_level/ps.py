"""PS, Paraphrase Success (as CounterFact; the paper's 27 % drop is S-ES against PS)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from evaluation.metrics.base import Role
from evaluation.metrics.token_level.probes import FactPreference
from schemas.facts import Fact


class PS(FactPreference):
    """Is the new object more probable than the old one after paraphrases of the fact prompt?"""

    name: ClassVar[str] = "ps"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "PS"
    about: ClassVar[str] = "Paraphrase Success: after paraphrases of the fact prompt, P(new object) > P(old object)"
    role: ClassVar[Role] = "generalisation"
    purpose: ClassVar[str] = "paraphrase"

    def prompts(self, fact: Fact) -> Sequence[str]:
        """Every paraphrase; none where the source has none."""
        return fact.paraphrases
