"""What the rating tasks share: generated scripts as items, fields with points, answers as ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from annotation_ui.tasks.base import RatingTask, TaskItem
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.generated_scripts import GeneratedScript
from schemas.raters import Rater
from schemas.ratings import SCRIPT, Rating, Rubric
from schemas.scripts import ScriptQuestion
from schemas.text.raw_text import raw_text

if TYPE_CHECKING:
    from curation.store.store import Store


class ScaleTask(RatingTask):
    """A task whose answers are ratings by a rubric, given blind to method, model and judge."""

    blind = True
    level = "ordinal"
    rubric: ClassVar[Rubric] = SCRIPT

    def records(self, item: TaskItem, answers: Mapping[str, Any], *, person: str) -> list[Record]:
        """A rating of every aspect; the comment is their reason. Of a pair it names both texts.

        If words can be marked, a verdict of its own (``..._spans``) counts and stores them: ratings have no positions.
        """
        checked = self.checked(item, answers)
        rater, pair = Rater.person(person).stored, self.rubric.rates_pairs
        rated = "~".join((item.id, *item.related)) if pair else item.id
        ratings: list[Record] = [
            Rating(
                key=f"rating/{self.form.label}/{rater}/{field.name}/{rated}",
                item_id=item.id,
                aspect=field.name,
                scale=self.rubric.scale,
                value=int(checked[field.name]),
                rater=rater,
                form=self.form.label,
                reason=str(checked.get("comment", "")),
                rubric=self.rubric.name,
                before_id=item.related[0] if pair else None,
            )
            for field in self.form.asked_fields()
        ]
        return [*ratings, *self.marks(item.id, checked, person)]


class ScriptRating(ScaleTask):
    """A task whose items are generated scripts, as the models wrote them.

    Attributes:
        script_alone: Show the script and nothing else.
    """

    script_alone: ClassVar[bool] = False

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every generated script that is not a refusal."""
        yield from generated_items(store, blind_to_fact=self.script_alone)


def generated_items(store: Store, *, blind_to_fact: bool) -> Iterator[TaskItem]:
    """Every generated script that is not a refusal, with what may be seen.

    Neither method nor model nor the pre/post tag is shown. All scripts of a case stand beside the same new fact, which
    Coherence asks for (Figure 9); only the object that Completeness takes as true (Figure 11) depends on the script.

    Args:
        store: Where the scripts are.
        blind_to_fact: Show the script and nothing else.
    """
    for generated in store.all(GeneratedScript):
        if generated.refused or not generated.text.strip():
            continue
        script = raw_text(generated.text)
        texts = {"script": script} if blind_to_fact else {**script_context(store, generated), "script": script}
        yield TaskItem(
            id=generated.id, case=generated.case, stratum=f"{generated.model} {generated.editor}", shown=texts
        )


def script_context(store: Store, script: GeneratedScript) -> dict[str, str]:
    """What is shown around a script: question, new fact, both objects, and the one that Completeness goes by."""
    question, fact = store.get(script.question), store.get(script.fact)
    if not isinstance(question, ScriptQuestion) or not isinstance(fact, Fact):
        raise UserError(
            f"the script '{script.key}' belongs to no question and fact of the store", where=str(store.path)
        )
    if fact.new is None:
        raise UserError(f"the script '{script.key}' is of a fact that is not edited", where=fact.key)
    return {
        "question": question.text,
        "fact": f"{fact.fact_prompt} {fact.new.text}",
        "new": fact.new.text,
        "old": fact.old.text,
        "counts": (fact.new if script.edited else fact.old).text,
    }
