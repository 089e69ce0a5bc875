"""Checks of events and their questions: one file each, versioned; they describe, the split's rule decides."""

from __future__ import annotations

from construction.events.checks.base import EventCheck, EventInputs
from schemas.core.registry import Registry
from schemas.verdicts import Verdict

EVENT_CHECKS = Registry(
    "event_check",
    shipped=("information_kept", "options_differ", "stands_alone", "repeats_sibling", "subject_named"),
)

__all__ = ["EVENT_CHECKS", "EventCheck", "EventInputs", "judge_event"]


def judge_event(kind: str, inputs: EventInputs) -> list[Verdict]:
    """The verdicts of every registered check on items of a kind that applies, in order of registration.

    Args:
        kind: ``event``, ``fact_question`` or ``tendency_question``.
        inputs: What they look at.
    """
    classes: list[type[EventCheck]] = [EVENT_CHECKS.get(name) for name in EVENT_CHECKS.names()]
    checks = [cls() for cls in classes if cls.on == kind]
    return [check.judge_one(inputs) for check in checks if check.applies(inputs)]
