"""Prompt files: the wording of every model call, one TOML file a prompt, each with a name and a version.

A file ``TASK.PROFILE.toml`` holds the wording of one task for one kind of model: ``paper`` for capable models,
``embedded`` for the small model that comes with the ``local`` extra. A placeholder such as ``{subject}`` is filled
once, in one pass, so braces inside a fact stay as they are.

A changed wording gets a higher version, and the file as it was stays beside it as ``TASK.PROFILE@N.toml``: the profile
``paper@1`` asks word for word what version 1 asked, so its journaled replies remain good.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from construction.llm.prompt_text import Example, fill
from construction.llm.step import Message
from schemas.core.config import Options, read_toml, validate
from schemas.core.errors import UserError
from schemas.core.ids import content_id
from schemas.core.registry import suggest

TASKS: Mapping[str, frozenset[str]] = {
    "questions": frozenset({"subject", "statement", "relation", "old", "new", "count", "situation"}),
    "scripts": frozenset(
        {"question", "object"}
    ),  # the new object has no placeholder: it cannot reach the script writer
}
REQUIRED: Mapping[str, frozenset[str]] = {
    "questions": frozenset({"subject"}),
    "scripts": frozenset({"question", "object"}),
}
MOST_ATTEMPTS = 50
_PLACE = re.compile(r"\{([a-z_]+)\}")


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
    attempts: int = Field(default=1, ge=1, le=MOST_ATTEMPTS)
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
        if "{new}" in self.user and self.user_unedited is None:
            raise ValueError("user names {new}, so user_unedited is needed for facts without a new object")
        return self

    @model_validator(mode="after")
    def _required(self) -> Prompt:
        needed = REQUIRED[self.task] | ({"count"} if self.shape == "list" else set())
        for field in ("user", "user_unedited"):
            text = getattr(self, field)
            missing = sorted(needed - set(_PLACE.findall(text))) if text is not None else []
            if missing:
                raise ValueError(
                    f"{field}: the placeholder {{{missing[0]}}} is missing, the model would not be told it"
                )
        return self

    @property
    def label(self) -> str:
        """``name@version``."""
        return f"{self.name}@{self.version}"

    @property
    def digest(self) -> str:
        """Hash of everything in the file."""
        return content_id("wording", self.model_dump(mode="json"))

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


class Wording(NamedTuple):
    """The prompts of one construction."""

    questions: Prompt
    scripts: Prompt

    @property
    def quality(self) -> str | None:
        """What to call the output, where either prompt says it."""
        return self.questions.quality or self.scripts.quality

    def of(self, task: str) -> Prompt:
        """The prompt of a task."""
        return self.questions if task == "questions" else self.scripts


def profiles() -> list[str]:
    """Profiles that have a prompt for every task, in their current versions."""
    names = [
        entry.name
        for entry in files("construction.prompts").joinpath("templates").iterdir()
        if entry.name.endswith(".toml")
    ]
    found = {name.split(".")[1] for name in names if "@" not in name}
    return sorted(p for p in found if all(f"{task}.{p}.toml" in names for task in TASKS))


def prompt_path(task: str, profile: str) -> Path:
    """The file of a task in a profile; ``profile@N`` names an earlier version where that is not the current one.

    Raises:
        UserError: no such profile or version.
    """
    name, _, version = profile.partition("@")
    if name not in profiles():
        near = suggest(name, profiles())
        raise UserError(
            f"unknown profile '{profile}'",
            allowed=", ".join(profiles()),
            fix=f"did you mean '{near}'?" if near else None,
        )
    folder = Path(str(files("construction.prompts").joinpath("templates")))
    current = folder / f"{task}.{name}.toml"
    if not version or str(read_toml(current).get("version")) == version:
        return current
    earlier = folder / f"{task}.{profile}.toml"
    if not earlier.is_file():
        raise UserError(f"the {task} prompt of '{name}' has no version {version}", fix="see: scedit prompts")
    return earlier


def load_prompt(task: str, profile: str) -> Prompt:
    """The prompt of a task in a profile.

    Raises:
        UserError: no such profile, or a broken file.
    """
    path = prompt_path(task, profile)
    return validate(Prompt, read_toml(path), where=str(path))


def shipped(prompt: Prompt) -> bool:
    """Whether a prompt is, letter for letter, one of ours."""
    return any(load_prompt(prompt.task, profile).digest == prompt.digest for profile in profiles())
