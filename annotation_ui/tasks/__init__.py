"""The kinds of work for people, a file each."""

from __future__ import annotations

from schemas.core.registry import Registry

TASKS = Registry(
    "task",
    shipped=(
        "screen_question",
        "filter_question",
        "verify_leak",
        "quality",
        "rate_executability",
        "rate_script",
        "compare_executability",
        "compare_scripts",
        "answer_tendency",
        "judge_tendency",
        "review_scope",
        "review_paraphrase",
        "rate_answer",
        "rate_answer_pair",
        "curate_probe",
        "review_level",
    ),
)
"""Every task by name. Ratings are two tasks, because Executability is judged from the script and nothing else."""
