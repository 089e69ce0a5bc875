"""Prompts to look at: a list of them, and how they read for one fact."""

from __future__ import annotations

from collections.abc import Iterator

from construction.prompts import TASKS, load_prompt, profiles
from construction.questions import QuestionStep
from construction.scripts import ScriptAsk, ScriptStep
from schemas.facts import Fact
from schemas.scripts import ScriptQuestion


def listing(profile: str | None = None) -> Iterator[dict[str, str]]:
    """Name, task, profile, shape and file name of every prompt, or of one profile's."""
    for name in [profile] if profile else profiles():
        for task in TASKS:
            prompt = load_prompt(task, name)
            yield {
                "label": f"{prompt.name}@{prompt.version}",
                "task": task,
                "profile": name,
                "shape": prompt.shape,
                "path": f"construction/prompts/{task}.{name}.toml",
            }


def rendered(fact: Fact, profile: str | None = None) -> Iterator[dict[str, str]]:
    """Every message of the first question call for a fact, and of a script call for an invented question."""
    for name in [profile] if profile else profiles():
        questions, scripts = QuestionStep(load_prompt("questions", name)), ScriptStep(load_prompt("scripts", name))
        call = questions.calls(fact, count=4, edited=fact.new is not None)[0]
        question = ScriptQuestion(key="example", fact=fact.key, text=f"How can a visitor find {fact.subject.text}?")
        for step, messages in (
            (questions.label, questions.prompt(call)),
            (scripts.label, scripts.prompt(ScriptAsk(question=question, old=fact.old))),
        ):
            for message in messages:
                yield {"label": step, "role": message.role, "content": message.content}
