"""Filter a script question and its cut script (ScEdit §3.2.1 and Appendix B.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.forms import (
    read_form,
)
from annotation_ui.tasks.spans import FAIL, LEAK
from annotation_ui.tasks.store_items import edit_text, edited_prompts, question_of

if TYPE_CHECKING:
    from curation.store.store import Store


class FilterQuestion(RatingTask):
    """Is the question real, does it depend on the fact, and does the cut lead to the object?"""

    about = "Filter script questions and their cut scripts"
    span_labels = (LEAK, FAIL)
    form = read_form("filter_question")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every script prompt of an edited fact."""
        for fact, prompt in edited_prompts(store):
            yield TaskItem(
                id=prompt.id,
                case=fact.key,
                stratum=f"{fact.relation.id} {fact.change}",
                shown={
                    "edit": edit_text(fact),
                    "question": question_of(store, prompt),
                    "cut": prompt.text + prompt.separator.rstrip(" "),
                },
            )
