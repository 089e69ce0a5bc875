"""ES, Efficacy Success (ScEdit Eq. 1)."""

from __future__ import annotations

from typing import ClassVar, Literal

from evaluation.metrics.base import Preference, Role
from evaluation.metrics.token_level.probes import plain
from schemas.cases import Case
from schemas.probes import ScoreProbe


class ES(Preference):
    """Is the new object more probable than the old one after the fact prompt?"""

    name: ClassVar[str] = "es"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "ES"
    about: ClassVar[str] = "Efficacy Success: after the fact prompt, P(new object) > P(old object) (Eq. 1)"
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    role: ClassVar[Role] = "efficacy"
    wanted: ClassVar[Literal["new", "old"]] = "new"

    def probes(self, case: Case) -> list[ScoreProbe]:
        """The fact prompt."""
        return [plain(case, case.fact.fact_prompt, purpose="fact", item=case.fact.key)]
