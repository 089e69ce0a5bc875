"""S-ES, Script-based Efficacy Success (ScEdit Eq. 2)."""

from __future__ import annotations

from typing import ClassVar, Literal

from evaluation.metrics.base import Preference, Role
from evaluation.metrics.token_level.probes import script
from schemas.cases import Case
from schemas.probes import ScoreProbe


class SES(Preference):
    """Where a script named the old object, is the new one more probable?"""

    name: ClassVar[str] = "s_es"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "S-ES"
    about: ClassVar[str] = (
        "Script-based Efficacy Success: where a script was about to name the old object, "
        "P(new object) > P(old object) (Eq. 2)"
    )
    role: ClassVar[Role] = "script_efficacy"
    wanted: ClassVar[Literal["new", "old"]] = "new"

    def probes(self, case: Case) -> list[ScoreProbe]:
        """Every script prompt of the edited fact."""
        return [script(case, p, purpose="script") for p in case.prompts]
