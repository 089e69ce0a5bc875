"""How much of a written script still rests on the old object."""

from __future__ import annotations

from typing import ClassVar, Literal

from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.probes import objects
from evaluation.metrics.text_level.script_parser import parse
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.probes import GenerateProbe
from schemas.text.mentions import find


class OldObjectRate(WrittenMetric):
    """Share of a script's steps that name the old object; a text without steps is unscored."""

    name: ClassVar[str] = "old_object_rate"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Old in steps"
    about: ClassVar[str] = "Share of a written script's steps that name the old object"
    better: ClassVar[Literal["higher", "lower"]] = "lower"

    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float | str:
        """Steps with the old object among all steps."""
        steps = parse(written.text).steps
        if not steps:
            return "the text has no steps"
        new, old = objects(case)
        return sum(bool(find(s, old, beside=[new])) for s in steps) / len(steps)
