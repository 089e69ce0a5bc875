"""The prompt files of construction: questions and scripts. How prompt files work: ``construction.llm.prompt_file``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from construction.llm.prompt_file import ProfilePrompt, PromptFolder
from construction.llm.prompt_text import places, refuse_unknown_places, require_places
from construction.llm.step import Message

TASKS: Mapping[str, frozenset[str]] = {
    "questions": frozenset({"subject", "statement", "relation", "old", "new", "count", "situation"}),
    "scripts": frozenset(  # the new object has no placeholder: it cannot reach the script writer
        {"question", "questions", "object", "relation"}
    ),
}
REQUIRED: Mapping[str, frozenset[str]] = {
    "questions": frozenset({"subject"}),
    "scripts": frozenset({"object"}),
}
SHAPES: Mapping[str, tuple[str, ...]] = {
    "questions": ("why_list", "one"),
    "scripts": ("scripts", "object_last"),
}
TOGETHER = 12
MOST_ATTEMPTS = 50
MOST_CANDIDATES = 15
MOST_QUESTIONS = 20


class WriterPrompt(ProfilePrompt):
    """One prompt file of construction.

    Attributes:
        task: ``questions`` or ``scripts``.
        shape: Form of the reply: ``why_list`` (all questions, a thought first) or ``one``; ``scripts`` for all
            questions of a fact together, or ``object_last`` for one.
        attempts: Samples taken at most, until one passes the checks; rejected ones are kept with their verdicts.
        questions: Questions kept for a fact, where the user does not say how many.
        candidates: Questions to ask for, for each one that is kept, where the user does not say how many.
        again: What a further attempt is told after one that the checks reject, with ``{reason}``; None to ask anew.
        user_unedited: The user's turn for a fact without a new object; ``user`` where left out.
        situations: Task words by relation id for one-question-a-call prompts; ``default`` for all others.
    """

    task: Literal["questions", "scripts"]
    shape: Literal["why_list", "one", "scripts", "object_last"]
    attempts: int = Field(default=1, ge=1, le=MOST_ATTEMPTS)
    questions: int = Field(default=4, ge=1, le=MOST_QUESTIONS)
    candidates: int = Field(default=1, ge=1, le=MOST_CANDIDATES)
    again: str | None = None
    user_unedited: str | None = None
    situations: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _placeholders(self) -> WriterPrompt:
        texts = {"system": self.system, "user": self.user, "user_unedited": self.user_unedited or ""}
        refuse_unknown_places(texts, TASKS[self.task])
        if self.shape not in SHAPES[self.task]:
            raise ValueError(f"a {self.task} prompt has no shape '{self.shape}'")
        if self.again is not None and (self.shape != "scripts" or places(self.again) != {"reason"}):
            what = "a scripts prompt of the shape 'scripts'"
            raise ValueError(f"again belongs to {what} and has the placeholder {{reason}} and no other")
        if "{new}" in (self.user_unedited or ""):
            raise ValueError("user_unedited is for facts without a new object and cannot name {new}")
        if "{new}" in self.user and self.user_unedited is None:
            raise ValueError("user names {new}, so user_unedited is needed for facts without a new object")
        return self

    @model_validator(mode="after")
    def _check_required(self) -> WriterPrompt:
        needed = REQUIRED[self.task] | ({"count"} if self.shape == "why_list" else set())
        if self.task == "scripts":
            needed |= {"questions" if self.shape == "scripts" else "question"}
        require_places("user", self.user, needed)
        if self.user_unedited is not None:
            require_places("user_unedited", self.user_unedited, needed)
        return self

    @property
    def together(self) -> int:
        """Questions whose scripts are asked for in one request, at most."""
        return TOGETHER if self.shape == "scripts" else 1

    def messages(self, values: Mapping[str, str], *, edited: bool = True) -> list[Message]:
        """The chat: system, examples, then the filled-in question.

        Args:
            values: Text for each placeholder.
            edited: Whether the fact has a new object to show.
        """
        return self.chat(values, user=self.user if edited else self.user_unedited)

    def situation(self, relation: str, index: int) -> str:
        """The task words of the question number ``index`` (from 0) about a relation."""
        choices: Sequence[str] = self.situations.get(relation) or self.situations.get("default") or ("",)
        return choices[index % len(choices)]


class WriterPrompts(NamedTuple):
    """The prompts of one construction."""

    questions: WriterPrompt
    scripts: WriterPrompt

    def of(self, task: str) -> WriterPrompt:
        """The prompt of a task."""
        return self.questions if task == "questions" else self.scripts


FILES = PromptFolder(
    WriterPrompt, package="construction.prompts", folder="templates", tasks=tuple(TASKS), reader="construction"
)


def profiles() -> list[str]:
    """Profiles that have a prompt for every task."""
    return FILES.profiles()


def prompt_path(task: str, profile: str) -> Path:
    """The file of a task in a profile.

    Raises:
        UserError: no such profile.
    """
    return FILES.file(task, profile)


def load_prompt(task: str, profile: str) -> WriterPrompt:
    """The prompt of a task in a profile.

    Raises:
        UserError: no such profile, or a broken file.
    """
    return FILES.load(task, profile)


def is_shipped(prompt: WriterPrompt) -> bool:
    """Whether a prompt is, letter for letter, one of ours."""
    return any(ours.digest == prompt.digest for ours in shipped_prompts(prompt.task))


def shipped_prompts(task: str) -> list[WriterPrompt]:
    """Our prompts of a task, of all profiles."""
    return FILES.shipped(task)
