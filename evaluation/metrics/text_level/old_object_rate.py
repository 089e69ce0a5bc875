"""How much of a written script still rests on the old object."""

from __future__ import annotations

from evaluation.metrics.base import row
from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.probes import objects
from evaluation.metrics.text_level.script_parser import parse
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.text.mentions import find


def old_steps(case: Case, written: GeneratedText) -> float | str:
    """Steps with the old object among all steps; a text without steps has no value."""
    steps = parse(written.text).steps
    if not steps:
        return "the text has no steps"
    new, old = objects(case)
    return sum(bool(find(s, old, beside=[new])) for s in steps) / len(steps)


OldObjectRate = row(
    WrittenMetric,
    name="old_object_rate",
    title="Old in steps",
    about="Share of a written script's steps that name the old object",
    better="lower",
    measure=old_steps,
)
