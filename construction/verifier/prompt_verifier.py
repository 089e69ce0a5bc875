"""The verifier inside a construction: a model reads every question and prompt that the checks let pass."""

from __future__ import annotations

from collections.abc import Sequence

from construction.llm.client import Client, gather_all
from construction.verifier.steps import STEPS, VerifyAsk, verify
from schemas.facts import Fact
from schemas.lineage import Lineage
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.text.escaping import escape_line
from schemas.verdicts import Label, Verdict, verdict_key

ON_QUESTIONS = ("question",)
"""What is asked of every question: would a person ask it, and does a script need the object?"""

ON_PROMPTS = ("prompt", "next")
"""What is asked of every prompt: is it cut where it should be and does it leak; how does a reader continue?"""

READ = "read@1"
"""Check that says whether anybody has read where a script is cut, which no rule can tell."""


def read_verdict(prompt_id: str, *, by: str = "") -> Verdict:
    """``unsure`` of a prompt that nobody has read; ``keep`` where a model has, whose own verdicts then count.

    Args:
        prompt_id: Content id of the prompt.
        by: The model that read it; empty where nobody did.
    """
    reason = f"read by {by}" if by else "nobody has read where the script is cut: have people or a model read it"
    label: Label = "keep" if by else "unsure"
    return Verdict(
        key=verdict_key(item_id=prompt_id, by=READ), item_id=prompt_id, by=READ, label=label, reason=escape_line(reason)
    )


class UnansweredCall(Exception):
    """The endpoint left a call unanswered; the fact is finished by a later run."""


class Verifier:
    """Asks the verifier's questions about the texts of a fact, each about all texts in one request.

    Args:
        client: Asks the model that reads.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._steps = {task: STEPS[task].load(model=client.endpoint.model) for task in (*ON_QUESTIONS, *ON_PROMPTS)}

    async def read(
        self, tasks: Sequence[str], fact: Fact, items: Sequence[ScriptPrompt | ScriptQuestion], trace: list[Lineage]
    ) -> dict[str, list[Verdict]]:
        """What it says of each text, by the text's content id.

        Raises:
            UnansweredCall: a call has no answer.
        """
        asks = [VerifyAsk(fact, item) for item in items]
        said: dict[str, list[Verdict]] = {item.id: [] for item in items}
        if not asks:
            return said
        answers = await gather_all([verify(self._steps[task], asks, self.client) for task in tasks])
        for verdicts, lines in answers:
            if len(verdicts) < len(asks):
                raise UnansweredCall(f"no verdict from {self.client.endpoint.model}")
            trace += lines
            for verdict in verdicts:
                said[verdict.item_id].append(verdict)
        return said
