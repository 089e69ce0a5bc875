"""How texts are written in a run, as its configuration says it: the table ``[generation]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from evaluation.metrics.document_choice import DocumentChoice
from evaluation.metrics.event_choice import EventChoice
from evaluation.metrics.shared_questions import SharedQuestions
from schemas.core.config import Options
from schemas.core.ids import seed
from schemas.probes import ThoughtAsked
from schemas.text.thoughts import MARKS

Mark = Annotated[str, Field(min_length=1)]
"""A text at which something begins or ends."""


class ThoughtChoice(Options):
    """That the model thinks first: the table ``[generation.thought]``.

    Attributes:
        tokens: The most new tokens of thoughts, beside those of the answer.
        marks: Pairs of opening and closing marks; those that models use most where none are named.
        enable: What the chat template is told as ``enable_thinking``; left out, it is told nothing.
        everywhere: Fact prompts and cut steps are put in the chat template, too, with an instruction to go on: most
            models think nowhere else.

    Example:
        >>> ThoughtChoice(marks=[["<r>", "</r>"]]).asked.marks
        (('<r>', '</r>'),)
    """

    tokens: Annotated[int, Field(ge=1)] = 1024
    marks: Annotated[tuple[tuple[Mark, Mark], ...], Field(min_length=1)] = MARKS
    enable: bool | None = None
    everywhere: bool = False

    @model_validator(mode="after")
    def _check_marks(self) -> ThoughtChoice:
        named = [mark for pair in self.marks for mark in pair]
        if twice := next((mark for mark in named if named.count(mark) > 1), None):
            raise ValueError(f"the mark {twice!r} stands twice: opening and closing marks must differ")
        return self

    @property
    def asked(self) -> ThoughtAsked:
        """As a probe has it."""
        return ThoughtAsked(marks=self.marks, most=self.tokens, enable=self.enable)


class GenerationChoice(Options):
    r"""How texts are written. Everything here is part of the probes' ids, so another choice is asked anew.

    Attributes:
        max_tokens: The most new tokens of a script.
        step_tokens: Of the rest of a cut step.
        temperature: 0 writes the likeliest token always; above, tokens are drawn.
        top_p: Draw among the likeliest tokens of this joint probability.
        samples: Scripts for each question; more than one needs a temperature.
        chat: Whether script questions are put in the model's chat template: ``auto`` where it has one.
        start: How a script begins where no chat template is used.
        stop: Texts at which a script ends; they are cut off. Models that count on without an end are so held to the
            nine steps that are asked for: ``["Step 10", "\n10."]``. Such a script keeps not to the format.
        thought: Of a model that thinks first; thoughts are then taken out of the texts. None: all is answer.

    Example:
        >>> GenerationChoice(chat="never").max_tokens
        256
    """

    max_tokens: Annotated[int, Field(ge=1)] = 256
    step_tokens: Annotated[int, Field(ge=1)] = 24
    temperature: Annotated[float, Field(ge=0)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    samples: Annotated[int, Field(ge=1)] = 1
    chat: Literal["auto", "never", "always"] = "auto"
    start: str = "Step 1:"
    stop: tuple[Mark, ...] = ()
    thought: ThoughtChoice | None = None

    @property
    def thought_asked(self) -> ThoughtAsked | None:
        """That the model may think first, as a probe has it."""
        return None if self.thought is None else self.thought.asked

    @property
    def chat_everywhere(self) -> bool:
        """Whether prompts that are to be continued are put in the chat template, too."""
        return self.thought is not None and self.thought.everywhere

    @model_validator(mode="after")
    def _check_draws(self) -> GenerationChoice:
        if self.samples > 1 and self.temperature == 0:
            raise ValueError("several samples are all the same at temperature 0: set a temperature")
        return self


class Generation(NamedTuple):
    """The choice, the digest of the split that seeds are drawn from, and how events and documents are asked about.

    ``shared``: questions that all cases share, where the run has some.
    """

    choice: GenerationChoice = GenerationChoice()
    digest: str = ""
    events: EventChoice = EventChoice()
    documents: DocumentChoice = DocumentChoice()
    shared: SharedQuestions | None = None

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> Generation:
        """As a finished run's ``run.json`` says."""
        config = description.get("config", {})
        documents, shared = DocumentChoice.model_validate(config.get("documents") or {}), description.get("specificity")
        return cls(
            GenerationChoice.model_validate(config.get("generation") or {}),
            description["split_digest"],
            EventChoice.model_validate(config.get("events") or {}),
            documents,
            None if shared is None else SharedQuestions.from_description(shared, documents),
        )

    def seed(self, case: str, purpose: str, item: str, sample: int = 0) -> int:
        """Seed of one text, from (split digest, case, purpose): the same for every method; 0 where nothing is drawn."""
        if self.choice.temperature == 0:
            return 0
        return seed(self.digest, case, purpose, item, str(sample))
