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
        "s_flip": "evaluation.metrics.s_flip:SFlip",
        "s_ns": "evaluation.metrics.s_ns:SNS",
        "s_bo": "evaluation.metrics.s_bo:SBO",
        "s_es_gen": "evaluation.metrics.s_es_gen:SESGen",
        "s_es_gen_question": "evaluation.metrics.s_es_gen_question:SESGenQuestion",
        "script_format": "evaluation.metrics.script_format:ScriptFormat",
        "script_old": "evaluation.metrics.script_old:ScriptOld",
        "script_loops": "evaluation.metrics.script_loops:ScriptLoops",
        "script_refused": "evaluation.metrics.script_refused:ScriptRefused",
        "n_gram_entropy": "evaluation.metrics.n_gram_entropy:NGramEntropy",
        "collapse": "evaluation.metrics.collapse:Collapse",
    },
)
"""Registered metrics; others add theirs through the entry-point group ``scedit.metric``."""
