"""Verify a leak flag: does the text before the cut really give the old object away? (ScEdit Appendix B.2.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from annotation_ui.tasks.base import RatingTask, TaskItem, person_verdict
from annotation_ui.tasks.forms import (
    Answers,
    Field,
    read_form,
)
from annotation_ui.tasks.spans import LEAK, stored_spans
from annotation_ui.tasks.store_items import edit_text, edited_prompts
from schemas.core.records import Record
from schemas.verdicts import Label, Verdict

if TYPE_CHECKING:
    from curation.store.store import Store


LEAKS, CLEAN = "leaks", "clean"


class VerifyLeakFlag(RatingTask):
    """A check has quoted words that may leak; a person says whether they do. It shows the quote: that is the task."""

    about = "Confirm or reject flags of leaking knowledge"
    span_labels = (LEAK,)
    form = read_form("verify_leak")

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
        return {"leak": LEAKS, "reasons": ["marked_words"]} if dropped else {}

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """``keep`` (no leak) or ``drop``, and the answer as a measurement: 1 where it leaks."""
        checked = self.checked(item, answers)
        leaks = checked["leak"] == LEAKS
        words = [", ".join(checked.get("reasons", [])) if leaks else "", str(checked.get("comment", ""))]
        reason = "; ".join(w for w in words if w)
        label: Label = "drop" if leaks else "keep"
        name, version, spans = self.form.name, self.form.version, stored_spans(self.form, checked)
        return [
            person_verdict(name, version, item.id, person, label=label, reason=reason, spans=spans),
            person_verdict(f"{name}_leak", version, item.id, person, value=float(leaks)),
        ]

    def answer_of(self, field: Field, value: float) -> Any:
        """Whether a stored number says that it leaks."""
        return LEAKS if value == 1 else CLEAN
