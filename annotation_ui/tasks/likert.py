"""What the rating tasks share: generated scripts as items, fields with points, answers as ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from annotation_ui.tasks.base import RatingTask, TaskItem, person_verdict
from annotation_ui.tasks.forms import Form
from annotation_ui.tasks.spans import stored_spans
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
        """A rating of every aspect."""
        return rating_records(self.form, item, self.checked(item, answers), person=person, rubric=self.rubric)


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


def rating_records(
    form: Form, item: TaskItem, answers: Mapping[str, Any], *, person: str, rubric: Rubric = SCRIPT
) -> list[Record]:
    """A rating for every aspect of the form; the comment stands as their reason. Of a pair it names both texts.

    Where words can be marked, a verdict of its own (``..._spans``) counts and keeps them: ratings have no places.
    """
    spans = stored_spans(form, answers)
    marks = [
        person_verdict(
            f"{form.name}_spans", form.version, item.id, person, value=float(len(spans)), unit="marks", spans=spans
        )
        for f in form.fields
        if f.kind == "spans"
    ]
    rated = "~".join((item.id, *item.related)) if rubric.rates_pairs else item.id
    ratings = [
        Rating(
            key=rating_key(
                item=rated,
                aspect=field.name,
                form=form.label,
                rater=Rater.person(person).stored,
            ),
            item_id=item.id,
            aspect=field.name,
            scale=rubric.scale,
            value=int(answers[field.name]),
            rater=Rater.person(person).stored,
            form=form.label,
            reason=str(answers.get("comment", "")),
            rubric=rubric.name,
            before_id=item.related[0] if rubric.rates_pairs else None,
        )
        for field in form.asked_fields()
    ]
    return [*ratings, *marks]


def rating_key(*, item: str, aspect: str, form: str, rater: str) -> str:
    """The identity of a rating: who rated what, on which aspect, under which form. Rating again replaces it."""
    return f"rating/{form}/{rater}/{aspect}/{item}"
