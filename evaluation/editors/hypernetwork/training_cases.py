"""What MEND learns from: edits, prompts that ask for the same, texts that must stay as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evaluation.editors.hypernetwork.gradients import GradientLine, line
from evaluation.models.language_model import LM
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.text.counting import counted


class TrainingCase(NamedTuple):
    """One training case.

    Attributes:
        edit: The fact prompt with the new object: its gradient is what the network sees.
        paraphrases: Prompts of the same fact (and of its scripts) with the new object: they must follow the edit.
        locality: Prompts of neighbour facts with their own object: their distributions must stay.
    """

    edit: GradientLine
    paraphrases: tuple[GradientLine, ...]
    locality: tuple[GradientLine, ...]


def training_cases(lm: LM, cases: Sequence[Case]) -> list[TrainingCase]:
    """Training cases; those whose fact prompt cannot be read are left out.

    Raises:
        UserError: fewer than two cases, or none has a neighbour.
    """
    lessons = []
    for case in cases:
        if case.fact.new is None or (edit := line(lm, case.fact.fact_prompt, case.fact.new_object.text)) is None:
            continue
        paraphrases = tuple(x for x in _paraphrases(lm, case) if x is not None)
        lessons.append(
            TrainingCase(edit, paraphrases or (edit,), tuple(x for x in _locality(lm, case) if x is not None))
        )
    if len(lessons) < 2 or not any(one.locality for one in lessons):
        raise UserError(
            f"{counted(len(lessons), 'case')} with a new object: too few to train on",
            fix="give more cases, with neighbours: their prompts are what an edit must not move",
        )
    return lessons


def _paraphrases(lm: LM, case: Case) -> Iterator[GradientLine | None]:
    new = case.fact.new_object.text
    yield line(lm, case.fact.fact_prompt, new)
    for text in case.fact.paraphrases:
        yield line(lm, text, new)
    for prompt in case.prompts:
        yield line(lm, prompt.text, new, separator=prompt.separator)


def _locality(lm: LM, case: Case) -> Iterator[GradientLine | None]:
    for text in case.fact.neighbour_prompts:
        yield line(lm, text, case.fact.old.text)
    for beside in case.neighbours:
        for text in (beside.fact.fact_prompt, *beside.fact.paraphrases):
            yield line(lm, text, beside.fact.old.text)
        for prompt in beside.prompts:
            yield line(lm, prompt.text, prompt.targets[0], separator=prompt.separator)
