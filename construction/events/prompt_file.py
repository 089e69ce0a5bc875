"""The prompt files of the construction of events. How prompt files work: ``construction.llm.prompt_file``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from construction.llm.prompt_file import ProfilePrompt, PromptFolder
from construction.llm.prompt_text import refuse_unknown_places, require_places

TASKS: Mapping[str, frozenset[str]] = {
    "paraphrase": frozenset({"event", "names"}),
    "topic_events": frozenset({"topic", "count"}),
    "tendency_questions": frozenset({"event", "inside", "outside"}),
}


class EventPrompt(ProfilePrompt):
    """One prompt file.

    Attributes:
        task: ``paraphrase``, ``topic_events`` or ``tendency_questions``.
        attempts: Samples taken at most, until one passes the checks (paraphrases).
    """

    task: Literal["paraphrase", "topic_events", "tendency_questions"]
    attempts: int = Field(default=1, ge=1, le=10)

    @model_validator(mode="after")
    def _placeholders(self) -> EventPrompt:
        refuse_unknown_places({"system": self.system, "user": self.user}, TASKS[self.task])
        require_places("user", self.user, TASKS[self.task])
        return self


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
    return EventPrompts(**FILES.load_all(profile, folder))
