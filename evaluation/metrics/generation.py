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
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()

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
