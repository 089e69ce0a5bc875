"""Screen script questions before any script is written, as the paper does (ScEdit §3.2.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.forms import (
    read_form,
)
from annotation_ui.tasks.spans import FAIL, LEAK
from annotation_ui.tasks.store_items import edit_text
from schemas.facts import Fact
from schemas.scripts import Script, ScriptQuestion

if TYPE_CHECKING:
    from curation.store.store import Store


class ScreenQuestion(RatingTask):
    """Is the question worth a script? ``scedit construct`` writes none for those that people drop."""

    about = "Screen script questions before scripts are written"
    span_labels = (LEAK, FAIL)
    form = read_form("screen_question")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every question of a fact that is to be edited, without a script, that no check has dropped."""
        scripted = {script.question for script in store.all(Script)}
        dropped = {v.item_id for v in store.verdicts(stale=False) if v.label == "drop" and v.judged_by is None}
        facts: dict[str, Fact] = {}
        for question in store.all(ScriptQuestion):
            if question.key in scripted or question.id in dropped:
                continue
            if question.fact not in facts:
                edited_fact = store.get(question.fact)
                assert isinstance(edited_fact, Fact)
                facts = {question.fact: edited_fact}  # questions come in order of keys: one fact at a time is enough
            fact = facts[question.fact]
            if fact.new is not None and fact.id not in dropped:  # dropped: it only serves as a neighbour
                yield TaskItem(
                    id=question.id,
                    case=fact.key,
                    stratum=f"{fact.relation.id} {fact.change}",
                    shown={"edit": edit_text(fact), "question": question.text},
                )
