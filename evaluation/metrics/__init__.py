"""Metrics by name: each asks probes of a case and scores the answers. ``METRICS.get("s_es")()`` makes one."""

from __future__ import annotations

from schemas.core.registry import Registry

METRICS = Registry(
    "metric",
    {
        "es": "evaluation.metrics.token_level.es:ES",
        "ps": "evaluation.metrics.token_level.ps:PS",
        "ns": "evaluation.metrics.token_level.ns:NS",
        "s_es": "evaluation.metrics.token_level.s_es:SES",
        "s_flip": "evaluation.metrics.token_level.s_flip:SFlip",
        "s_ns": "evaluation.metrics.token_level.s_ns:SNS",
        "s_bo": "evaluation.metrics.token_level.s_bo:SBO",
        "s_es_gen": "evaluation.metrics.text_level.s_es_gen:SESGen",
        "s_es_gen_question": "evaluation.metrics.text_level.s_es_gen_question:SESGenQuestion",
        "script_format": "evaluation.metrics.text_level.script_format:ScriptFormat",
        "script_old": "evaluation.metrics.text_level.script_old_object:ScriptOld",
        "script_loops": "evaluation.metrics.text_level.script_repetition:ScriptLoops",
        "script_refused": "evaluation.metrics.text_level.script_refusal:ScriptRefused",
        "n_gram_entropy": "evaluation.metrics.text_level.n_gram_entropy:NGramEntropy",
        "collapse": "evaluation.metrics.token_level.collapse:Collapse",
    },
)
"""Registered metrics; others add theirs through the entry-point group ``scedit.metric``."""
