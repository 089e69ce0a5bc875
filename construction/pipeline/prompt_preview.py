"""Prompts to look at: a list of them, and how they read for one fact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from construction.llm.prompt_file import read_prompt
from construction.prompts.prompt_file import FILES, WriterPrompt
from construction.scripts.question_step import QuestionStep, relation_words
from construction.scripts.script_step import ScriptAsk, ScriptStep
from construction.verifier.steps import STEPS, VerifyAsk
from schemas.facts import Fact
from schemas.scripts import ScriptPrompt, ScriptQuestion


def prompt_list(profile: str | None = None, folder: Path | None = None) -> Iterator[dict[str, str]]:
    """Name, task, profile, shape and file of every prompt, of one profile's, or of those in a folder."""
    for prompt, path in _prompts(profile, folder):
        yield {
            "label": prompt.label,
            "task": prompt.task,
            "profile": prompt.profile,
            "shape": prompt.shape,
            "path": path,
        }


def render_messages(fact: Fact, profile: str | None = None, folder: Path | None = None) -> Iterator[dict[str, str]]:
    """Every message of the first question call for a fact; of the other calls for an invented question and script."""
    question = ScriptQuestion(key="example", fact=fact.key, text=f"How can a visitor find {fact.subject.text}?")
    text = f"{question.text}\nStep 1: Look for it on a map\nStep 2: Travel to"
    cut = ScriptPrompt(key="example/p", fact=fact.key, text=text, offset=len(text) + 1, targets=(fact.old.text,))
    for prompt, _ in _prompts(profile, folder):
        if prompt.task == "questions":
            asking = QuestionStep(prompt)
            messages = asking.prompt(asking.calls(fact, count=4, edited=fact.new is not None)[0])
        elif prompt.task == "scripts":
            ask = ScriptAsk(questions=(question,), old=fact.old, relation=relation_words(fact))
            messages = ScriptStep(prompt).prompt(ask)
        else:
            step = next(step for step in STEPS.values() if step.check == prompt.task)
            item = question if prompt.task == "verify_question" else cut
            messages = step(prompt, model="example").prompt([VerifyAsk(fact, item)])
        for message in messages:
            yield {"label": prompt.label, "role": message.role, "content": message.content}


def _prompts(profile: str | None, folder: Path | None) -> Iterator[tuple[WriterPrompt, str]]:
    """Prompts with the file they stand in; those that all profiles share once, at the end."""
    if folder is not None:
        for prompt, path in FILES.custom(folder).values():
            yield prompt, str(path)
        return
    names = [profile] if profile else FILES.profiles()
    paths = [FILES.file(task, name) for name in names for task in FILES.tasks if task not in FILES.shared]
    paths += [FILES.file(task, name) for name in names for task in FILES.shared]
    for path in dict.fromkeys(paths):
        yield read_prompt(WriterPrompt, path), f"construction/prompts/templates/{path.name}"
