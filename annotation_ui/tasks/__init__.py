"""The kinds of work for people, a file each."""

from __future__ import annotations

from schemas.core.registry import Registry

TASKS = Registry(
    "task",
    {
        "filter_question": "annotation_ui.tasks.filter_question:FilterQuestion",
        "verify_leak": "annotation_ui.tasks.verify_leak:VerifyLeakFlag",
        "quality": "annotation_ui.tasks.quality_sample:QualitySample",
        "rate_executability": "annotation_ui.tasks.rate_executability:RateExecutability",
        "rate_script": "annotation_ui.tasks.rate_script:RateScript",
    },
)
"""Every task by name. Ratings are two tasks, because Executability is judged from the script and nothing else."""
