"""Compare two scripts by Executability: the scripts and nothing else are seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.comparison.pairs import ComparisonTask, pair_items
from annotation_ui.tasks.forms import read_form

if TYPE_CHECKING:
    from curation.store.store import Store


class CompareExecutability(ComparisonTask):
    """Which of two scripts can better be carried out. Ask it before the other aspects: they show the question."""

    about = "Compare the Executability of two scripts of one question, from the scripts alone"
    form = read_form("compare_executability")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every pair, as the models wrote them."""
        yield from pair_items(store, blind_to_fact=True)
