"""The verifier inside a construction: a model reads every question and prompt that the checks let pass."""

from __future__ import annotations

from construction.llm.client import Client
from construction.verifier.steps import DependsStep, LeakStep, VerifyAsk, VerifyStep, verify
from schemas.facts import Fact
from schemas.lineage import Lineage
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict


class UnansweredCall(Exception):
    """The endpoint left a call unanswered; the fact is finished by a later run."""


class SecondReader:
    """Asks the verifier's two questions: does the script depend on the fact, does the prompt leak?

    Args:
        client: Asks the model that reads.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        model = client.endpoint.model
        self._depends, self._leak = (step.load(model=model) for step in (DependsStep, LeakStep))

    async def question(self, fact: Fact, question: ScriptQuestion, trace: list[Lineage]) -> list[Verdict]:
        """What it says of a question."""
        return await self._ask(self._depends, VerifyAsk(fact=fact, question=question), trace)

    async def prompt(self, fact: Fact, prompt: ScriptPrompt, trace: list[Lineage]) -> list[Verdict]:
        """What it says of a script prompt."""
        return await self._ask(self._leak, VerifyAsk(fact=fact, prompt=prompt), trace)

    async def _ask(self, step: VerifyStep, ask: VerifyAsk, trace: list[Lineage]) -> list[Verdict]:
        verdicts, lines = await verify(step, ask, client=self.client)
        if not verdicts:
            raise UnansweredCall(f"no verdict from {step.model}")
        trace += lines
        return verdicts
