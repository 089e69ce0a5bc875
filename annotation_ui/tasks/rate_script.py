"""Rate Coherence, Consistency and Completeness (ScEdit Figures 9-11), blind to method, model and judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.forms import read_form
from annotation_ui.tasks.likert import ScaleTask, generated_items

if TYPE_CHECKING:
    from curation.store.store import Store


class RateScript(ScaleTask):
    """Seven points for the three aspects that need the question and the objects."""

    about = "Rate Coherence, Consistency and Completeness of generated scripts"
    after = ("rate_executability",)
    form = read_form("rate_script")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every generated script, as it was written."""
        yield from generated_items(store, blind_to_fact=False)
