"""The journal key of a request as an endpoint saw it."""

from __future__ import annotations

from typing import Any

from construction.llm.prompt_file import SAMPLES
from construction.llm.reply_cache import request_key
from construction.llm.step import Message, Request
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from construction.scripts.script_step import ScriptStep

AGAIN = "That script cannot be used"


def key_of(payload: dict[str, Any], *, model: str = "scripted") -> str:
    """The journal key of a first or a second script, or of questions, under the version whose reply type was sent."""
    messages = tuple(Message(**m) for m in payload["messages"])
    name = payload["response_format"]["json_schema"]["name"]
    steps = [
        (ScriptStep if task == "scripts" else QuestionStep)(prompt)
        for task in ("questions", "scripts")
        for prompt in FILES.shipped(task)
    ]
    step = next(s for s in steps if s.reply.__name__ == name)
    parameters = {k: v for k, v in payload.items() if k not in ("messages", "model", "response_format")}
    second = any(m.role == "user" and m.content.startswith(AGAIN) for m in messages)
    return request_key(model, Request(messages, step.reply, parameters, SAMPLES * (step.version - 1) + second))
