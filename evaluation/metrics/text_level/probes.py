"""Probes that ask for texts: the script of a question, the rest of a cut step; equal probes share the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from evaluation.metrics.generation import Generation
from evaluation.metrics.text_level.script_parser import INSTRUCTION
from schemas.cases import Case
from schemas.facts import Object
from schemas.probes import GenerateProbe
from schemas.scripts import ScriptPrompt

QUESTION = "script_question"
CONTINUED = "script_continued"
GO_ON = (
    "The text below is a script that was cut off in the middle of a step. Go on exactly where it stops: write the rest "
    "of that step and nothing else."
)
"""What stands before a cut step in a message to a model that is asked in messages only."""


class Objects(NamedTuple):
    """The two objects of an edit, with the names that a script prompt gives them."""

    new: Object
    old: Object


def objects(case: Case, prompt: ScriptPrompt | None = None) -> Objects:
    """What is looked for in a text.

    Raises:
        UserError: the case's fact has no new object, so it is no edit.
    """
    targets = prompt.targets if prompt is not None else ()
    return Objects(_with_names(case.fact.new_object, targets[1:2]), _with_names(case.fact.old, targets[:1]))


def _with_names(entity: Object, names: Sequence[str]) -> Object:
    more = tuple(n for n in names if n not in entity.names)
    return entity.model_copy(update={"aliases": (*entity.aliases, *more)}) if more else entity


def questions(case: Case) -> list[tuple[str, str]]:
    """Script questions of a case, as (key, text); of published prompts without a question record their first line."""
    if case.questions:
        return [(q.key, q.text) for q in case.questions]
    heads = {p.text.split("\n", 1)[0]: p.question or p.key for p in reversed(case.prompts) if "\n" in p.text}
    return [(key, text) for text, key in reversed(heads.items())]


class SamplingArguments(TypedDict):
    """How a text is drawn, as a probe has it."""

    temperature: float
    top_p: float
    seed: int


def sampling_of(generation: Generation, case: str, purpose: str, item: str, sample: int = 0) -> SamplingArguments:
    """How a text is drawn; without temperature nothing is drawn, and top_p is 1."""
    choice = generation.choice
    top_p = choice.top_p if choice.temperature else 1.0
    return {"temperature": choice.temperature, "top_p": top_p, "seed": generation.seed(case, purpose, item, sample)}


def script_for(case: Case, key: str, text: str, generation: Generation, sample: int = 0) -> GenerateProbe:
    """Ask for the script that answers a question, in the format of Appendix A; its length and stop texts cut it."""
    choice = generation.choice
    return GenerateProbe(
        purpose=QUESTION,
        item=key,
        prompt=text,
        instruction=INSTRUCTION,
        chat=choice.chat,
        start=choice.start,
        most=choice.max_tokens,
        stop=choice.stop,
        sample=sample,
        thought=choice.thought_asked,
        **sampling_of(generation, case.key, QUESTION, key, sample),
    )


def scripts_for(case: Case, generation: Generation) -> list[GenerateProbe]:
    """Every sample of every script question."""
    asked_questions = questions(case)
    return [
        script_for(case, key, text, generation, n)
        for key, text in asked_questions
        for n in range(generation.choice.samples)
    ]


def rest_of_step(case: Case, prompt: ScriptPrompt, generation: Generation) -> GenerateProbe:
    """Continue a script prompt to the end of the cut step. Not in a chat template, as S-ES is scored without one.

    Spaces at the end are left to the model, whose tokens begin with them. Where the model shall think everywhere
    (``ThoughtChoice``), the template is put around, with an instruction to go on.
    """
    chat = generation.choice.chat_everywhere
    return GenerateProbe(
        purpose=CONTINUED,
        item=prompt.key,
        prompt=prompt.text,
        separator=prompt.separator.rstrip(" "),
        instruction=GO_ON if chat else "",
        chat="always" if chat else "never",
        most=generation.choice.step_tokens,
        stop=("\n",),
        thought=generation.choice.thought_asked,
        **sampling_of(generation, case.key, CONTINUED, prompt.key),
    )
