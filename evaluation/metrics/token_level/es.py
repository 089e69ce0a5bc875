"""ES, Efficacy Success (ScEdit Eq. 1)."""

from __future__ import annotations

from evaluation.metrics.base import row
from evaluation.metrics.token_level.probes import FactPreference

ES = row(
    FactPreference,
    name="es",
    title="ES",
    about="Efficacy Success: after the fact prompt, P(new object) > P(old object) (Eq. 1)",
    role="efficacy",
    purpose="fact",
    prompts=lambda fact: [fact.fact_prompt],
)
