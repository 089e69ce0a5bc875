"""What a task is: a form, items out of the store, and answers into records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

from annotation_ui.tasks.forms import FAIL, Answers, Field, FieldOption, Form, span_faults, stored_spans, with_spans
from schemas.core.errors import DataError
from schemas.core.records import Frozen, Record
from schemas.raters import Rater
from schemas.verdicts import Label, Span, Verdict, verdict_key

if TYPE_CHECKING:
    from curation.store.store import Store

Numbers = Mapping[str, Mapping[str, float]]


class TaskItem(Frozen):
    """One thing to judge.

    Attributes:
        id: Content id of the judged record.
        case: Key of the case or fact that it belongs to: the cluster of intervals.
        stratum: For sampling and for balanced assignment; never shown to raters.
        shown: Texts by name, just those that the form shows.
        related: Content ids of other records that are shown with it.
    """

    id: str
    case: str
    stratum: str = ""
    shown: Mapping[str, str]
    related: tuple[str, ...] = ()


class RatingTask(ABC):
    """A kind of work for people.

    Attributes:
        form: What is shown and asked.
        span_labels: What words can be marked as, in campaigns where they can be.
        blind: Raters must not see one another's answers at all: one Label Studio project a person.
        about: One line for lists.
        level: Scale level of its questions, for agreement: ``nominal`` or ``ordinal``.
        after: Tasks that come before it where both are asked of the same items: it shows what would bias them.
        same_people: Campaigns of one group assign items alike, so that one person answers all of them.
        of_sample: Its items are a quality sample, whose report counts the answers that are missing.
        source_hint: What to do where a store has nothing for it.
        sets: Fields of several choices whose sets are compared, too (Jaccard index).
        numbers: Numbers that stand for the answers of a ``one`` field, by field; without them they count from 0.
    """

    form: Form
    span_labels: ClassVar[tuple[FieldOption, ...]] = (FAIL,)
    blind: ClassVar[bool] = False
    about: ClassVar[str]
    level: ClassVar[str] = "nominal"
    after: ClassVar[tuple[str, ...]] = ()
    same_people: ClassVar[bool] = False
    of_sample: ClassVar[bool] = False
    sets: ClassVar[tuple[str, ...]] = ()
    numbers: ClassVar[Numbers] = {}
    source_hint: ClassVar[str] = "construct or import script prompts first: scedit construct"

    def with_spans(self) -> RatingTask:
        """The task with a form in which words can be marked too."""
        marking = copy(self)
        marking.form = with_spans(self.form, self.span_labels)
        return marking

    def judged(self, item: TaskItem) -> tuple[str, ...]:
        """Content ids of the records of the store that an item asks about, in the order in which they are shown."""
        return (item.id,)

    def part(self, item: TaskItem) -> str:
        """The part of the items that an item belongs to, where agreement is reported apart for each; empty: none."""
        return ""

    @abstractmethod
    def items(self, store: Store) -> Iterator[TaskItem]:
        """What there is to judge in a store, in a stable order."""

    def verdict(self, item: TaskItem, answers: Answers) -> tuple[Label, str]:
        """What checked answers say of an item, and why: ``drop`` if a yes/no question is answered no, else ``keep``.

        The reason names the questions answered no, the reasons chosen and the comment.
        """
        refused = [f.name for f in self.form.fields if f.kind == "yes_no" and answers.get(f.name) == "no"]
        chosen = answers.get(self.form.reasons or "", [])
        reason = join_reasons(", ".join([*refused, *chosen]), answers.get("comment"))
        return "drop" if refused else "keep", reason

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """Records of answers to an item: a verdict with its reason and marked words, and each answer as a measurement.

        Raises:
            DataError: the answers do not pass the form.
        """
        checked = self.checked(item, answers)
        label, reason = self.verdict(item, checked)
        spans = stored_spans(self.form, checked)
        out: list[Record] = []
        for judged in self.judged(item):
            out.append(self.person_verdict(judged, person, label=label, reason=reason, spans=spans))
            for field in self.form.asked_fields():
                if field.name in checked:
                    value, unit = self._number(field, checked[field.name])
                    out.append(self.person_verdict(judged, person, field.name, value=value, unit=unit))
        return out

    def marks(self, item: str, checked: Answers, person: str, *, related: tuple[str, ...] = ()) -> list[Record]:
        """The marked words of an answer as a verdict of its own, for tasks without a verdict on the item as a whole."""
        if not any(f.kind == "spans" for f in self.form.fields):
            return []
        spans = stored_spans(self.form, checked)
        count = float(len(spans))
        return [self.person_verdict(item, person, "spans", value=count, unit="marks", spans=spans, related=related)]

    def _number(self, field: Field, answer: Any) -> tuple[float, str]:
        """An answer as a stored number, and its unit."""
        if field.kind == "yes_no":
            return float(answer == "yes"), "yes"
        if field.kind == "scale":
            return float(answer), field.name
        numbers = self.numbers.get(field.name)
        return float(numbers[answer] if numbers else field.allowed.index(answer)), field.name

    def person_verdict(
        self,
        item: str,
        person: str,
        what: str = "",
        *,
        label: Label | None = None,
        reason: str = "",
        value: float | None = None,
        unit: str = "yes",
        spans: tuple[Span, ...] = (),
        related: tuple[str, ...] = (),
    ) -> Verdict:
        """A person's verdict on an item, or a measurement of it, under the form's name and version.

        Args:
            item: Content id of the judged record.
            person: Pseudonym.
            what: Which answer; empty for the verdict as a whole.
            label: Of a verdict.
            reason: Why.
            value: Of a measurement.
            unit: Of the value.
            spans: Marked words.
            related: Content ids of the other records that the verdict is about.
        """
        name = f"{self.form.name}_{what}" if what else self.form.name
        by = Rater.person(person).by(f"{name}@{self.form.version}")
        return Verdict(
            key=verdict_key(item_id=item, by=by, related=related),
            item_id=item,
            by=by,
            label=label,
            reason=reason,
            value=value,
            unit=None if value is None else unit,
            spans=spans,
            related=related,
        )

    def corrections(self, store: Store, item: TaskItem, answers: Mapping[str, Answers]) -> list[Record]:
        """New versions of what was judged, as all who judged it want them, and their verdicts on these.

        Args:
            store: Holds the judged record, and maybe a later version of it, which is then left alone.
            item: What was judged.
            answers: By person, those that the form passes: of all who were to judge it, or of the lead who decided.
        """
        return []

    def faults(self, item: TaskItem, answers: Answers) -> list[str]:
        """Everything that is wrong with answers to an item: by the form, and beside the item's texts."""
        return [*self.form.faults(answers), *span_faults(self.form, item.shown, answers)]

    def checked(self, item: TaskItem, answers: Answers) -> dict[str, Any]:
        """The answers, tidied, when the form passes them.

        Raises:
            DataError: they do not; says the first fault and how many more there are.
        """
        faults = self.faults(item, answers)
        if faults:
            more = f" (and {len(faults) - 1} more faults)" if len(faults) > 1 else ""
            raise DataError(faults[0] + more, where=f"{self.form.label} of item {item.id}", fix="answer it again")
        return self.form.clean(answers)


def join_reasons(*parts: object) -> str:
    """Reasons and a comment as one text; what is empty is left out.

    Example:
        >>> join_reasons("wording", None, "no verb")
        'wording; no verb'
    """
    return "; ".join(str(part) for part in parts if part)
