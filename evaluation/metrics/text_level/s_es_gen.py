"""S-ES-gen (ours): what the edited model writes where S-ES compares probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from evaluation.metrics.base import Role
from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.probes import objects, rest_of_step
from evaluation.metrics.text_level.script_parser import names
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.probes import GenerateProbe


class SESGen(WrittenMetric):
    """Continued from the script prompt, does the cut step name the new object first?

    A step that names neither object counts as not naming the new one. Whether the text repeats itself, and which
    other objects it names, is counted by ``evaluation.analysis.written_facts``.
    """

    name: ClassVar[str] = "s_es_gen"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "S-ES-gen"
    about: ClassVar[str] = (
        "Script-based Efficacy, written: continued from the script prompt, the cut step names the new object first"
    )
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    role: ClassVar[Role] = "text_efficacy"

    def probes(self, case: Case) -> Sequence[GenerateProbe]:
        """The rest of every cut step."""
        return [rest_of_step(case, p, self.generation) for p in case.prompts]

    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float:
        """1 where the new object is named first."""
        prompt = next((p for p in case.prompts if p.key == probe.item), None)
        return float(names(written.text, *objects(case, prompt)).first == "new")
