"""Rate Coherence, Consistency and Completeness (ScEdit Figures 9-11), blind to method, model and judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.forms import AS_WRITTEN, COMMENT, Answers, Form, ShownText
from annotation_ui.tasks.likert import generated_items, likert_field, rating_records
from schemas.core.records import Record

if TYPE_CHECKING:
    from curation.store.store import Store

COHERENCE = likert_field(
    "coherence",
    "Coherence: does the script go along with the new fact?",
    "Look for the two objects by name. Only the old object: 1. Both objects: 2. Neither object: 3. Otherwise 4 to 7, "
    "the higher the more fully every step fits the new fact.",
    low_text="built on the old object",
    high_text="fits the new fact throughout",
)
CONSISTENCY = likert_field(
    "consistency",
    "Consistency: is the script free of contradictions with itself?",
    "Put aside what you know about the subject; wrong facts do not matter. Both objects by name, and no telling which "
    "one it builds on: 1. One of them or neither: 7. A paraphrase of an object is not its name.",
    low_text="contradicts itself",
    high_text="no contradiction",
)
COMPLETENESS = likert_field(
    "completeness",
    "Completeness: does the script answer every part of the question, in enough detail to follow it?",
    "Take as true the object named for Completeness. A script that names neither object loses nothing for that.",
    low_text="answers nothing",
    high_text="answers all, in detail",
)


_INTRO = "Whatever you know: for Coherence go by the new fact. Rate each aspect on its own, from 1 to 7."


def _form(version: int, *, intro: str, title: str) -> Form:
    return Form(
        name="rate_script",
        version=version,
        title="Rate a script: Coherence, Consistency, Completeness",
        intro=intro,
        shows=(
            ShownText(name="fact", title="The new fact"),
            ShownText(name="new", title="New object"),
            ShownText(name="old", title="Old object"),
            ShownText(name="question", title="Question"),
            ShownText(name="script", title=title, style="script"),
            ShownText(name="counts", title="For Completeness take this object as true"),
        ),
        fields=(COHERENCE, CONSISTENCY, COMPLETENESS, COMMENT),
    )


class RateScript(RatingTask):
    """Seven points for the three aspects that need the question and the objects."""

    about = "Rate Coherence, Consistency and Completeness of generated scripts"
    blind = True
    after = ("rate_executability",)
    level = "ordinal"
    form = _form(
        3,
        intro=f"{_INTRO} {AS_WRITTEN}",
        title="What the model wrote",
    )

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every generated script, as it was written."""
        yield from generated_items(store, blind_to_fact=False)

    def with_form(self, label: str) -> RatingTask:
        """Version 2 showed the parsed steps."""
        return RateScriptSteps() if label == RateScriptSteps.form.label else self

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """Three ratings."""
        return rating_records(self.form, item, self.checked(item, answers), person=person)


class RateScriptSteps(RateScript):
    """The form of version 0.1.0, for campaigns that were made with it."""

    form = _form(
        2,
        intro=_INTRO,
        title="Script",
    )

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every generated script, by its parsed steps."""
        yield from generated_items(store, blind_to_fact=False, shown="steps")
