"""What a model is asked for question-answer pairs of a document, and what its reply means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from construction.llm.prompt_file import ProfilePrompt, PromptFolder
from construction.llm.prompt_text import fence_text, line_up_to, refuse_unknown_places, require_places
from construction.llm.step import Message, PromptStep, Request
from evaluation.simplify.base import PROMPT, QuestionStatement
from schemas.documents.document import Document

TASK = "write_questions"
LONGEST = 1000  # characters of a question, an answer or a subject in a reply; a longer one is none
_PLACEHOLDERS = frozenset({"document", "most"})

ShortText = Annotated[str, AfterValidator(line_up_to(LONGEST))]
"""One line of text that is neither empty nor endless; the limits are not in the JSON schema."""


class QuestionPrompt(ProfilePrompt):
    """One prompt file; ``task`` is always ``write_questions``."""

    task: Literal["write_questions"]

    @model_validator(mode="after")
    def _placeholders(self) -> QuestionPrompt:
        refuse_unknown_places({"system": self.system, "user": self.user}, _PLACEHOLDERS)
        require_places("user or system", f"{self.user}\n{self.system}", _PLACEHOLDERS)
        return self


FILES = PromptFolder(
    QuestionPrompt,
    package="evaluation.simplify",
    folder="prompts",
    tasks=(TASK,),
    reader="the simplification by questions",
)


def load_question_prompt(profile: str, folder: Path | None = None) -> QuestionPrompt:
    """The prompt of a profile, or the user's own ``write_questions.toml`` in a folder.

    Raises:
        UserError: no such profile or folder, or a broken file.
    """
    return FILES.load_all(profile, folder)[TASK]


class WrittenPair(BaseModel):
    """A question, its answer, and the name in the question that it is about."""

    model_config = ConfigDict(extra="forbid")
    question: ShortText
    answer: ShortText
    subject: ShortText


class PairsReply(BaseModel):
    """Question-answer pairs of a document; none where it says nothing that can be asked."""

    model_config = ConfigDict(extra="forbid")
    pairs: list[WrittenPair]


class QuestionPairStep(PromptStep[Document, QuestionStatement]):
    """Writes question-answer pairs, all of a document in one call (MULFE §5.2: E2EQG).

    Args:
        wording: The prompt.
        most: Pairs of a document at most.
    """

    reply = PairsReply

    def __init__(self, wording: QuestionPrompt, *, most: int) -> None:
        self.wording, self.name, self.version, self.most = wording, wording.name, wording.version, most

    def prompt(self, item: Document) -> list[Message]:
        """The messages about one document."""
        return self.wording.chat({"document": fence_text(item.text), "most": str(self.most)})

    def request_for(self, item: Document) -> Request:
        """The whole request; equal texts are one request, whatever their keys."""
        return self.request(item, parameters=self.wording.sampling(item.text))

    def parse(self, item: Document, reply: BaseModel) -> list[QuestionStatement]:
        """The statements; a pair whose subject does not stand in its question is lost."""
        assert isinstance(reply, PairsReply)
        statements = (statement_of(pair) for pair in reply.pairs[: self.most])
        return [one for one in statements if one is not None]


def statement_of(pair: WrittenPair) -> QuestionStatement | None:
    r"""A pair as a statement; the last place of the subject in the question becomes the gap.

    Example:
        >>> pair = WrittenPair(question="Who runs Line 9 in Rovo?", answer="Ada", subject="line 9")
        >>> statement_of(pair).prompt
        'Question: Who runs {} in Rovo?\nAnswer:'
    """
    matches = list(re.finditer(rf"(?<!\w){re.escape(pair.subject)}(?!\w)", pair.question, re.IGNORECASE))
    if not matches or "{}" in pair.question:
        return None
    start, end = matches[-1].span()
    question = f"{pair.question[:start]}{{}}{pair.question[end:]}"
    return QuestionStatement(pair.question[start:end], PROMPT.replace("{question}", question), pair.answer)
