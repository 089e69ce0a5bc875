"""The quality sample by the paper's three criteria (ScEdit Appendix B.2.2), as ``scedit split sample`` draws it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import RatingTask, TaskItem, verdict_records
from annotation_ui.tasks.forms import AS_WRITTEN, COMMENT, Answers, Field, Form, ShownText
from annotation_ui.tasks.store_items import edit_text, edited_prompts, question_of
from schemas.core.records import Record
from schemas.generated_scripts import GeneratedScript
from schemas.ratings import Shown
from schemas.text.raw_text import raw_text
from schemas.verdicts import Verdict

if TYPE_CHECKING:
    from curation.store.store import Store

COMPARED = "compared the scripts before and after an edit"
HYPOTHETICAL = "answered hypothetically: no scripts before and after an edit were shown"


def _form(version: int, *, intro: str) -> Form:
    return Form(
        name="quality",
        version=version,
        title="Judge the quality of an item",
        intro=intro,
        shows=(
            ShownText(name="edit", title="Edited fact (old object, then new object)"),
            ShownText(name="question", title="Script question"),
            ShownText(name="cut", title="Script up to the cut", style="script"),
            ShownText(name="before", title="A model's script before an edit", style="script", optional=True),
            ShownText(name="after", title="The same model's script after it", style="script", optional=True),
        ),
        fields=(
            Field(name="question", kind="yes_no", asks="Is the script question meaningful?"),
            Field(
                name="change",
                kind="yes_no",
                asks="Do the scripts before and after the edit differ clearly?",
                hint="Where no two scripts are shown: would a good script differ clearly?",
            ),
            Field(
                name="cut", kind="yes_no", asks="Does the text up to the cut lead to the object as its continuation?"
            ),
            COMMENT,
        ),
        comment_on_no=True,
    )


_INTRO = "Three questions on one item of the split. A no needs words: say why in the comment."


class QualitySample(RatingTask):
    """Three criteria. The second compares scripts before and after an edit where the store has such a pair."""

    about = "Judge the quality sample of a split by the paper's three criteria"
    form = _form(2, intro=f"{_INTRO} {AS_WRITTEN}")
    shown: Shown = "raw"

    def with_form(self, label: str) -> RatingTask:
        """Version 1 showed the parsed steps."""
        return QualitySampleSteps() if label == QualitySampleSteps.form.label else self

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
                    **({"before": self._script(pair[0]), "after": self._script(pair[1])} if pair else {}),
                },
                related=tuple(g.id for g in pair) if pair else (),
            )

    def _script(self, script: GeneratedScript) -> str:
        return raw_text(script.text) if self.shown == "raw" else script.shown_steps

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """``keep`` or ``drop``, and each answer; the second says whether two scripts were compared or imagined."""
        records = verdict_records(self.form, item, self.checked(item, answers), person=person)
        return [
            _mark_verdict(v, item) if isinstance(v, Verdict) and v.check == "quality_change" else v for v in records
        ]


class QualitySampleSteps(QualitySample):
    """The form of version 0.1.0, for campaigns that were made with it."""

    form = _form(1, intro=_INTRO)
    shown = "steps"


def _mark_verdict(verdict: Verdict, item: TaskItem) -> Verdict:
    if item.related:
        return verdict.model_copy(update={"reason": COMPARED, "related": item.related})
    return verdict.model_copy(update={"reason": HYPOTHETICAL})


def _pair(store: Store, question: str | None) -> tuple[GeneratedScript, GeneratedScript] | None:
    """A model's scripts before and after an edit, for one question: the first model and editor that has both."""
    if question is None:
        return None
    scripts = list(store.all(GeneratedScript, parent=question))
    for after in (g for g in scripts if g.edited):
        for before in (g for g in scripts if not g.edited and g.model == after.model and g.sample == after.sample):
            return before, after
    return None
