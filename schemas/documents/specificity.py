"""What a base model answers before any edit and must answer after it (MULFE §4.3 and Appendix A.4)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from schemas.core.records import Frozen, Key, Record, Text
from schemas.facts import Source


class SpecificityQuestion(Frozen):
    """A question that the base model answers.

    Attributes:
        item: Its name in the pool.
        query: The question.
        answer: The answer, in the spelling that the model gives.
        nll: Sum of the answer's negative log-probabilities (nats) when it was chosen; None where not known.
        ppl: Perplexity of the answer, per token.
    """

    item: Key
    query: Text
    answer: Text
    nll: Annotated[float, Field(ge=0)] | None = None
    ppl: Annotated[float, Field(ge=1)] | None = None


class SpecificitySet(Record):
    """Questions that one base model answers; it says nothing about any other model.

    Attributes:
        model: Name of the model that they were chosen for.
        revision: What tells its weights from others; None of published sets, which do not say.
        questions: The questions, in the order of the source.
        prompts: The prompts under which all were answered, where known.
        pool: Digest of the questions that they were drawn from, where known.
        seed: Of the draw, where known.
    """

    kind: ClassVar[str] = "specificity_set"
    model: Text
    revision: Text | None = None
    questions: Annotated[tuple[SpecificityQuestion, ...], Field(min_length=1)]
    prompts: tuple[str, ...] = ()
    pool: str | None = None
    seed: int | None = None
    source: Source

    @model_validator(mode="after")
    def _different_questions(self) -> SpecificitySet:
        names = [question.item for question in self.questions]
        if len(set(names)) != len(names):
            raise ValueError(f"the question '{next(n for n in names if names.count(n) > 1)}' is there twice")
        return self
