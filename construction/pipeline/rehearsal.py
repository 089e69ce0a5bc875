"""A construction rehearsed over its journal: what is on record is read, what is missing is counted and not asked.

So a dry run counts the calls that the command would make now: none of a finished store, the rest of a stopped one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from construction.authoring.author import Author, QuestionQuota, ScriptWriter
from construction.llm import connection
from construction.llm.calls.activity import Activity
from construction.llm.calls.call_errors import CallError
from construction.llm.client import Client, Reply
from construction.llm.cost.budget import Budget
from construction.llm.cost.estimates import CallCounter
from construction.llm.endpoint import Endpoint
from construction.llm.reply_cache import ReplyCache, StoredOutcome, request_key
from construction.llm.step import Request
from construction.prompts.prompt_file import WriterPrompts
from construction.scripts.object_last import ObjectLast
from construction.scripts.question_step import QuestionStep
from construction.scripts.script_step import ScriptStep
from construction.verifier.prompt_verifier import PromptVerifier
from construction.verifier.steps import TOGETHER
from schemas.facts import Fact

SCRIPT_TOKENS = 90  # nine short steps as JSON
QUESTION_TOKENS = 25
VERDICT_TOKENS = 40


class _NotOnRecord(Exception):
    """A call that would be made."""


class RehearsalClient(Client):
    """Answers from the journal; a call that is not there is counted, and answered as a good model would.

    Args:
        model: Name of the model, part of a call's key.
        cache: Replies on record.
        attempts: Times that a call is made whose reply cannot be used.

    Attributes:
        missing: Counts what is not on record.
        answers: Requests of the whole work, those on record among them.
    """

    def __init__(self, model: str, cache: ReplyCache, *, attempts: int) -> None:
        self.endpoint = Endpoint(model=model, attempts=attempts)
        self.budget, self.activity = Budget(cache), Activity()
        self._cache, self.missing, self.answers = cache, CallCounter(), 0
        self.fact: Fact | None = None

    @property
    def calls(self) -> int:
        """Calls sent: none."""
        return 0

    @property
    def address(self) -> str:
        """Nobody is asked."""
        return ""

    async def ask(self, request: Request) -> Reply:
        """The reply on record; else one as it may be, and the call is counted."""
        self.answers += 1
        try:
            return await super().ask(request)
        except _NotOnRecord:
            self.missing.add(request.messages, reply_tokens=_tokens(request))
        value = _stand_in(request.reply, self.fact)
        key = request_key(self.endpoint.model, request)
        return Reply("ok" if value else "unanswered", value, "", "", key, None, None, "", 0)

    async def _recorded(self, key: str, request: Request) -> tuple[StoredOutcome | CallError, int]:
        stored = self._cache.get(key)
        if stored is None:
            raise _NotOnRecord
        return stored, 0


class RehearsedModels(NamedTuple):
    """Who would be asked: names of the models, with the prompts of their steps.

    Attributes:
        model: Who writes the questions.
        wording: Its prompts.
        writers: Who writes the scripts, with the step.
        reader: Who reads what the checks let pass.
    """

    model: str
    wording: WriterPrompts
    writers: tuple[tuple[str, ScriptStep], ...]
    reader: str | None = None

    @property
    def names(self) -> list[str]:
        """The models by stage: questions, scripts of each author, readings."""
        return [self.model, *(name for name, _ in self.writers), *([self.reader] if self.reader else [])]


def rehearse(
    facts: Iterable[tuple[Fact, QuestionQuota, bool]], models: RehearsedModels, cache: ReplyCache, *, attempts: int
) -> list[RehearsalClient]:
    """Walk through the work on facts; each stage's client holds what it would ask.

    Args:
        facts: Each with its quota, and whether it is edited.
        models: Who would be asked.
        cache: The journal's replies.
        attempts: Times that a call is made whose reply cannot be used.
    """
    clients = [RehearsalClient(name, cache, attempts=attempts) for name in models.names]
    first, *others = clients
    author = Author(
        first,
        questions=QuestionStep(models.wording.questions),
        writers=[ScriptWriter(who, step) for who, (_, step) in zip(others, models.writers, strict=False)],
        reader=PromptVerifier(others[-1]) if models.reader else None,
    )

    async def walk() -> None:
        for fact, quota, edited in facts:
            for client in clients:
                client.fact = fact
            await author.make(fact, quota, edited=edited)

    connection.run(walk())
    return clients


def _tokens(request: Request) -> int:
    """Tokens of a usual reply to this request."""
    fields = request.reply.model_fields
    if "readings" in fields:
        return VERDICT_TOKENS * request.messages[-1].content.count("<text>")
    if "scripts" in fields:
        return SCRIPT_TOKENS * len(re.findall(r"^Question \d+: ", request.messages[-1].content, re.MULTILINE))
    if "questions" in fields:
        return 4 * QUESTION_TOKENS
    if "question" in fields:
        return QUESTION_TOKENS
    return SCRIPT_TOKENS


def _stand_in(reply: type[BaseModel], fact: Fact | None) -> BaseModel | None:
    """A reply that every check lets pass; None where a type is not one that can be made up."""
    if fact is None:
        return None
    named, old = fact.subject.text, fact.old.text
    known: dict[str, Any] = {
        "questions": [f"How can a group of {n} plan a day with {named}?" for n in range(2, 62)],
        "question": f"How can one plan a day with {named}?"[:300],
        "steps": ["Look for some help", f"Ask for {old}"],
        "scripts": [
            {"n": n, "steps": ["Look for some help", "Pack a bag", f"Ask for {old}"]} for n in range(1, TOGETHER + 1)
        ],
        "word": old[:40],
        "key_step": _key_step(reply, old),
        "before": ["Look for help", "Pack a bag"],
        "after": ["Come back"],
        "why": "",
        "readings": [_kind_reading(reply, n, old) for n in range(1, TOGETHER + 1)],
    }
    try:
        return reply.model_validate({name: known[name] for name in reply.model_fields if name in known})
    except ValidationError:
        return None


def _kind_reading(reply: type[BaseModel], n: int, old: str) -> dict[str, Any]:
    """What a reader says of a good text, in the fields that the reply's readings have."""
    said = {"n": n, "why": "", "quotes": [], "needed": "yes", "same": "yes", "next": old}
    if "readings" not in reply.model_fields:
        return {}
    (reading,) = get_args(reply.model_fields["readings"].annotation)
    return {name: said[name] for name in reading.model_fields}


def _key_step(reply: type[BaseModel], old: str) -> str:
    """A step with the object, in the form that the reply type fixes."""
    if issubclass(reply, ObjectLast):
        way = reply.leading[0] if reply.leading else "for"
        steps = (f"Ask someone {way} {old}", f"Ask {way} {old}", f"Ask for {old}", f"Ask {old}")
        return next((step for step in steps if re.search(reply.pattern, step)), steps[0])
    return f"Ask for {old}"[:44]
