"""S-ES, Script-based Efficacy Success (ScEdit Eq. 2)."""

from __future__ import annotations

from evaluation.metrics.base import row
from evaluation.metrics.token_level.probes import ScriptPreference

# Where a script named the old object, is the new one more probable?
SES = row(
    ScriptPreference,
    name="s_es",
    title="S-ES",
    about="Script-based Efficacy Success: where a script was about to name the old object, "
    "P(new object) > P(old object) (Eq. 2)",
    role="script_efficacy",
)
