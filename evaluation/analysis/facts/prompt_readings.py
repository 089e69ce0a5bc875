"""One prompt of a fact read in every way that a run asked it: by probability, by argmax, by what the model writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from evaluation.metrics.base import Answers, Normalisation, target_values
from evaluation.metrics.fact_texts.answer_line import AnswerLine, read_answer
from evaluation.metrics.fact_texts.probes import (
    FactPrompt,
    Place,
    argmax_probe,
    fact_prompts,
    text_probe,
    wanted_and_other,
)
from evaluation.metrics.generation import Generation
from evaluation.metrics.text_level.base import text_of
from evaluation.metrics.token_level.probes import plain
from evaluation.runs.results import EditorRun, Run, answers_by_probe, cases_by_key
from evaluation.runs.validity_variants import asked_case
from schemas.cases import Case


class PromptReading(NamedTuple):
    """One prompt of a case under one method; None where the run did not ask it that way.

    Attributes:
        case: Key of the case.
        prompt: The prompt.
        preferred: Whether the wanted object is more probable than the other one.
        tokens: Tokens of the wanted object.
        matched: How many of them are the most probable ones under teacher forcing.
        answer: What the model wrote.
    """

    case: str
    prompt: FactPrompt
    preferred: bool | None = None
    tokens: int | None = None
    matched: int | None = None
    answer: AnswerLine | None = None

    @property
    def complete(self) -> bool:
        """Whether it was asked in every way."""
        return self.preferred is not None and self.matched is not None and self.answer is not None


def prompt_readings(
    run: Run, editor: EditorRun, place: Place, generation: Generation, normalisation: Normalisation
) -> list[PromptReading]:
    """Every prompt of a method's finished cases, in their order."""
    out: list[PromptReading] = []
    for key, case in cases_by_key(run).items():
        result = editor.results.get(key)
        if result is not None and result.error is None:
            prompted_case = asked_case(case, editor.manifest.components)
            out += _readings(prompted_case, place, generation, answers_by_probe(result.answers), normalisation)
    return out


def _readings(
    case: Case, place: Place, generation: Generation, answers: Answers, normalisation: Normalisation
) -> Iterator[PromptReading]:
    for prompt in fact_prompts(case, place):
        both = plain(case, prompt.text, purpose=place, item=prompt.item)
        values = target_values(both, answers.get(both.id), normalisation)
        preferred = None
        if not isinstance(values, str):
            new, old = values
            preferred = old > new if place == "neighbour" else new > old
        argmax = answers.get(argmax_probe(case, prompt, place).id)
        target = argmax.targets[0] if argmax is not None and argmax.targets else None
        written = text_of(answers.get(text_probe(case, prompt, place, generation).id))
        yield PromptReading(
            case.key,
            prompt,
            preferred,
            None if target is None else target.tokens,
            None if target is None else target.matched,
            None if isinstance(written, str) else read_answer(written, *wanted_and_other(case, place)),
        )
