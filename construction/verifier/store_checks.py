"""The verifier over what a store already holds, for ``scedit store check``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from construction.llm.client import Client
from construction.llm.connection import ModelSession, model_session
from construction.llm.dry_run import missing_calls
from construction.llm.endpoint import Access
from construction.verifier.steps import READ, STEPS, VerifyAsk, VerifyStep, read_verdict, verify
from curation.checks.store_checks import CheckContext, StoreCheck
from curation.files.model_packages import EMBEDDED
from schemas.core.records import Record
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict


class VerifyCheck(StoreCheck):
    """Base of the verifier's checks: replies are journaled, so a stopped check pays for nothing twice."""

    default_model = EMBEDDED
    on_request = True
    batch: ClassVar[int] = 256
    version: ClassVar[int] = 2  # that of the prompt file, see ``by``

    class Params(Access):
        """How the model is asked, whose name stands beside the check's.

        Attributes:
            journal: Cached replies; None for ``STORE.llm.jsonl``.
        """

        journal: Path | None = None

    @cached_property
    def access(self) -> Access:
        """The model and how it is asked."""
        return Access(**self.params.model_dump(exclude={"journal", "model"}), model=self.model_name or EMBEDDED)

    @cached_property
    def step(self) -> VerifyStep:
        """The step, as verdicts name the model."""
        return STEPS[self.name.removeprefix("verify_")].load(model=self.access.label)

    @property
    def model(self) -> str | None:
        """The model's name in verdicts."""
        return self.access.label

    @property
    def by(self) -> str:
        """``name@version``, with the version of the prompt file in use."""
        return self.step.by

    def asks(self, items: Sequence[Record], around: CheckContext) -> list[VerifyAsk]:
        """What to ask about each item; an item whose fact is not in the store is left out, and stays due."""
        return [
            VerifyAsk(fact, item)
            for item in items
            if isinstance(item, ScriptPrompt | ScriptQuestion) and (fact := around.facts.get(item.fact))
        ]

    def judge(self, items: Sequence[Record], around: CheckContext) -> list[Verdict]:
        """Verdicts with their lineage; none on an item that the endpoint left unanswered."""

        async def work(session: ModelSession) -> list[Verdict]:
            async with session.client() as client:
                verdicts, lineage = await verify(self.step, self.asks(items, around), client)
                around.store.put([*verdicts, *self.settled(verdicts, around)], lineage)
                return verdicts

        with model_session(self._journal(around), self.access) as session:
            return session.run(work(session))

    def _journal(self, around: CheckContext) -> Path:
        return self.params.journal or Path(f"{around.store.path}.llm.jsonl")

    def settled(self, verdicts: Sequence[Verdict], around: CheckContext) -> list[Verdict]:
        """What else these verdicts settle: nothing."""
        return []

    def cost(self, items: Sequence[Record], around: CheckContext) -> Mapping[str, Any]:
        """Calls that are not cached, rough tokens, and US dollars where the model's price is known."""

        async def work(clients: Sequence[Client]) -> None:
            await verify(self.step, self.asks(items, around), clients[0])

        estimate = missing_calls(self._journal(around), [self.access], work, attempts=self.access.attempts or 1)
        plain = {"calls": estimate.calls, "tokens_in": estimate.tokens_in, "tokens_out": estimate.tokens_out}
        return plain if estimate.cost is None else {**plain, "dollars": round(estimate.cost, 4)}


class QuestionVerification(VerifyCheck):
    """Whether a person would ask a question, and a script for it needs the object, said by a model."""

    name: ClassVar[str] = "verify_question"
    on: ClassVar[str] = "question"
    about: ClassVar[str] = "a model that sees the object says if a person would ask this and needs the object"


class PromptVerification(VerifyCheck):
    """Whether a prompt's last step needs the fact, the object comes next, and no words leak, said by a model."""

    name: ClassVar[str] = "verify_prompt"
    on: ClassVar[str] = "prompt"
    about: ClassVar[str] = "a model that sees the object says if the step needs it, if it comes next, and what leaks"
    version: ClassVar[int] = 3

    def settled(self, verdicts: Sequence[Verdict], around: CheckContext) -> list[Verdict]:
        """Prompts that were written offline and that nobody had read are read now."""
        read = {v.item_id for v in verdicts if v.label != "unscored"}
        waiting = [v.item_id for v in around.store.verdicts(read) if v.by == READ and v.label == "unsure"]
        return [read_verdict(item, by=self.step.model) for item in waiting]


class ContinuationVerification(VerifyCheck):
    """How a model continues that is not told the fact."""

    name: ClassVar[str] = "verify_next"
    on: ClassVar[str] = "prompt"
    about: ClassVar[str] = "a model that is not told the fact continues: does it name the object first?"
    version: ClassVar[int] = 3
