"""Rate Coherence, Consistency and Completeness (ScEdit Figures 9-11), blind to method, model and judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.forms import Answers, read_form
from annotation_ui.tasks.likert import generated_items, rating_records
from schemas.core.records import Record

if TYPE_CHECKING:
    from curation.store.store import Store


class RateScript(RatingTask):
    """Seven points for the three aspects that need the question and the objects."""

    about = "Rate Coherence, Consistency and Completeness of generated scripts"
    blind = True
    after = ("rate_executability",)
    level = "ordinal"
    form = read_form("rate_script")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every generated script, as it was written."""
        yield from generated_items(store, blind_to_fact=False)

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """Three ratings."""
        return rating_records(self.form, item, self.checked(item, answers), person=person)
