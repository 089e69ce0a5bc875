"""``qg``: question-answer pairs of a document by one call of a model (MULFE §5.2: E2EQG, a sequence-to-sequence model).

A model behind ``construction.llm`` names the subject of each question, so that no parser is needed, and what it names
must stand in the question. A sequence-to-sequence model in a folder writes the pairs as published; then the subject is
the question's last named entity.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, model_validator

from construction.llm.client import Reply, gather_all
from construction.llm.connection import Access
from construction.llm.cost.estimates import CallCounter, CallEstimate
from construction.llm.session import ModelSession, model_session
from curation.files.model_packages import cache_dir
from evaluation.simplify.base import QuestionStatement, Simplifier
from evaluation.simplify.parsing import DEFAULT_MODEL, parser_version
from evaluation.simplify.question_step import QuestionPairStep, load_question_prompt
from evaluation.simplify.question_writer import QuestionWriter, statement_about, written_pairs
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
    needs: ClassVar[str] = "a language model behind an endpoint, or one on this machine (extra 'local', or a folder)"
    beside: ClassVar[frozenset[str]] = frozenset(
        set(Access.model_fields) | {"profile", "prompts", "journal", "seq2seq", "prefix", "parser"}
    )

    class Params(Access):
        """Which model is asked and how, as everywhere (``construction.llm.connection.Access``), and these.

        Attributes:
            profile: Prompt for a kind of model; None for that of the model. ``prompts``: a folder of one's own.
            most: Pairs of a document at most.
            journal: The replies on record; None for a file in the cache folder.
            seq2seq: Folder of a sequence-to-sequence model that writes the pairs instead.
            prefix: What stands before the document that it reads.
            parser: spaCy's model, which finds the last entity of its questions.
        """

        profile: str | None = None
        prompts: Path | None = None
        most: int = Field(default=8, ge=1, le=40)
        journal: Path | None = None
        seq2seq: Path | None = None
        prefix: str = "generate question and answer: "
        parser: str = DEFAULT_MODEL

        @model_validator(mode="after")
        def _one_model(self) -> Self:
            if self.seq2seq is not None and (
                both := {"model", "base_url", "profile", "prompts"} & self.model_fields_set
            ):
                raise ValueError(f"seq2seq is a model of its own: take {', '.join(sorted(both))} out, or seq2seq")
            return self

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
        if self._writer is not None:
            return {"writer": self._writer.identity, "parser": parser_version(self.params.parser)}
        return {"model": self.params.label, "prompt": f"{self.step.label}:{self.step.wording.digest[:12]}"}

    @cached_property
    def _writer(self) -> QuestionWriter | None:
        folder = self.params.seq2seq
        return None if folder is None else QuestionWriter(folder, self.params.prefix)

    @property
    def journal(self) -> Path:
        """The replies on record."""
        return self.params.journal or cache_dir() / JOURNAL

    def estimate(self, documents: Sequence[Document]) -> CallEstimate | None:
        """First attempts, a call for each text; replies on record are counted, too. None of a model in a folder.

        Raises:
            UserError: a limit in dollars without a price, or settings that do not go together.
            ModelError: the model's file is not on this machine.
        """
        if self._writer is not None:
            return None
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
        if not missing or self._writer is not None:
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
        pairs = self._replies[document.text] if self._writer is None else self._written(document, self._writer)
        for place, one in enumerate(pairs):
            yield self.statement(document, place, subject=one.subject, prompt=one.prompt, target=one.target)

    def _written(self, document: Document, writer: QuestionWriter) -> list[QuestionStatement]:
        reply = writer.write(document.text, tokens=PAIR_TOKENS * self.params.most)
        pairs = islice(written_pairs(reply), self.params.most)
        statements = (statement_about(question, answer, self.params.parser) for question, answer in pairs)
        return [one for one in statements if one is not None]
