"""Compare two scripts by Executability: the scripts and nothing else are seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.comparison.pairs import ComparisonTask, better_field, comparison_form, pair_items
from annotation_ui.tasks.forms import AS_WRITTEN

if TYPE_CHECKING:
    from curation.store.store import Store


class CompareExecutability(ComparisonTask):
    """Which of two scripts can better be carried out. Ask it before the other aspects: they show the question."""

    about = "Compare the Executability of two scripts of one question, from the scripts alone"
    form = comparison_form(
        "compare_executability",
        "Compare two scripts: Executability",
        f"You see two scripts and nothing else. Say whose steps can better be carried out. {AS_WRITTEN}",
        (
            better_field(
                "executability",
                "Executability: the steps of which script could someone better carry out, one after another?",
                "Judge the sense of the steps alone; whether what they say is true does not matter here.",
            ),
        ),
        beside=(),
    )

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every pair, as the models wrote them."""
        yield from pair_items(store, blind_to_fact=True)
