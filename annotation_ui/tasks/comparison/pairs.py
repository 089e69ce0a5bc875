"""Pairs of generated scripts as items, and answers about them as verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.likert import script_context
from schemas.core.ids import content_id, seed
from schemas.core.records import Record
from schemas.generated_scripts import GeneratedScript
from schemas.text.raw_text import raw_text

if TYPE_CHECKING:
    from curation.store.store import Store

FIRST, SECOND, TIE = "first", "second", "tie"
OUTCOMES = {FIRST: 1.0, SECOND: 0.0, TIE: 0.5}
UNIT = "preference"
"""Of a stored outcome: 1 where the script that the verdict is on was better, 0 where the other, 0.5 for a tie."""


def method_of(script: GeneratedScript) -> str:
    """What is compared: model and editing method."""
    return f"{script.model} {script.editor}"


def pair_items(store: Store, *, blind_to_fact: bool) -> Iterator[TaskItem]:
    """Every two scripts of one question, case and sample number that two methods wrote, refusals left out.

    Which one is A is drawn by a seed of the two, the same in every campaign, and recorded: ``related`` holds A and B.
    """
    groups: dict[tuple[str, str, int], list[GeneratedScript]] = defaultdict(list)
    for script in store.all(GeneratedScript):
        if not script.refused and script.text.strip():
            groups[script.case, script.question, script.sample].append(script)
    for scripts in groups.values():
        ordered = sorted(scripts, key=lambda s: (method_of(s), s.id))
        for one, other in combinations(ordered, 2):
            if method_of(one) == method_of(other):
                continue
            turned = seed("compare", *sorted((one.id, other.id))) % 2
            a, b = (other, one) if turned else (one, other)
            around = {} if blind_to_fact else script_context(store, one)
            texts = {k: v for k, v in around.items() if k != "counts"}
            yield TaskItem(
                id=content_id("pair", [a.id, b.id]),
                case=one.case,
                stratum=f"{method_of(one)} | {method_of(other)}",
                shown={**texts, FIRST: raw_text(a.text), SECOND: raw_text(b.text)},
                related=(a.id, b.id),
            )


class ComparisonTask(RatingTask):
    """A task whose items are pairs. Its records are measurements on one script in relation to the other.

    Attributes:
        script_alone: Show the scripts and nothing else.
    """

    blind = True
    script_alone: ClassVar[bool] = False

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every pair, as the models wrote them."""
        yield from pair_items(store, blind_to_fact=self.script_alone)

    def judged(self, item: TaskItem) -> tuple[str, ...]:
        """A and B, in the order in which they were shown."""
        return item.related

    def records(self, item: TaskItem, answers: Mapping[str, Any], *, person: str) -> list[Record]:
        """An outcome for every aspect; ``unscored`` where the person could not judge.

        It is on the script with the smaller id, whichever was A, so that a pair has one verdict a person and aspect.
        """
        clean = self.checked(item, answers)
        comment = str(clean.get("comment", ""))
        on, other = sorted(item.related)
        out: list[Record] = []
        for field in self.form.asked_fields():
            outcome = OUTCOMES.get(clean[field.name])
            fields: dict[str, Any] = {"label": "unscored", "reason": comment or "cannot judge"}
            if outcome is not None:
                value = outcome if on == item.related[0] else 1.0 - outcome
                fields = {"value": value, "unit": UNIT, "reason": comment}
            out.append(self.person_verdict(on, person, field.name, related=(other,), **fields))
        return [*out, *self.marks(on, clean, person, related=(other,))]
