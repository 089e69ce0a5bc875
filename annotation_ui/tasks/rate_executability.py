"""Rate Executability: the script and nothing else is seen (ScEdit Figure 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.forms import AS_WRITTEN, COMMENT, Answers, Form, ShownText
from annotation_ui.tasks.likert import generated_items, likert_field, rating_records
from schemas.core.records import Record

if TYPE_CHECKING:
    from curation.store.store import Store

EXECUTABILITY = likert_field(
    "executability",
    "Executability: could someone carry these steps out, one after another?",
    "Judge the sense of the steps alone; whether what they say is true does not matter here. Steps that nobody can "
    "carry out, such as one word over and over, rate low.",
    low_text="no step can be carried out",
    high_text="every step can, in this order",
)


_INTRO = "You see a script and nothing else. Rate whether its steps can be carried out, from 1 to 7."


def _form(version: int, *, intro: str, title: str) -> Form:
    return Form(
        name="rate_executability",
        version=version,
        title="Rate a script: Executability",
        intro=intro,
        shows=(ShownText(name="script", title=title, style="script"),),
        fields=(EXECUTABILITY, COMMENT),
    )


class RateExecutability(RatingTask):
    """Seven points for Executability. Rate it before the other aspects: their task shows the question."""

    about = "Rate Executability of generated scripts, from the script alone"
    blind = True
    level = "ordinal"
    form = _form(2, intro=f"{_INTRO} {AS_WRITTEN}", title="What the model wrote")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every generated script, as it was written."""
        yield from generated_items(store, blind_to_fact=True)

    def with_form(self, label: str) -> RatingTask:
        """Version 1 showed the parsed steps."""
        return RateExecutabilitySteps() if label == RateExecutabilitySteps.form.label else self

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """One rating."""
        return rating_records(self.form, item, self.checked(item, answers), person=person)


class RateExecutabilitySteps(RateExecutability):
    """The form of version 0.1.0, for campaigns that were made with it."""

    form = _form(1, intro=_INTRO, title="Script")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every generated script, by its parsed steps."""
        yield from generated_items(store, blind_to_fact=True, shown="steps")
