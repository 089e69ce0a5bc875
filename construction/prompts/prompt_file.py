"""The prompt files of construction: questions, scripts, readings (see ``construction.llm.prompt_file``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from construction.llm.prompt_file import ProfilePrompt, PromptFolder
from construction.llm.prompt_text import places, refuse_unknown_places, require_places
from construction.llm.step import Message
from curation.files.atomic import write_text
from schemas.core.errors import UserError

READINGS = ("verify_question", "verify_prompt", "verify_next")
"""What the verifier is asked."""
REQUIRED: Mapping[str, frozenset[str]] = {
    "questions": frozenset({"subject"}),
    "scripts": frozenset({"object"}),
    **dict.fromkeys(READINGS, frozenset({"texts"})),
}
SHAPES: Mapping[str, tuple[str, ...]] = {
    "questions": ("why_list", "one"),
    "scripts": ("scripts", "object_last"),
    **dict.fromkeys(READINGS, ("reading",)),
}
_OF_WRITERS = frozenset({"attempts", "candidates", "questions", "situations", "user_unedited"})
TOGETHER = 12
MOST_CANDIDATES = 15
MOST_QUESTIONS = 20


class WriterPrompt(ProfilePrompt):
    """One prompt file of construction.

    Attributes:
        shape: Form of the reply: ``why_list`` (all questions, a thought first) or ``one``; ``scripts`` for all
            questions of a fact together, or ``object_last`` for one; ``reading`` for the verifier.
        questions: Questions kept for a fact, where the user does not say how many.
        candidates: Questions to ask for, for each one that is kept, where the user does not say how many.
        again: What a further attempt is told after one that the checks reject, with ``{reason}``; None to ask anew.
        user_unedited: The user's turn for a fact without a new object; ``user`` where left out.
        situations: Task words by relation id for one-question-a-call prompts; ``default`` for all others.
        reply_tokens: Tokens of a reading at most, for each text that is read, where the parameters do not say. It is
            no part of a call's key, so cached replies stay good.
    """

    fills: ClassVar[Mapping[str, frozenset[str]]] = {
        "questions": frozenset({"subject", "statement", "relation", "old", "new", "count", "situation"}),
        "scripts": frozenset(  # the new object has no placeholder: it cannot reach the script writer
            {"question", "questions", "object", "relation"}
        ),
        **dict.fromkeys(READINGS, frozenset({"subject", "statement", "relation", "old", "new", "when", "texts"})),
    }
    shape: Literal["why_list", "one", "scripts", "object_last", "reading"] = "reading"
    questions: int = Field(default=4, ge=1, le=MOST_QUESTIONS)
    candidates: int = Field(default=1, ge=1, le=MOST_CANDIDATES)
    again: str | None = None
    user_unedited: str | None = None
    situations: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    reply_tokens: int = Field(default=120, ge=1)

    @model_validator(mode="after")
    def _placeholders(self) -> WriterPrompt:
        texts = {"system": self.system, "user": self.user, "user_unedited": self.user_unedited or ""}
        refuse_unknown_places(texts, self.fills[self.task])
        if self.shape not in SHAPES[self.task]:
            raise ValueError(f"a {self.task} prompt has no shape '{self.shape}', but {' or '.join(SHAPES[self.task])}")
        if self.task in READINGS and (unread := sorted(_OF_WRITERS & self.model_fields_set)):
            raise ValueError(f"a {self.task} prompt has no '{unread[0]}'")
        if self.again is not None and (self.shape != "scripts" or places(self.again) != {"reason"}):
            what = "a scripts prompt of the shape 'scripts'"
            raise ValueError(f"again belongs to {what} and has the placeholder {{reason}} and no other")
        if "{new}" in (self.user_unedited or ""):
            raise ValueError("user_unedited is for facts without a new object and cannot name {new}")
        if self.task == "questions" and "{new}" in self.user and self.user_unedited is None:
            raise ValueError("user names {new}, so user_unedited is needed for facts without a new object")
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


FILES = PromptFolder(
    WriterPrompt,
    package="construction.prompts",
    folder="templates",
    tasks=tuple(WriterPrompt.fills),
    reader="construction",
    shared=READINGS,
    fix="write a copy to change with: scedit prompts --profile paper --write DIR",
)


def copy_prompts(profile: str, folder: Path) -> list[Path]:
    """Copy a profile's prompts into a folder, to be changed there.

    Raises:
        UserError: a file is in the way, or the folder cannot be written.
    """
    copies = {folder / f"{task}.toml": FILES.file(task, profile) for task in FILES.tasks}
    there = [str(target) for target in copies if target.exists()]
    if there:
        raise UserError("the file is there already", where=there[0], fix="name another folder")
    for target, file in copies.items():
        write_text(target, file.read_text(encoding="utf-8"), "the prompt")
    return list(copies)
