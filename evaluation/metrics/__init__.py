"""Metrics by name: each asks probes of a case and scores the answers. ``METRICS.get("s_es")()`` makes one."""

from __future__ import annotations

from schemas.core.registry import Registry

METRICS = Registry(
    "metric",
    shipped=(
        "es",
        "ps",
        "ns",
        "s_es",
        "s_flip_rate",
        "s_ns",
        "s_bo",
        "s_es_gen",
        "s_es_gen_question",
        "s_ns_gen_question",
        "script_format",
        "old_object_rate",
        "repetition_rate",
        "refusal_rate",
        "n_gram_entropy",
        "collapse",
    ),
    listing="scedit model metrics",
)
"""Registered metrics; others add theirs through the entry-point group ``scedit.metric``."""
