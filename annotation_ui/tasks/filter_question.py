"""Filter a script question and its cut script (ScEdit §3.2.1 and Appendix B.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from annotation_ui.tasks.base import RatingTask, TaskItem, verdict_records
from annotation_ui.tasks.forms import COMMENT, OTHER, Answers, Field, FieldOption, Form, ShownText
from annotation_ui.tasks.spans import FAIL, LEAK
from annotation_ui.tasks.store_items import edit_text, edited_prompts, question_of
from schemas.core.records import Record
from schemas.verdicts import Verdict

if TYPE_CHECKING:
    from curation.store.store import Store

REASONS = (
    FieldOption(value="question_not_about_fact", text="The question does not hinge on the fact"),
    FieldOption(value="old_knowledge_leak", text="The text gives away knowledge that goes with the old object"),
    FieldOption(value="target_too_early", text="The object is expected too early (in step 1)"),
    FieldOption(value="target_not_forced", text="Other words fit the gap just as well"),
    FieldOption(value="new_object_leak", text="The new object stands in the text already"),
    FieldOption(value="ungrammatical", text="Broken or ungrammatical text"),
    FieldOption(value="duplicate", text="The same as another question"),
    OTHER,
)


SUGGESTED = {
    "leak_in_prompt": ("guides", "new_object_leak"),
    "related_knowledge": ("guides", "old_knowledge_leak"),
    "early_cut": ("guides", "target_too_early"),
    "near_duplicate": ("meaningful", "duplicate"),
    "question_form": ("meaningful", "ungrammatical"),
    "independent_question": ("meaningful", "question_not_about_fact"),
}
"""What a check's objection suggests: the question answered no, and the reason."""


class FilterQuestion(RatingTask):
    """Is the question worth asking, and does the cut lead to the object?"""

    about = "Filter script questions and their cut scripts"
    span_labels = (LEAK, FAIL)
    form = Form(
        name="filter_question",
        version=1,
        title="Filter a script question",
        intro="Read the edited fact, the question and the script up to the cut. Answer all three; a no needs a reason.",
        shows=(
            ShownText(name="edit", title="Edited fact (old object, then new object)"),
            ShownText(name="question", title="Script question"),
            ShownText(name="cut", title="Script up to the cut (the model goes on from its end)", style="script"),
        ),
        fields=(
            Field(
                name="meaningful",
                kind="yes_no",
                asks="Is the question meaningful, and does its answer depend on the fact?",
                hint="A person would really ask it, and could not answer it well without knowing the object.",
            ),
            Field(
                name="changes",
                kind="yes_no",
                asks="Would a correct script change clearly after the edit?",
                hint="At least one step would have to read differently if the new object were true.",
            ),
            Field(
                name="guides",
                kind="yes_no",
                asks="Does the text up to the cut lead to the object as the very next words?",
                hint="Naming the object is the natural continuation, and nothing before it settles which object.",
            ),
            Field(name="reasons", kind="many", asks="Why not?", choices=REASONS, required=False),
            COMMENT,
        ),
        reasons="reasons",
        comment_for="other",
    )

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

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """``keep`` or ``drop`` with the reasons, and each answer as a measurement."""
        return verdict_records(self.form, item, self.checked(item, answers), person=person)
