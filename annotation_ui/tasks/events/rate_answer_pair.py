"""Rate whether two open answers, before and after the edit, say the same tendency, from 1 to 5 (ELKEN §4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.events.open_answers import OPEN_HINT, answered_questions
from annotation_ui.tasks.forms import read_form
from annotation_ui.tasks.likert import ScaleTask
from schemas.ratings import CONSISTENCY
from schemas.text.raw_text import raw_text

if TYPE_CHECKING:
    from curation.store.store import Store


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
            yield TaskItem(
                id=answer.id,
                case=answer.case,
                stratum=f"{answer.model} {answer.editor}",
                shown={
                    "event": case.event.text,
                    "question": question.text,
                    "before": raw_text(old.text),
                    "answer": raw_text(answer.text),
                },
                related=(old.id,),
            )
