"""Prompt files: the wording of every model call, one TOML file a prompt, each with a name and a version.

A file ``TASK.PROFILE.toml`` holds the wording of one task for one kind of model: ``paper`` for capable models,
``embedded`` for the small model that comes with the ``local`` extra. A placeholder such as ``{subject}`` is filled
once, in one pass, so braces inside a fact stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from construction.llm.step import Message
from schemas.config import Options, read_toml, validate
from schemas.errors import UserError
from schemas.registry import suggest

TASKS: Mapping[str, frozenset[str]] = {
    "questions": frozenset({"subject", "statement", "relation", "old", "new", "count", "situation"}),
    "scripts": frozenset(
        {"question", "object"}
    ),  # the new object has no placeholder: it cannot reach the script writer
}
_PLACE = re.compile(r"\{([a-z_]+)\}")


class Example(Options):
    """A few-shot example: what we ask, what a good reply is."""

    user: str
    assistant: str


class Prompt(Options):
    """One prompt file.

    Attributes:
        task: ``questions`` or ``scripts``.
        profile: Kind of model it is written for.
        shape: Form of the reply: ``list`` or ``one`` (questions), ``steps`` or ``slots`` (scripts).
        attempts: Samples taken at most, until one passes the checks; rejected ones are kept with their verdicts.
        seeded: Send a seed drawn from the item, so that the same machine gives the same reply.
        quality: What to call the output; ``plumbing`` shows that the road works and is not for publication.
        parameters: Sampling parameters as the endpoint takes them.
        user_unedited: The user's turn for a fact without a new object; ``user`` where left out.
        situations: Task words by relation id for one-question-a-call prompts; ``default`` for all others.
    """

    name: str
    version: int = Field(ge=1)
    task: Literal["questions", "scripts"]
    profile: str
    shape: Literal["list", "one", "steps", "slots"]
    attempts: int = Field(default=1, ge=1)
    seeded: bool = False
    quality: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    system: str
    user: str
    user_unedited: str | None = None
    examples: tuple[Example, ...] = ()
    situations: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _placeholders(self) -> Prompt:
        for field in ("system", "user", "user_unedited"):
            for name in _PLACE.findall(getattr(self, field) or ""):
                if name not in TASKS[self.task]:
                    raise ValueError(f"{field}: unknown placeholder {{{name}}}; allowed: {sorted(TASKS[self.task])}")
        if self.shape not in {"questions": ("list", "one"), "scripts": ("steps", "slots")}[self.task]:
            raise ValueError(f"a {self.task} prompt has no shape '{self.shape}'")
        if "{new}" in (self.user_unedited or ""):
            raise ValueError("user_unedited is for facts without a new object and cannot name {new}")
        return self

    def messages(self, values: Mapping[str, str], *, edited: bool = True) -> list[Message]:
        """The chat: system, examples, then the filled-in question.

        Args:
            values: Text for each placeholder.
            edited: Whether the fact has a new object to show.
        """
        turns = [Message(role="system", content=fill(self.system, values).strip())]
        for example in self.examples:
            turns += [
                Message(role="user", content=example.user.strip()),
                Message(role="assistant", content=example.assistant.strip()),
            ]
        user = self.user if edited else self.user_unedited or self.user
        return [*turns, Message(role="user", content=fill(user, values).strip())]

    def situation(self, relation: str, index: int) -> str:
        """The task words of the question number ``index`` (from 0) about a relation."""
        choices: Sequence[str] = self.situations.get(relation) or self.situations.get("default") or ("",)
        return choices[index % len(choices)]


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its placeholders replaced, all at once.

    Example:
        >>> fill("Ask about {subject} ({x})", {"subject": "{old}"})
        'Ask about {old} ({x})'
    """
    return _PLACE.sub(lambda m: values.get(m.group(1), m.group()), template)


def profiles() -> list[str]:
    """Profiles that have a prompt for every task."""
    names = [entry.name for entry in files("construction.prompts").iterdir() if entry.name.endswith(".toml")]
    found = {name.split(".")[1] for name in names}
    return sorted(p for p in found if all(f"{task}.{p}.toml" in names for task in TASKS))


def load_prompt(task: str, profile: str) -> Prompt:
    """The prompt of a task in a profile.

    Raises:
        UserError: no such profile, or a broken file.
    """
    if profile not in profiles():
        near = suggest(profile, profiles())
        raise UserError(
            f"unknown profile '{profile}'",
            allowed=", ".join(profiles()),
            fix=f"did you mean '{near}'?" if near else None,
        )
    path = Path(str(files("construction.prompts").joinpath(f"{task}.{profile}.toml")))
    return validate(Prompt, read_toml(path), where=str(path))
