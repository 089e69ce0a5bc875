"""Metrics by name: each asks probes of a case and scores the answers. ``METRICS.get("s_es")()`` makes one."""

from __future__ import annotations

from schemas.registry import Registry

METRICS = Registry(
    "metric",
    {
        "es": "evaluation.metrics.es:ES",
        "ps": "evaluation.metrics.ps:PS",
        "ns": "evaluation.metrics.ns:NS",
        "s_es": "evaluation.metrics.s_es:SES",
        "s_ns": "evaluation.metrics.s_ns:SNS",
        "s_bo": "evaluation.metrics.s_bo:SBO",
    },
)
"""Registered metrics; others add theirs through the entry-point group ``scedit.metric``."""
