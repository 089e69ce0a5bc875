"""What is judged of open answers: answers out of a store, with the edited event, the question and the right option.

The judge always sees the event that was edited, whatever a method put before the question, and one answer a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluation.judge.inputs import judge_inputs
from evaluation.judge.steps import JudgeInput
from schemas.cases import EventCase
from schemas.core.errors import UserError
from schemas.events.open_answer import OpenAnswer
from schemas.events.questions import TendencyQuestion
from schemas.generated_scripts import GeneratedScript
from schemas.ratings import CONSISTENCY, SCRIPT, TENDENCY, Rubric
from schemas.text.raw_text import raw_text

if TYPE_CHECKING:
    from curation.store.store import Store

ANSWER_RUBRICS: tuple[Rubric, ...] = (TENDENCY, CONSISTENCY)
"""Rubrics of open answers: each answer in scope, and out of scope each pair of answers before and after the edit."""


@dataclass(frozen=True, kw_only=True)
class AnswerInput:
    """An open answer with what belongs to it.

    Attributes:
        item: Content id of the answer.
        case: Key of its case: the cluster of intervals.
        text: The answer as the model wrote it, made safe, its length capped.
        question: The tendency question.
        event: The edited event, in words.
        right: Text of the right option.
        edited: Whether the edit was in force.
        before_item: Content id of the unedited model's answer, where the two are compared.
        before: Its text.
        writer: Model that wrote it, and ``editor``: the method. Never shown to a judge.
        refused: The model declined to answer.
    """

    item: str
    case: str
    text: str
    question: str
    event: str
    right: str
    edited: bool
    before_item: str | None = None
    before: str = ""
    writer: str = ""
    editor: str = ""
    refused: bool = False

    @property
    def rubric(self) -> Rubric:
        """Under which it is rated: a pair, or an answer by itself."""
        return TENDENCY if self.before_item is None else CONSISTENCY


def answer_inputs(store: Store, rubric: Rubric) -> list[AnswerInput]:
    """Every open answer of a store that a rubric is for, in the order of their keys.

    Of the rubric of pairs: answers of edited models out of scope beside the unedited model's; answers in the same words
    need no rating and are left out.

    Raises:
        UserError: an answer whose case or question is not there.
    """
    answers = list(store.all(OpenAnswer))
    cases = {c.key: c for c in store.by_keys(EventCase, (a.case for a in answers))}
    placed = [(a, *_question(a, cases, where=str(store.path))) for a in answers]
    if not rubric.rates_pairs:
        return [_input(a, case, question) for a, case, question in placed if question.scope == "in"]
    return list(_pairs([one for one in placed if one[2].scope == "out"]))


def texts_to_rate(store: Store, rubric: str | None = None) -> list[JudgeInput] | list[AnswerInput]:
    """What a store holds to rate: its scripts; without any its open answers, singly and in pairs.

    Args:
        store: Where the texts are.
        rubric: Name of the only rubric; None for what there is.

    Raises:
        UserError: a text whose case, fact or question is not there.
    """
    if rubric == SCRIPT.name or (rubric is None and store.keys(GeneratedScript.kind, limit=1)):
        return judge_inputs(store)
    return [ask for one in ANSWER_RUBRICS if rubric in (None, one.name) for ask in answer_inputs(store, one)]


def _question(answer: OpenAnswer, cases: Mapping[str, EventCase], *, where: str) -> tuple[EventCase, TendencyQuestion]:
    case = cases.get(answer.case)
    question = next((q for q in case.tendencies if q.key == answer.question), None) if case is not None else None
    if case is None or question is None:
        what = f"case '{answer.case}'" if case is None else f"question '{answer.question}'"
        fix = "judge the run's folder again: its cases go into the store with its answers"
        raise UserError(f"the {what} of the answer '{answer.key}' is not in the store", where=where, fix=fix)
    return case, question


def _pairs(placed: Sequence[tuple[OpenAnswer, EventCase, TendencyQuestion]]) -> Iterator[AnswerInput]:
    before = {(a.model, a.case, a.question, a.sample): a for a, _, _ in placed if not a.edited}
    for answer, case, question in placed:
        old = before.get((answer.model, answer.case, answer.question, answer.sample))
        if answer.edited and old is not None and old.text.strip() != answer.text.strip():
            yield _input(answer, case, question, old)


def _input(
    answer: OpenAnswer, case: EventCase, question: TendencyQuestion, before: OpenAnswer | None = None
) -> AnswerInput:
    return AnswerInput(
        item=answer.id,
        case=case.key,
        text=raw_text(answer.text),
        question=question.text,
        event=case.event.text,
        right=question.right_option,
        edited=answer.edited,
        before_item=None if before is None else before.id,
        before="" if before is None else raw_text(before.text),
        writer=answer.model,
        editor=answer.editor,
        refused=answer.refused or (before is not None and before.refused),
    )
