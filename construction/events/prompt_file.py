"""The prompt files of the construction of events. How prompt files work: ``construction.llm.prompt_file``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from construction.llm.prompt_file import PromptFile, PromptFolder
from construction.llm.prompt_text import places
from construction.llm.text_quality import text_quality

TASKS: Mapping[str, frozenset[str]] = {
    "paraphrase": frozenset({"event", "names"}),
    "topic_events": frozenset({"topic", "count"}),
    "tendency_questions": frozenset({"event", "inside", "outside"}),
}


class EventPrompt(PromptFile):
    """One prompt file.

    Attributes:
        task: ``paraphrase``, ``topic_events`` or ``tendency_questions``.
        profile: Kind of model it is written for.
        attempts: Samples taken at most, until one passes the checks (paraphrases).
    """

    task: Literal["paraphrase", "topic_events", "tendency_questions"]
    profile: str
    attempts: int = Field(default=1, ge=1, le=10)

    @model_validator(mode="after")
    def _placeholders(self) -> EventPrompt:
        if unknown := sorted((places(self.user) | places(self.system)) - TASKS[self.task]):
            raise ValueError(f"unknown placeholder {{{unknown[0]}}}; allowed: {sorted(TASKS[self.task])}")
        if missing := sorted(TASKS[self.task] - places(self.user)):
            raise ValueError(f"user: the placeholder {{{missing[0]}}} is missing, the model would not be told it")
        return self

    def quality_of(self, model: str) -> str | None:
        """What to call a text that a model writes with this prompt; None where nothing is to be said."""
        return text_quality(model, self.profile, named=self.quality)


class EventPrompts(NamedTuple):
    """The prompts of one construction."""

    paraphrase: EventPrompt
    topic_events: EventPrompt
    tendency_questions: EventPrompt


FILES = PromptFolder(
    EventPrompt,
    package="construction.events",
    folder="prompts",
    tasks=tuple(TASKS),
    reader="the construction of events",
)


def load_event_prompts(profile: str, folder: Path | None = None) -> EventPrompts:
    """The prompts of a profile, replaced by what a folder of the user's own holds: ``TASK.toml``.

    Raises:
        UserError: no such profile or folder, or a broken file.
    """
    fix = f"begin with copies of the files in {FILES.path()}"
    custom = {} if folder is None else FILES.custom(folder, fix=fix)
    return EventPrompts(*(custom[task][0] if task in custom else FILES.load(task, profile) for task in TASKS))
