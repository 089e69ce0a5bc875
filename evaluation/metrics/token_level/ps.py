"""PS, Paraphrase Success (as CounterFact; the paper's 27 % drop is S-ES against PS)."""

from __future__ import annotations

from typing import ClassVar, Literal

from evaluation.metrics.base import Preference, Role
from evaluation.metrics.token_level.probes import plain
from schemas.cases import Case
from schemas.probes import ScoreProbe


class PS(Preference):
    """Is the new object more probable than the old one after paraphrases of the fact prompt?"""

    name: ClassVar[str] = "ps"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "PS"
    about: ClassVar[str] = "Paraphrase Success: after paraphrases of the fact prompt, P(new object) > P(old object)"
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    role: ClassVar[Role] = "generalisation"
    wanted: ClassVar[Literal["new", "old"]] = "new"

    def probes(self, case: Case) -> list[ScoreProbe]:
        """Every paraphrase; none where the source has none."""
        return [plain(case, p, purpose="paraphrase", item=case.fact.key) for p in case.fact.paraphrases]
