"""Rate open answers about events on the judge's four aspects, from 1 to 5 (ELKEN Table 14), blind to the method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.events.open_answers import OPEN_HINT, answered_questions
from annotation_ui.tasks.forms import COMMENT, Answers, Form, ShownText
from annotation_ui.tasks.likert import likert_field, rating_records
from schemas.core.records import Record
from schemas.ratings import TENDENCY
from schemas.text.raw_text import raw_text

if TYPE_CHECKING:
    from curation.store.store import Store

FIELDS = (
    likert_field(
        "accuracy",
        "Accuracy: does the text say the tendency of the right answer?",
        "3: it leaves open which way things go, or says both.",
        low_text="another tendency, or none",
        high_text="that tendency, and nothing against it",
        high=5,
    ),
    likert_field(
        "coherence",
        "Coherence: is the text clear and to the point?",
        "Contradictions, loops and stray remarks pull the rating down.",
        low_text="cannot be followed",
        high_text="clear throughout",
        high=5,
    ),
    likert_field(
        "comprehensiveness",
        "Comprehensiveness: does the text say why, and think of what matters for the question?",
        "A bare word is 1 or 2. Length alone is no merit.",
        low_text="says nothing of it",
        high_text="says what matters",
        high=5,
    ),
    likert_field(
        "overall",
        "Overall: the text as an answer to the question",
        "Where accuracy is 3 or less, overall is 3 or less, too.",
        low_text="no use",
        high_text="a good answer",
        high=5,
    ),
)


class RateAnswer(RatingTask):
    """Five points for the four aspects that a judge rates of an open answer in scope."""

    about = "Rate open answers to questions about events, as a judge does"
    blind = True
    level = "ordinal"
    source_hint: ClassVar[str] = OPEN_HINT
    form = Form(
        name="rate_answer",
        version=1,
        title="Rate an answer to a question about an event",
        intro="Take it that the event has happened, whatever you know. Rate each aspect from 1 to 5.",
        shows=(
            ShownText(name="event", title="Event"),
            ShownText(name="question", title="Question"),
            ShownText(name="right", title="Right answer"),
            ShownText(name="answer", title="What the model wrote", style="script"),
        ),
        fields=(*FIELDS, COMMENT),
    )

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

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """A rating of every aspect."""
        return rating_records(self.form, item, self.checked(item, answers), person=person, rubric=TENDENCY)
