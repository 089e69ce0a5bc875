"""Tasks about open answers to questions about events: rate one (ELKEN Table 14), compare before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.forms import Answers, read_form
from annotation_ui.tasks.generated_scripts import ScaleTask, method_of
from schemas.cases import EventCase
from schemas.core.errors import UserError
from schemas.events.open_answer import OpenAnswer
from schemas.events.questions import Scope, TendencyQuestion
from schemas.ratings import CONSISTENCY, TENDENCY
from schemas.text.raw_text import raw_text

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


def _item(
    answer: OpenAnswer,
    case: EventCase,
    question: TendencyQuestion,
    more: Mapping[str, str],
    *,
    related: tuple[str, ...] = (),
) -> TaskItem:
    """An open answer to be judged: its event and question, what else is shown before it, and what it is beside."""
    texts = {"event": case.event.text, "question": question.text, **more, "answer": raw_text(answer.text)}
    return TaskItem(id=answer.id, case=answer.case, stratum=method_of(answer), shown=texts, related=related)


class RateAnswer(ScaleTask):
    """Five points for the four aspects that a judge rates of an open answer in scope."""

    about = "Rate open answers to questions about events, as a judge does"
    source_hint: ClassVar[str] = OPEN_HINT
    rubric = TENDENCY
    form = read_form("rate_answer")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every open answer in scope that is not a refusal."""
        for answer, case, question in answered_questions(store, "in"):
            yield _item(answer, case, question, {"right": question.right_option})

    def faults(self, item: TaskItem, answers: Answers) -> list[str]:
        """Those of the form, and the rule between accuracy and overall."""
        faults = super().faults(item, answers)
        broken = "" if faults else TENDENCY.fault({aspect: answers[aspect] for aspect in TENDENCY.aspects})
        return [*faults, broken] if broken else faults


class RateAnswerPair(ScaleTask):
    """Five points for one aspect of two answers to a question out of scope."""

    about = "Rate whether two open answers, before and after an edit, say the same tendency"
    source_hint: ClassVar[str] = OPEN_HINT
    rubric = CONSISTENCY
    form = read_form("rate_answer_pair")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Answers of edited models out of scope beside the unedited model's; those in the same words need no rating."""
        answered = list(answered_questions(store, "out"))
        before = {(a.model, a.case, a.question, a.sample): a for a, _, _ in answered if not a.edited}
        for answer, case, question in answered:
            old = before.get((answer.model, answer.case, answer.question, answer.sample))
            if not answer.edited or old is None or old.text.strip() == answer.text.strip():
                continue
            yield _item(answer, case, question, {"before": raw_text(old.text)}, related=(old.id,))
