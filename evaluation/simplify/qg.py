"""``qg``: question-answer pairs of a document by one call of a model (MULFE §5.2: E2EQG, a sequence-to-sequence model).

The published subject of a question is its last named entity; here the model names it, so that no parser is needed, and
what it names must stand in the question.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from construction.llm.client import Reply, gather_all
from construction.llm.connection import Access
from construction.llm.cost.estimates import CallCounter, CallEstimate
from construction.llm.session import ModelSession, model_session
from curation.files.model_packages import cache_dir
from evaluation.simplify.base import Simplifier
from evaluation.simplify.question_step import QuestionPairStep, QuestionStatement, load_question_prompt
from schemas.core.errors import ModelError
from schemas.documents.document import Document
from schemas.documents.simplified import SimplifiedFact
from schemas.text.counting import counted

log = logging.getLogger(__name__)

JOURNAL = "simplified-by-questions.llm.jsonl"
PAIR_TOKENS = 45  # of a pair in a reply, roughly, where neither prompt nor options limit it


class ModelQuestions(Simplifier):
    """Questions about a document with their answers, all by one call; replies are journaled before they are used.

    A document whose call is refused, or whose reply cannot be read, has no statements and is counted among those
    without any; one that was not answered stops the work, which the same command resumes.
    """

    name: ClassVar[str] = "qg"
    about: ClassVar[str] = "question-answer pairs of a document by one call of a model"
    needs: ClassVar[str] = "a language model behind an endpoint, or one on this machine (extra 'local')"
    beside: ClassVar[frozenset[str]] = frozenset(set(Access.model_fields) | {"profile", "prompts", "journal"})

    class Params(Access):
        """Which model is asked and how, as everywhere (``construction.llm.connection.Access``), and these.

        Attributes:
            profile: Prompt for a kind of model; None for that of the model. ``prompts``: a folder of one's own.
            most: Pairs of a document at most.
            journal: The replies on record; None for a file in the cache folder.
        """

        profile: str | None = None
        prompts: Path | None = None
        most: int = Field(default=8, ge=1, le=40)
        journal: Path | None = None

    params: Params

    def __init__(self, params: Params | None = None) -> None:
        super().__init__(params)
        self._replies: dict[str, list[QuestionStatement]] = {}

    @cached_property
    def step(self) -> QuestionPairStep:
        """What is asked.

        Raises:
            UserError: no such profile or folder, or a broken file.
        """
        profile = self.params.profile or ("embedded" if self.params.embedded else "paper")
        return QuestionPairStep(load_question_prompt(profile, self.params.prompts), most=self.params.most)

    @property
    def components(self) -> Mapping[str, str]:
        """Model and prompt: addresses, limits and budgets change no statement."""
        return {"model": self.params.label, "prompt": f"{self.step.label}:{self.step.wording.digest[:12]}"}

    @property
    def journal(self) -> Path:
        """The replies on record."""
        return self.params.journal or cache_dir() / JOURNAL

    def estimate(self, documents: Sequence[Document]) -> CallEstimate:
        """First attempts, a call for each text; replies on record are counted, too.

        Raises:
            UserError: a limit in dollars without a price, or settings that do not go together.
            ModelError: the model's file is not on this machine.
        """
        self.params.check()
        counter = CallCounter()
        for document in {document.text: document for document in documents}.values():
            length = (
                self.params.reply_tokens
                or self.step.wording.parameters.get("max_tokens")
                or PAIR_TOKENS * self.params.most
            )
            counter.add(self.step.prompt(document), reply_tokens=length)
        return counter.estimate(self.params.price())

    def expect(self, documents: Sequence[Document]) -> None:
        """Ask for the pairs of documents, all in one session; those on record are not asked for again.

        Raises:
            UserError: journal in use, no key, endpoint away.
            BudgetReached: the next call does not fit the budget.
            StoppedEarly: Ctrl-C or SIGTERM; what was answered is on record.
            ModelError: some were not answered.
        """
        missing = list(
            {document.text: document for document in documents if document.text not in self._replies}.values()
        )
        if not missing:
            return
        self.journal.parent.mkdir(parents=True, exist_ok=True)
        with model_session(self.journal, self.params) as opened:
            session = opened.with_attempts()
            replies = session.run(self._asked(missing, session))
        waiting = [d.key for d, reply in zip(missing, replies, strict=True) if reply.status == "unanswered"]
        if waiting:
            raise ModelError(
                f"{counted(len(waiting), 'document')} got no answer, such as '{waiting[0]}'",
                where=self.params.label,
                fix="give the same command again: what was answered is on record",
            )
        for document, reply in zip(missing, replies, strict=True):
            pairs = [] if reply.value is None else self.step.parse(document, reply.value)
            self._replies[document.text] = pairs
        if unusable := sum(reply.value is None for reply in replies):
            log.warning("%s of %s could not be used", counted(unusable, "reply"), counted(len(missing), "document"))

    async def _asked(self, documents: Sequence[Document], session: ModelSession) -> list[Reply]:
        async with session.client() as client:
            return await gather_all([client.ask(self.step.request_for(document)) for document in documents])

    def simplify(self, document: Document) -> Iterable[SimplifiedFact]:
        """The pairs in the order of the reply."""
        self.expect([document])
        for place, one in enumerate(self._replies[document.text]):
            yield self.statement(document, place, subject=one.subject, prompt=one.prompt, target=one.target)
