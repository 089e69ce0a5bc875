"""ES-gen, PS-gen and NS-gen (ours): ES, PS and NS by what the model writes, not by which object is more probable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from evaluation.metrics.fact_texts.answer_line import read_answer
from evaluation.metrics.fact_texts.probes import Place, fact_prompts, text_probe, wanted_and_other
from evaluation.metrics.text_level.base import WrittenMetric
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.probes import GenerateProbe


class WrittenFact(WrittenMetric):
    """Continued from plain prompts, is the wanted object the first of the two that the answer's line names?

    Exact answers, answers that name both objects, degenerate ones and natural stops are counted apart by
    ``evaluation.analysis.facts.written_facts``.
    """

    version: ClassVar[int] = 1
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    place: ClassVar[Place]

    def probes(self, case: Case) -> Sequence[GenerateProbe]:
        """A text after each prompt."""
        return [text_probe(case, p, self.place, self.generation) for p in fact_prompts(case, self.place)]

    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float:
        """1 where the wanted object is named first; an answer that names neither is no success."""
        return float(read_answer(written, *wanted_and_other(case, self.place)).first == "new")


class ESGen(WrittenFact):
    """What the model writes after the fact prompt."""

    name: ClassVar[str] = "es_gen"
    title: ClassVar[str] = "ES-gen"
    about: ClassVar[str] = "Efficacy, written: continued from the fact prompt, the answer names the new object first"
    place: ClassVar[Place] = "fact"


class PSGen(WrittenFact):
    """What the model writes after paraphrases of the fact prompt."""

    name: ClassVar[str] = "ps_gen"
    title: ClassVar[str] = "PS-gen"
    about: ClassVar[str] = "Paraphrase Success, written: continued from paraphrases, the new object is named first"
    place: ClassVar[Place] = "paraphrase"


class NSGen(WrittenFact):
    """What the model writes about other subjects that have the old object."""

    name: ClassVar[str] = "ns_gen"
    title: ClassVar[str] = "NS-gen"
    about: ClassVar[str] = (
        "Neighbourhood Success, written: continued about other subjects with the old object, it is named first"
    )
    place: ClassVar[Place] = "neighbour"
