"""Filter a script question and its cut script (ScEdit §3.2.1 and Appendix B.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.forms import (
    read_form,
)
from annotation_ui.tasks.spans import FAIL, LEAK
from annotation_ui.tasks.store_items import edit_text, edited_prompts, question_of
from schemas.verdicts import Verdict

if TYPE_CHECKING:
    from curation.store.store import Store


SUGGESTED = {
    "leak_in_prompt": ("guides", "new_object_leak"),
    "related_knowledge": ("guides", "old_knowledge_leak"),
    "early_cut": ("guides", "target_too_early"),
    "near_duplicate": ("meaningful", "duplicate"),
    "question_form": ("meaningful", "ungrammatical"),
    "independent_question": ("depends", "question_not_about_fact"),
}
"""What a check's objection suggests: the question answered no, and the reason."""


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

    def suggest(self, verdicts: Sequence[Verdict]) -> dict[str, Any]:
        """A no, with its reason, for each objection of a check."""
        raised = [v.check for v in verdicts if v.label in ("drop", "unsure") and v.judged_by is None]
        known = [SUGGESTED[check] for check in dict.fromkeys(raised) if check in SUGGESTED]
        if not known:
            return {}
        answers: dict[str, Any] = {name: "no" for name, _ in known}
        return answers | {"reasons": list(dict.fromkeys(reason for _, reason in known))}
