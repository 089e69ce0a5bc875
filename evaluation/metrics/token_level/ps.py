"""PS, Paraphrase Success (as CounterFact; the paper's 27 % drop is S-ES against PS)."""

from __future__ import annotations

from evaluation.metrics.base import row
from evaluation.metrics.token_level.probes import FactPreference

PS = row(
    FactPreference,
    name="ps",
    title="PS",
    about="Paraphrase Success: after paraphrases of the fact prompt, P(new object) > P(old object)",
    role="generalisation",
    purpose="paraphrase",
    prompts=lambda fact: fact.paraphrases,
)
