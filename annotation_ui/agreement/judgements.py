"""Judgements: single answers by rater, item and aspect: of people from the ratings file, of judges from the store."""

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


def judgements_by_judges(store: Store, task: RatingTask, people: Sequence[Judgement]) -> list[Judgement]:
    """What judges said, by the store, of the items that people answered; with the people's case."""
    from schemas.ratings import Rating, rubric_of

    cases = {m.item: m.case for m in people}
    aspects = {f.name for f in task.form.asked_fields()}
    rubric = rubric_of(aspects) if task.level == "ordinal" else None
    if rubric is None:
        return []
    return [
        Judgement(r.item_id, cases[r.item_id], r.rated_by, r.aspect, r.value)
        for r in store.all(Rating)
        if r.rated_by.is_judge
        and r.rubric == rubric.name
        and r.aspect in aspects
        and r.item_id in cases
        and r.value is not None
    ]


def judgement_table(judgements: Iterable[Judgement], task: RatingTask, aspect: str) -> RatingTable:
    """The judgements of one aspect as a table for ``curation.stats``."""
    mine = [m for m in judgements if m.aspect == aspect]
    scale: tuple[Category, ...] = task.form.field(aspect).categories
    rows = [(m.item, m.name, m.value) for m in mine]
    return rating_table(rows, cases={m.item: m.case for m in mine}, scale=scale)
