"""ES-gen, PS-gen and NS-gen (ours): ES, PS and NS by what the model writes, not by which object is more probable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from evaluation.metrics.base import row
from evaluation.metrics.fact_texts.answer_line import read_answer
from evaluation.metrics.fact_texts.probes import Place, fact_prompts, text_probe, wanted_and_other
from evaluation.metrics.text_level.base import WrittenMetric
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.probes import GenerateProbe


class WrittenFact(WrittenMetric):
    """Continued from plain prompts, is the wanted object the first of the two that the answer's line names?

    Exact answers, answers that name both objects, degenerate ones and natural stops are counted apart by
    ``evaluation.analysis.written_facts``.
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


ESGen = row(
    WrittenFact,
    name="es_gen",
    title="ES-gen",
    about="Efficacy, written: continued from the fact prompt, the answer names the new object first",
    place="fact",
)


PSGen = row(
    WrittenFact,
    name="ps_gen",
    title="PS-gen",
    about="Paraphrase Success, written: continued from paraphrases, the new object is named first",
    place="paraphrase",
)


NSGen = row(
    WrittenFact,
    name="ns_gen",
    title="NS-gen",
    about="Neighbourhood Success, written: continued about other subjects with the old object, it is named first",
    place="neighbour",
)
