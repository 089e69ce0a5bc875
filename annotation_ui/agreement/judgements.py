"""Judgements: single answers by person, item and aspect, read from live answers or from the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from annotation_ui.campaigns.campaign import campaign_task, task_of
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.base import RatingTask
from curation.stats.rating_table import Category, RatingTable, rating_table
from schemas.raters import Rater

if TYPE_CHECKING:
    from curation.store.store import Store


class Judgement(NamedTuple):
    """One answer of one person to one question about one item.

    Attributes:
        item: Content id.
        case: The cluster of intervals.
        rater: Who answered.
        aspect: Name of the form's field.
        value: ``yes``, ``no``, the number on the scale, or the choices of a set (``task.sets``), divided by commas.
        at: When it was saved.
        seconds: Time that the whole item took.
        part: Of the items, where agreement is reported apart for each ("in scope"); empty: none.
    """

    item: str
    case: str
    rater: Rater
    aspect: str
    value: Category
    at: str = ""
    seconds: float | None = None
    part: str = ""

    @property
    def name(self) -> str:
        """Of the rater, in tables: a pseudonym, or ``judge:MODEL``."""
        return self.rater.label


def live_judgements(db: RatingsDB, name: str) -> list[Judgement]:
    """The current answers of a campaign's real items, as far as the form can read them (see ``unreadable_answers``)."""
    task, items = campaign_task(db, name), db.items(name)
    out = []
    for r in db.current_answers(name):
        placed = items.get(r.item)
        if placed is None or placed.purpose != "real" or not r.answers or r.form != task.form.label:
            continue
        rater, part = Rater.person(r.person), task.part(placed.item)
        base = Judgement(r.item, placed.item.case, rater, "", "", r.saved_at, r.seconds, part)
        for field in task.form.asked_fields():
            value = r.answers.get(field.name)
            if field.name in r.answers and value is not None and not field.fault(value):
                out.append(base._replace(aspect=field.name, value=value))
        for name in task.sets:
            chosen = r.answers.get(name) or ()
            if not task.form.field(name).fault(chosen):
                out.append(base._replace(aspect=name, value=", ".join(chosen)))
    return out


def unreadable_answers(db: RatingsDB, name: str) -> int:
    """How many current answers of a campaign the form cannot read, or belong to no item; statistics leave them out."""
    form, items = task_of(db, name).form, db.items(name)
    return sum(
        r.item not in items or r.form != form.label or bool(form.faults(r.answers or {}))
        for r in db.current_answers(name)
    )


def stored_judgements(store: Store, task: RatingTask) -> list[Judgement]:
    """What the store holds of a task: ratings (of judges too) or verdicts of people, with time and case by lineage."""
    from schemas.core.records import Record
    from schemas.ratings import Rating, rubric_of
    from schemas.verdicts import Verdict

    form, out = task.form, []
    lines = {line.item_id: line for line in store.lineages(stage="annotation")}

    def judgement(record: Record, item: str, rater: Rater, aspect: str, value: Category) -> Judgement:
        line = lines.get(record.id)
        seconds = line.detail.get("seconds") if line else None
        case = str(line.detail.get("case", item)) if line else item
        at = str(line.detail.get("saved_at", line.made_at)) if line else ""
        return Judgement(item, case, rater, aspect, value, at, seconds)

    if task.level == "ordinal":
        names = {f.name for f in form.asked_fields()}
        rubric = rubric_of(names)
        for rating in store.all(Rating):
            if rubric is not None and rating.rubric != rubric.name:
                continue
            if rating.aspect in names and rating.value is not None and rating.rated_by.kind != "adjudicated":
                out.append(judgement(rating, rating.item_id, rating.rated_by, rating.aspect, rating.value))
        return _one_case(out)
    fields = {f"{form.name}_{f.name}": f for f in form.asked_fields()}
    for verdict in store.all(Verdict):
        rater = verdict.judged_by
        if rater is not None and verdict.check in fields and verdict.value is not None:
            field = fields[verdict.check]
            value = task.answer_of(field, verdict.value)
            out.append(judgement(verdict, verdict.item_id, rater, field.name, value))
    return _one_case(out)


def judgements_by_judges(store: Store, task: RatingTask, people: Sequence[Judgement]) -> list[Judgement]:
    """What judges said, by the store, of the items that people answered; with the people's case."""
    cases = {m.item: m.case for m in people}
    if task.level != "ordinal":
        return []
    by_judges = (m for m in stored_judgements(store, task) if m.rater.is_judge and m.item in cases)
    return [m._replace(case=cases[m.item]) for m in by_judges]


def _one_case(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Judgements of an item share the case that any of them knows (a judge's rating has no lineage of ours)."""
    known = {m.item: m.case for m in judgements if m.case != m.item}
    return [m._replace(case=known.get(m.item, m.case)) for m in judgements]


def judgement_table(judgements: Iterable[Judgement], task: RatingTask, aspect: str) -> RatingTable:
    """The judgements of one aspect as a table for ``curation.stats``."""
    mine = [m for m in judgements if m.aspect == aspect]
    scale: tuple[Category, ...] = task.form.field(aspect).categories
    rows = [(m.item, m.name, m.value) for m in mine]
    return rating_table(rows, cases={m.item: m.case for m in mine}, scale=scale)
