"""Prompts to look at: a list of them, and how they read for one fact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from construction.prompts.prompt_file import FILES, WriterPrompt, verify_file
from construction.scripts.question_step import QuestionStep, relation_words
from construction.scripts.script_step import ScriptAsk, ScriptStep
from construction.verifier.steps import STEPS, VerifyAsk
from schemas.facts import Fact
from schemas.scripts import ScriptPrompt, ScriptQuestion

CAPABLE = "paper"
"""Profile of prompts for capable models."""


def prompt_list(profile: str | None = None, folder: Path | None = None) -> Iterator[dict[str, str]]:
    """Name, task, profile, shape and file of every prompt, of one profile's, or of those in a folder.

    The verifier's stand at the end.
    """
    for prompt, path in _writer_prompts(profile, folder):
        yield {
            "label": prompt.label,
            "task": prompt.task,
            "profile": prompt.profile,
            "shape": prompt.shape,
            "path": path,
        }
    for task in _verifier_tasks(profile, folder):
        name = verify_file(task).name
        path = str(folder / name) if folder else f"construction/verifier/prompts/{name}"
        label = STEPS[task].load(model="example", folder=folder).label
        yield {"label": label, "task": f"verify_{task}", "profile": CAPABLE, "shape": "reading", "path": path}


def render_messages(fact: Fact, profile: str | None = None, folder: Path | None = None) -> Iterator[dict[str, str]]:
    """Every message of the first question call for a fact; of the other calls for an invented question and script."""
    question = ScriptQuestion(key="example", fact=fact.key, text=f"How can a visitor find {fact.subject.text}?")
    for prompt, _ in _writer_prompts(profile, folder):
        if prompt.task == "questions":
            asking = QuestionStep(prompt)
            messages = asking.prompt(asking.calls(fact, count=4, edited=fact.new is not None)[0])
        else:
            messages = ScriptStep(prompt).prompt(
                ScriptAsk(questions=(question,), old=fact.old, relation=relation_words(fact))
            )
        for message in messages:
            yield {"label": prompt.label, "role": message.role, "content": message.content}
    text = f"{question.text}\nStep 1: Look for it on a map\nStep 2: Travel to"
    cut = ScriptPrompt(key="example/p", fact=fact.key, text=text, offset=len(text) + 1, targets=(fact.old.text,))
    for task in _verifier_tasks(profile, folder):
        step = STEPS[task].load(model="example", folder=folder)
        for message in step.prompt([VerifyAsk(fact, question if task == "question" else cut)]):
            yield {"label": step.label, "role": message.role, "content": message.content}


def _verifier_tasks(profile: str | None, folder: Path | None) -> Iterable[str]:
    """The verifier's tasks, of which a folder of one's own may hold some; it has one wording, for capable models."""
    if folder is not None:
        return [task for task in STEPS if (folder / verify_file(task).name).exists()]
    return STEPS if (profile or CAPABLE) == CAPABLE else ()


def _writer_prompts(profile: str | None, folder: Path | None) -> Iterator[tuple[WriterPrompt, str]]:
    """Prompts with the file they stand in."""
    if folder is not None:
        for prompt, path in FILES.custom(folder).values():
            yield prompt, str(path)
        return
    for name in [profile] if profile else FILES.profiles():
        for task in FILES.tasks:
            prompt = FILES.load(task, name)
            yield prompt, f"construction/prompts/templates/{FILES.file(task, name).name}"
