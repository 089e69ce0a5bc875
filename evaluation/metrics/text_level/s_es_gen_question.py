"""S-ES-gen from the question alone (ours): which object does the script that the edited model writes name?"""

from __future__ import annotations

from typing import ClassVar, Literal

from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.probes import objects
from evaluation.metrics.text_level.script_parser import names
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.probes import GenerateProbe


class SESGenQuestion(WrittenMetric):
    """Asked the script question only, does the script name the new object before the old one?"""

    name: ClassVar[str] = "s_es_gen_question"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "S-ES-gen (question)"
    about: ClassVar[str] = "The script written for the question alone names the new object, and before the old one"
    better: ClassVar[Literal["higher", "lower"]] = "higher"

    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float:
        """1 where the new object is named first."""
        return float(names(written.text, *objects(case)).first == "new")
