"""Compare two scripts by Coherence, Consistency and Completeness, blind to method, model and judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.comparison.pairs import ComparisonTask, pair_items
from annotation_ui.tasks.forms import read_form

if TYPE_CHECKING:
    from curation.store.store import Store


class CompareScripts(ComparisonTask):
    """Which of two scripts of one question is better, on the three aspects that need the question and the objects."""

    about = "Compare two scripts of one question by Coherence, Consistency and Completeness"
    after = ("compare_executability", "rate_executability")
    form = read_form("compare_scripts")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every pair, as the models wrote them."""
        yield from pair_items(store, blind_to_fact=False)
