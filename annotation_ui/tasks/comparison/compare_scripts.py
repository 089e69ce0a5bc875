"""Compare two scripts by Coherence, Consistency and Completeness, blind to method, model and judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.comparison.pairs import ComparisonTask, better_field, comparison_form, pair_items
from annotation_ui.tasks.forms import AS_WRITTEN, ShownText

if TYPE_CHECKING:
    from curation.store.store import Store


class CompareScripts(ComparisonTask):
    """Which of two scripts of one question is better, on the three aspects that need the question and the objects."""

    about = "Compare two scripts of one question by Coherence, Consistency and Completeness"
    after = ("compare_executability", "rate_executability")
    form = comparison_form(
        "compare_scripts",
        "Compare two scripts: Coherence, Consistency, Completeness",
        f"Whatever you know: for Coherence go by the new fact. Compare on each aspect on its own. {AS_WRITTEN}",
        (
            better_field(
                "coherence",
                "Coherence: which script goes along better with the new fact?",
                "The one that names only the new object before one that names both, neither or only the old one.",
            ),
            better_field(
                "consistency",
                "Consistency: which script is freer of contradictions with itself?",
                "Put aside what you know about the subject; wrong facts do not matter.",
            ),
            better_field(
                "completeness",
                "Completeness: which script answers more of the question, in enough detail to follow it?",
                "Take as true whichever object a script names.",
            ),
        ),
        beside=(
            ShownText(name="fact", title="The new fact"),
            ShownText(name="new", title="New object"),
            ShownText(name="old", title="Old object"),
            ShownText(name="question", title="Question"),
        ),
    )

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every pair, as the models wrote them."""
        yield from pair_items(store, blind_to_fact=False)
