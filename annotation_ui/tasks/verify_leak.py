"""Verify a leak flag: does the text before the cut really give the old object away? (ScEdit Appendix B.2.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from annotation_ui.tasks.base import RatingTask, TaskItem, verdict_records
from annotation_ui.tasks.forms import COMMENT, Answers, Field, FieldOption, Form, ShownText
from annotation_ui.tasks.spans import LEAK
from annotation_ui.tasks.store_items import edit_text, edited_prompts
from schemas.core.records import Record
from schemas.verdicts import Verdict

if TYPE_CHECKING:
    from curation.store.store import Store


class VerifyLeakFlag(RatingTask):
    """A check has quoted words that may leak; a person says whether they do. It shows the quote: that is the task."""

    about = "Confirm or reject flags of leaking knowledge"
    span_labels = (LEAK,)
    form = Form(
        name="verify_leak",
        version=1,
        title="Verify a leak flag",
        intro="A check marked words that may give the old object away. Say whether the text is free of a leak.",
        shows=(
            ShownText(name="edit", title="Edited fact (old object, then new object)"),
            ShownText(name="cut", title="Script up to the cut", style="script"),
            ShownText(name="flagged", title="Marked words"),
            ShownText(name="why", title="Why they were marked", optional=True),
        ),
        fields=(
            Field(
                name="clean",
                kind="yes_no",
                asks="Could the text stand unchanged if the new object were true?",
                hint="Yes: nothing in it points at the old object. No: something in it fits the old object only.",
            ),
            Field(
                name="reasons",
                kind="many",
                asks="What leaks?",
                required=False,
                choices=(
                    FieldOption(value="marked_words", text="The marked words"),
                    FieldOption(value="other_words", text="Other words (name them in the comment)"),
                ),
            ),
            COMMENT,
        ),
        reasons="reasons",
        comment_for="other_words",
    )

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every script prompt of an edited fact on which a check quotes leaking words."""
        stale = {item.id for item in store.stale()}
        for fact, prompt in edited_prompts(store):
            flags = [v for v in store.verdicts([prompt.id]) if v.spans and v.judged_by is None and v.id not in stale]
            flags = [v for v in flags if v.label in ("drop", "unsure")]
            if not flags:
                continue
            words = dict.fromkeys(s.text for v in flags for s in v.spans)
            yield TaskItem(
                id=prompt.id,
                case=fact.key,
                stratum=flags[0].check,
                shown={
                    "edit": edit_text(fact),
                    "cut": prompt.text + prompt.separator.rstrip(" "),
                    "flagged": " … ".join(words),
                    "why": "; ".join(dict.fromkeys(v.reason for v in flags if v.reason)),
                },
            )

    def suggest(self, verdicts: Sequence[Verdict]) -> dict[str, Any]:
        """A leak, where a check would drop the item for the words that it quotes."""
        dropped = [v for v in verdicts if v.spans and v.label == "drop" and v.judged_by is None]
        return {"clean": "no", "reasons": ["marked_words"]} if dropped else {}

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """``keep`` (no leak) or ``drop``, and the answer as a measurement."""
        return verdict_records(self.form, item, self.checked(item, answers), person=person)
