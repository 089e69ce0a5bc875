"""S-ES, Script-based Efficacy Success (ScEdit Eq. 2)."""

from __future__ import annotations

from typing import ClassVar

from evaluation.metrics.base import Role
from evaluation.metrics.token_level.probes import ScriptPreference


class SES(ScriptPreference):
    """Where a script named the old object, is the new one more probable?"""

    name: ClassVar[str] = "s_es"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "S-ES"
    about: ClassVar[str] = (
        "Script-based Efficacy Success: where a script was about to name the old object, "
        "P(new object) > P(old object) (Eq. 2)"
    )
    role: ClassVar[Role] = "script_efficacy"
