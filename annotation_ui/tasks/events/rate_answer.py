"""Rate open answers about events on the judge's four aspects, from 1 to 5 (ELKEN Table 14), blind to the method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.events.open_answers import OPEN_HINT, answered_questions
from annotation_ui.tasks.forms import Answers, read_form
from annotation_ui.tasks.likert import ScaleTask
from schemas.ratings import TENDENCY
from schemas.text.raw_text import raw_text

if TYPE_CHECKING:
    from curation.store.store import Store


class RateAnswer(ScaleTask):
    """Five points for the four aspects that a judge rates of an open answer in scope."""

    about = "Rate open answers to questions about events, as a judge does"
    source_hint: ClassVar[str] = OPEN_HINT
    rubric = TENDENCY
    form = read_form("rate_answer")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every open answer in scope that is not a refusal."""
        for answer, case, question in answered_questions(store, "in"):
            yield TaskItem(
                id=answer.id,
                case=answer.case,
                stratum=f"{answer.model} {answer.editor}",
                shown={
                    "event": case.event.text,
                    "question": question.text,
                    "right": question.right_option,
                    "answer": raw_text(answer.text),
                },
            )

    def faults(self, item: TaskItem, answers: Answers) -> list[str]:
        """Those of the form, and the rule between accuracy and overall."""
        faults = super().faults(item, answers)
        broken = "" if faults else TENDENCY.fault({aspect: answers[aspect] for aspect in TENDENCY.aspects})
        return [*faults, broken] if broken else faults
