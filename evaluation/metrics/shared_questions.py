"""Questions that all cases of a run share: a specificity set, and which of them stand after which edit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from evaluation.metrics.document_choice import DocumentChoice
from evaluation.metrics.document_prompts import cloze_probe
from schemas.core.ids import seed as seed_of
from schemas.documents.specificity import SpecificityQuestion, SpecificitySet
from schemas.probes import ScoreProbe

PURPOSE = "specificity"


class SharedQuestions:
    """A set of questions, so many of which are drawn for every edit.

    Args:
        questions: The set.
        choice: How they are asked, as probes of documents are.
        number: So many after an edit; None: all.
        seed: Of the draws, which also depend on the case.
        instruction: What stands before them instead of the instruction of ``choice``.
    """

    def __init__(
        self,
        questions: SpecificitySet,
        choice: DocumentChoice = DocumentChoice(),  # noqa: B008 - a value
        *,
        number: int | None = None,
        seed: int = 0,
        instruction: str | None = None,
    ) -> None:
        self.set, self.number, self.seed, self.instruction = questions, number, seed, instruction
        self.choice = choice if instruction is None else choice.model_copy(update={"instruction": instruction})
        self._drawn: dict[str, tuple[ScoreProbe, ...]] = {}

    @cached_property
    def probes(self) -> tuple[ScoreProbe, ...]:
        """What all questions ask, in the set's order."""
        return tuple(specificity_probe(question, self.choice) for question in self.set.questions)

    def drawn(self, case: str) -> tuple[ScoreProbe, ...]:
        """What is asked after the edit of a case, in the set's order: equal for every method and session."""
        if self.number is None or self.number >= len(self.probes):
            return self.probes
        if case not in self._drawn:
            ranked = sorted(self.probes, key=lambda p: (seed_of(str(self.seed), case, p.item, PURPOSE), p.item))
            chosen = {probe.item for probe in ranked[: self.number]}
            self._drawn[case] = tuple(probe for probe in self.probes if probe.item in chosen)
        return self._drawn[case]

    def description(self) -> dict[str, Any]:
        """What ``run.json`` keeps, so that a report needs no other file."""
        instruction = {} if self.instruction is None else {"instruction": self.instruction}
        return {"set": self.set.payload(), "number": self.number, "seed": self.seed, **instruction}

    @classmethod
    def from_description(cls, description: Mapping[str, Any], choice: DocumentChoice) -> SharedQuestions:
        """As a finished run's ``run.json`` says."""
        questions = SpecificitySet.model_validate(description["set"])
        number, seed, instruction = description["number"], description["seed"], description.get("instruction")
        return cls(questions, choice, number=number, seed=seed, instruction=instruction)


def specificity_probe(question: SpecificityQuestion, choice: DocumentChoice) -> ScoreProbe:
    """Ask how probable the answer is, and whether greedy writing would begin with it."""
    return cloze_probe(PURPOSE, question.item, question.query, question.answer, choice)
