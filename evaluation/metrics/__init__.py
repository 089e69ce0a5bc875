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
        "s_flip",
        "s_ns",
        "s_bo",
        "s_es_gen",
        "s_es_gen_question",
        "script_format",
        "script_old",
        "script_loops",
        "script_refused",
        "n_gram_entropy",
        "collapse",
    ),
)
"""Registered metrics; others add theirs through the entry-point group ``scedit.metric``."""
