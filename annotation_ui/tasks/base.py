"""What a task is: a form, items out of the store, and answers into records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

from annotation_ui.tasks.forms import Answers, Field, FieldOption, Form
from annotation_ui.tasks.spans import FAIL, span_faults, stored_spans, with_spans
from schemas.core.errors import DataError
from schemas.core.records import Frozen, Record
from schemas.raters import Rater
from schemas.verdicts import Label, Span, Verdict, verdict_key

if TYPE_CHECKING:
    from curation.store.store import Store


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
        same_people: Campaigns of one group share items out alike, so that one person answers all of them.
        source_hint: What to do where a store has nothing for it.
        sets: Fields of several choices whose sets are compared, too (Jaccard index).
    """

    form: Form
    span_labels: ClassVar[tuple[FieldOption, ...]] = (FAIL,)
    blind: ClassVar[bool] = False
    about: ClassVar[str]
    level: ClassVar[str] = "nominal"
    after: ClassVar[tuple[str, ...]] = ()
    same_people: ClassVar[bool] = False
    sets: ClassVar[tuple[str, ...]] = ()
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

    def answer_of(self, field: Field, value: float) -> Any:
        """The answer that a stored measurement of a field stands for; ``records`` made the one of the other."""
        return "yes" if value == 1 else "no"

    @abstractmethod
    def items(self, store: Store) -> Iterator[TaskItem]:
        """What there is to judge in a store, in a stable order."""

    def suggest(self, verdict_records: Sequence[Verdict]) -> dict[str, Any]:
        """Answers that the checks' verdicts on an item suggest; empty for none. Shown to people on request only."""
        return {}

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """Records of answers to an item: ``keep`` or ``drop`` with the reasons, and each answer as a measurement.

        Raises:
            DataError: the answers do not pass the form.
        """
        return verdict_records(self.form, item, self.checked(item, answers), person=person)

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


def verdict_records(form: Form, item: TaskItem, answers: Mapping[str, Any], *, person: str) -> list[Record]:
    """A person's verdict on an item (keep when every yes/no is yes, else drop), and each answer as a measurement.

    The reason of a drop names the refused questions, the reasons chosen and the comment. Marked words are its spans.
    """
    criteria = [f for f in form.fields if f.kind == "yes_no"]
    refused = [f.name for f in criteria if answers.get(f.name) == "no"]
    chosen = list(answers.get(form.reasons or "", []))
    comment = str(answers.get("comment", ""))
    reason = "; ".join(x for x in (", ".join([*refused, *chosen]), comment) if x)
    label: Label = "drop" if refused else "keep"
    spans = stored_spans(form, answers)
    out = [person_verdict(form.name, form.version, item.id, person, label=label, reason=reason, spans=spans)]
    for field in criteria:
        value = 1.0 if answers[field.name] == "yes" else 0.0
        out.append(person_verdict(f"{form.name}_{field.name}", form.version, item.id, person, value=value))
    return list(out)


def person_verdict(
    name: str,
    version: int,
    item: str,
    person: str,
    *,
    label: Label | None = None,
    reason: str = "",
    value: float | None = None,
    unit: str = "yes",
    spans: tuple[Span, ...] = (),
) -> Verdict:
    """A person's verdict on an item, or measurement of it, under a name and version."""
    by = Rater.person(person).by(f"{name}@{version}")
    return Verdict(
        key=verdict_key(item_id=item, by=by),
        item_id=item,
        by=by,
        label=label,
        reason=reason,
        value=value,
        unit=None if value is None else unit,
        spans=spans,
    )
