"""What the two tasks about open answers read out of a store: answers with their event and question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemas.cases import EventCase
from schemas.core.errors import UserError
from schemas.events.open_answer import OpenAnswer
from schemas.events.questions import Scope, TendencyQuestion

if TYPE_CHECKING:
    from curation.store.store import Store

OPEN_HINT = "put a run's open answers into a store first: scedit judge RUN --dry-run"


def answered_questions(store: Store, scope: Scope) -> Iterator[tuple[OpenAnswer, EventCase, TendencyQuestion]]:
    """Every open answer to a question of a scope that is no refusal and not empty, in the order of their keys.

    Raises:
        UserError: an answer whose case or question is not in the store.
    """
    answers = list(store.all(OpenAnswer))
    cases = {c.key: c for c in store.by_keys(EventCase, (a.case for a in answers))}
    for answer in answers:
        questions = {q.key: q for q in cases[answer.case].tendencies} if answer.case in cases else {}
        if answer.question not in questions:
            raise UserError(
                f"the question of the answer '{answer.key}' is not in the store", where=str(store.path), fix=OPEN_HINT
            )
        question = questions[answer.question]
        if question.scope == scope and not answer.refused and answer.text.strip():
            yield answer, cases[answer.case], question
