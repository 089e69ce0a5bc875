"""Verify a leak flag: does the text before the cut really give the old object away? (ScEdit Appendix B.2.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from annotation_ui.tasks.base import Numbers, RatingTask, TaskItem, join_reasons
from annotation_ui.tasks.forms import (
    Answers,
    read_form,
)
from annotation_ui.tasks.spans import LEAK
from annotation_ui.tasks.store_items import edit_text, edited_prompts
from schemas.verdicts import Label

if TYPE_CHECKING:
    from curation.store.store import Store


LEAKS, CLEAN = "leaks", "clean"


class VerifyLeakFlag(RatingTask):
    """A check has quoted words that may leak; a person says whether they do. It shows the quote: that is the task."""

    about = "Confirm or reject flags of leaking knowledge"
    span_labels = (LEAK,)
    form = read_form("verify_leak")
    numbers: ClassVar[Numbers] = {"leak": {CLEAN: 0.0, LEAKS: 1.0}}

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

    def verdict(self, item: TaskItem, answers: Answers) -> tuple[Label, str]:
        """``drop`` if it leaks, with the words that do, else ``keep``."""
        leaks = answers["leak"] == LEAKS
        reasons = answers.get("reasons", []) if leaks else []
        return "drop" if leaks else "keep", join_reasons(", ".join(reasons), answers.get("comment"))
