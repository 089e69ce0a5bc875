"""The quality sample by the paper's three criteria (ScEdit Appendix B.2.2), as ``scedit split sample`` draws it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.forms import (
    Answers,
    read_form,
)
from annotation_ui.tasks.store_items import edit_text, edited_prompts, question_of
from schemas.core.records import Record
from schemas.generated_scripts import GeneratedScript
from schemas.text.raw_text import raw_text
from schemas.verdicts import Verdict

if TYPE_CHECKING:
    from curation.store.store import Store

COMPARED = "compared the scripts before and after an edit"
HYPOTHETICAL = "answered hypothetically: no scripts before and after an edit were shown"


class QualitySample(RatingTask):
    """Three criteria. The second compares scripts before and after an edit where the store has such a pair."""

    about = "Judge the quality sample of a split by the paper's three criteria"
    form = read_form("quality")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """The items of the samples that the store knows; all prompts of edited facts where none was drawn yet."""
        from curation.quality.sample import samples

        drawn = {d.item_id: d.stratum for sample in samples(store) for d in sample.items}
        for fact, prompt in edited_prompts(store):
            if drawn and prompt.id not in drawn:
                continue
            pair = _pair(store, prompt.question)
            yield TaskItem(
                id=prompt.id,
                case=fact.key,
                stratum=drawn.get(prompt.id, f"{fact.relation.id} {fact.change}"),
                shown={
                    "edit": edit_text(fact),
                    "question": question_of(store, prompt),
                    "cut": prompt.text + prompt.separator.rstrip(" "),
                    **({"before": raw_text(pair[0].text), "after": raw_text(pair[1].text)} if pair else {}),
                },
                related=tuple(g.id for g in pair) if pair else (),
            )

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """``keep`` or ``drop``, and each answer; the second says whether two scripts were compared or imagined."""
        basis = {"reason": COMPARED if item.related else HYPOTHETICAL, "related": item.related}
        return [
            v.model_copy(update=basis) if isinstance(v, Verdict) and v.check == "quality_change" else v
            for v in super().records(item, answers, person=person)
        ]


def _pair(store: Store, question: str | None) -> tuple[GeneratedScript, GeneratedScript] | None:
    """A model's scripts before and after an edit, for one question: the first model and editor that has both."""
    if question is None:
        return None
    scripts = list(store.all(GeneratedScript, parent=question))
    for after in (g for g in scripts if g.edited):
        for before in (g for g in scripts if not g.edited and g.model == after.model and g.sample == after.sample):
            return before, after
    return None
