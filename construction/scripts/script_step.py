"""Scripts: short steps that answer a script question and contain the old object (ScEdit Appendix B.1, Figure 7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from construction.llm.prompt_text import fill, tidy
from construction.llm.step import Message, Request
from construction.prompts.prompt_file import WriterPrompt
from construction.scripts.cleaning import clean_steps
from construction.scripts.object_last import LEADING, ObjectLast, object_last
from construction.scripts.prompt_file_step import PromptFileStep
from construction.scripts.question_step import Thought
from schemas.core.ids import content_id
from schemas.facts import Object
from schemas.scripts import Script, ScriptQuestion, strip_label

LONGEST = 400  # characters of one step before it is looked at; far above what the format allows
MOST = 60  # steps of one reply, likewise

_Short = Annotated[str, StringConstraints(min_length=4, max_length=36)]


@dataclass(frozen=True, kw_only=True)
class ScriptAsk:
    """One call for a script: a question and the old object. There is no place for the new object, on purpose.

    Attributes:
        relation: What relates the object to the question's subject, in words.
        relation_id: Its id, as the facts give it.
        rejected: Steps of an earlier attempt that cannot be used.
        reason: Why they cannot, in words that name no object which the steps do not name.
    """

    question: ScriptQuestion
    old: Object
    relation: str = ""
    relation_id: str = ""
    rejected: tuple[str, ...] = ()
    reason: str = ""


class Draft(tuple[str, ...]):
    """Steps as the model wrote them, tidied and without labels, not yet held against the format."""

    __slots__ = ()


class StepList(BaseModel):
    """The reply of a capable model: the steps in order."""

    model_config = ConfigDict(extra="forbid")
    steps: list[str]

    @field_validator("steps")
    @classmethod
    def _check_not_empty(cls, steps: list[str]) -> list[str]:
        if not any(strip_label(tidy(s)) for s in steps):
            raise ValueError("at least one step is needed")
        if len(steps) > MOST or any(len(s) > LONGEST for s in steps):
            raise ValueError("far too long: nine short steps at most")
        return steps


class ReasonedSteps(StepList, Thought):
    """The reply of a capable model since version 2: a thought, then the steps in order."""


class StepSlots(BaseModel):
    """The reply of the embedded model: the object again, the step that uses it, what comes before and after."""

    model_config = ConfigDict(extra="forbid")
    word: Annotated[str, StringConstraints(min_length=1, max_length=40)]
    key_step: Annotated[str, StringConstraints(min_length=4, max_length=44)]
    before: Annotated[list[_Short], Field(min_length=2, max_length=2)]
    after: Annotated[list[_Short], Field(min_length=1, max_length=2)]


_REPLIES: Mapping[str, type[BaseModel]] = {
    "steps": StepList,
    "why_steps": ReasonedSteps,
    "slots": StepSlots,
    "object_last": ObjectLast,
}


def script_key(question: ScriptQuestion, steps: tuple[str, ...]) -> str:
    """Key of a script: its question and its words, case and spacing aside."""
    return f"{question.key}/s-{content_id('words', [s.casefold() for s in steps])[:8]}"


def script_of(question: ScriptQuestion, draft: Draft) -> Script:
    """The draft as a script.

    Raises:
        pydantic.ValidationError: it breaks the format (more than nine steps, a step of eight words or more).
    """
    return Script(key=script_key(question, draft), question=question.key, steps=tuple(draft))


class ScriptStep(PromptFileStep[ScriptAsk, Draft, WriterPrompt]):
    """Asks for a script.

    Args:
        prompt: The wording; its ``shape`` decides the reply: ``steps`` or ``why_steps`` for a list, ``slots`` for the
            guided form.
    """

    def __init__(self, prompt: WriterPrompt) -> None:
        super().__init__(prompt)
        self.reply = _REPLIES[prompt.shape]

    def request(self, item: ScriptAsk, *, parameters: dict[str, Any], sample: int = 0) -> Request:
        """The whole request; where the step with the object has a fixed form, its reply type is made for the object."""
        request = super().request(item, parameters=parameters, sample=sample)
        if self.wording.shape == "object_last":
            request = request._replace(reply=object_last(tidy(item.old.text), LEADING.get(item.relation_id, ())))
        return request

    def prompt(self, item: ScriptAsk) -> list[Message]:
        """The messages for one script; after a rejected one with its steps and the reason, where the wording has it."""
        values = {"question": item.question.text, "object": item.old.text, "relation": item.relation}
        messages = self.wording.messages(values)
        if self.wording.again is None or not item.rejected:
            return messages
        earlier = json.dumps({"steps": item.rejected}, ensure_ascii=False)
        rejection = fill(self.wording.again, {"reason": item.reason}).strip()
        return [*messages, Message(role="assistant", content=earlier), Message(role="user", content=rejection)]

    def parse(self, item: ScriptAsk, reply: BaseModel) -> list[Draft]:
        """One draft: tidied steps in order without labels and markup, empty ones left out."""
        assert isinstance(reply, StepSlots | StepList | ObjectLast)
        raw = reply.steps if isinstance(reply, StepList) else [*reply.before, reply.key_step, *reply.after]
        tidied = [tidy(s) for s in raw]
        return [Draft(s for s in clean_steps(tidied, names=item.old.names) if s)]
