"""From live answers to the store: every answer passes the form again, and what does not goes into a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from annotation_ui.campaigns.campaign import campaign_task, form_task
from annotation_ui.campaigns.settled_items import SettledItem, settled_answers
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.records import Adjudication, CampaignItem, Revision
from annotation_ui.tasks.base import RatingTask, TaskItem
from schemas.core.errors import DataError
from schemas.core.records import Record
from schemas.lineage import Lineage
from schemas.raters import ADJUDICATED, Rater
from schemas.ratings import Rating
from schemas.verdicts import Verdict

if TYPE_CHECKING:
    from curation.store.store import Store

STAGE = "annotation"


class RejectedAnswer(NamedTuple):
    """An answer that did not get into the store, and why."""

    person: str
    item: str
    why: str


class RaterAnswer(NamedTuple):
    """One answer on its way into the store, wherever it was given.

    Attributes:
        item: What was judged.
        person: Pseudonym.
        answers: As they were given.
        form: ``name@version`` of the form they were given to.
        saved_at: When.
        seconds: Time taken, None where unknown.
        origin: Where from: ``ratings file``, ``label studio`` ...
        probability: With which the item was sampled; None where that is unknown.
        lead: Whether it is a lead's decision between the answers of others.
    """

    item: TaskItem
    person: str
    answers: dict[str, object]
    form: str
    saved_at: str
    seconds: float | None
    origin: str
    probability: float | None = None
    lead: bool = False


class ImportResult(NamedTuple):
    """What came of an import.

    Attributes:
        answers: Answers imported.
        new: Records new in the store.
        rejected: Answers that were not taken, each with its reason.
        superseded: Earlier revisions of answers, and withdrawn answers, which stay in the ratings file.
        outdated: Answers about a text that has another version by now: they count for the earlier one alone.
    """

    answers: int
    new: int
    rejected: tuple[RejectedAnswer, ...]
    superseded: int = 0
    outdated: int = 0


def import_campaign(db: RatingsDB, store: Store, name: str) -> ImportResult:
    """Bring a campaign's current answers into the store; again it adds only what is new.

    Training and attention items stay out: they are no items of the store.
    """
    campaign, items = db.campaign(name), db.items(name)
    task = form_task(campaign)
    if campaign.form == task.form.label:
        campaign_task(db, name)  # changed under its version: nobody can say what was asked
    current, decisions = db.current_answers(name), db.adjudications(name)
    answers, stray = _answers_and_decisions(current, decisions, items, task, store)
    result = import_answers(store, task, answers)
    judged = [task.judged(g.item) for g in answers if not g.lead]
    former = store.former(record for records in judged for record in records)
    settled = settled_answers(task, items, current=current, assigned=db.assignments(name), decisions=decisions)
    return result._replace(
        new=result.new + _add_corrections(settled, store, task),
        rejected=(*result.rejected, *stray),
        outdated=sum(not former.isdisjoint(records) for records in judged),
        superseded=len(db.history(name)) - len(current),
    )


def _answers_and_decisions(
    current: Sequence[Revision],
    decisions: Mapping[str, Adjudication],
    items: Mapping[str, CampaignItem],
    task: RatingTask,
    store: Store,
) -> tuple[list[RaterAnswer], list[RejectedAnswer]]:
    """Answers to real items and the lead's decisions, and those that are not even tried, each with its reason."""
    out, stray = [], []
    texts_now = {item.id: item.shown for item in task.items(store)}
    for r in current:
        placed = items.get(r.item)
        if placed is None:
            stray.append(RejectedAnswer(r.person, r.item, "the campaign has no such item"))
        elif placed.purpose == "real" and texts_now.get(r.item, placed.item.shown) != placed.item.shown:
            stray.append(RejectedAnswer(r.person, r.item, "the texts shown with it have changed since: ask again"))
        elif placed.purpose == "real":
            given, at = r.answers or {}, placed.probability
            out.append(RaterAnswer(placed.item, r.person, given, r.form, r.saved_at, r.seconds, "ratings file", at))
    for d in decisions.values():
        if d.item not in items:
            stray.append(RejectedAnswer(d.lead, d.item, "the campaign has no such item"))
            continue
        item, form = items[d.item].item, task.form.label
        out.append(RaterAnswer(item, d.lead, d.answers, form, d.saved_at, None, "adjudication", lead=True))
    return out, stray


def _add_corrections(settled: Sequence[SettledItem], store: Store, task: RatingTask) -> int:
    """Add new versions of what people corrected, with their verdicts on these; returns how many records are new."""
    records: list[Record] = []
    lines: list[Lineage] = []
    for one in settled:
        corrected = task.corrections(store, one.item, one.answers)
        if one.lead:
            corrected = [_adjudicated(r, task) if isinstance(r, Verdict) else r for r in corrected]
        detail = {"form": task.form.label, "origin": "correction", "case": one.item.case}
        request = f"correction/{one.settled_at}"
        records += corrected
        lines += [
            Lineage(
                item_id=record.id,
                stage=STAGE,
                made_at=one.settled_at,
                parents=(one.item.id,),
                detail=detail,
                request=request,
            )
            for record in corrected
        ]
    return store.put(records, lines).new


def _adjudicated(record: Record, task: RatingTask) -> Record:
    """The same record, of a lead who decides between others: its form's name says so.

    Its key names neither the lead nor the form's version: the newest decision on an item replaces all before it. The
    name is changed in the form, never in the lead's own name: a lead may be called like a form.
    """
    name = task.form.name

    def renamed(form: str) -> str:
        return form.replace(name, f"{name}_{ADJUDICATED}", 1)

    if isinstance(record, Verdict):
        person, slash, form = record.by.rpartition("/")
        by = f"{person}{slash}{renamed(form)}"
        return record.model_copy(
            update={"by": by, "key": record.key.replace(record.by, _unversioned(renamed(form)), 1)}
        )
    assert isinstance(record, Rating)
    form = renamed(record.form)
    key = record.key.replace(f"{record.form}/{record.rater}", _unversioned(form), 1)
    return record.model_copy(update={"form": form, "key": key})


def _unversioned(form: str) -> str:
    return form.partition("@")[0]


def import_answers(store: Store, task: RatingTask, answers: Sequence[RaterAnswer]) -> ImportResult:
    """Put answers into the store as verdicts or ratings with their lineage, in one transaction.

    Checked: the form's version must be the task's, the item must be in the store, the answers must pass the form.
    """
    records: list[Record] = []
    lines: list[Lineage] = []
    rejected, imported = [], 0
    known = store.known(j for g in answers for j in task.judged(g.item))
    for g in answers:
        if g.form != task.form.label:
            rejected.append(RejectedAnswer(g.person, g.item.id, _other_form(g.form, task)))
            continue
        if not known.issuperset(task.judged(g.item)):
            rejected.append(RejectedAnswer(g.person, g.item.id, "the store has no such item"))
            continue
        try:
            new_records = task.records(g.item, g.answers, person=g.person)
        except DataError as error:
            why = f"a lead's decision: {error.what}" if g.lead else error.what
            rejected.append(RejectedAnswer(g.person, g.item.id, why))
            continue
        new_records = [_adjudicated(r, task) for r in new_records] if g.lead else new_records
        imported += not g.lead
        records += new_records
        lines += [_line(g, record, task) for record in new_records]
    put = store.put(records, lines)
    return ImportResult(imported, put.new, tuple(rejected))


def _other_form(form: str, task: RatingTask) -> str:
    """Why an answer to another form does not count here, and where it does.

    Versions of a form ask other things or show another text (parsed steps, raw text), so they are never mixed.
    """
    label = task.form.label
    if form.partition("@")[0] != task.form.name:
        return f"given to the form {form}, this campaign has {label}: import it with a campaign of that form"
    return (
        f"given to the form {form}, this campaign has {label}, which asks or shows something else: import it with a "
        f"campaign made with {form} (in its own ratings file), or have the item answered again under {label}"
    )


def _line(g: RaterAnswer, record: Record, task: RatingTask) -> Lineage:
    detail: dict[str, object] = {"form": g.form, "seconds": g.seconds, "origin": g.origin, "case": g.item.case}
    if g.probability is not None:
        detail["probability"] = g.probability
    if Rater.person(g.person).is_program:
        detail["synthetic"] = True
    request = f"{g.origin}/{g.saved_at}"
    parents = tuple(dict.fromkeys((*task.judged(g.item), *g.item.related)))  # two scripts in the order of showing
    return Lineage(item_id=record.id, stage=STAGE, made_at=g.saved_at, parents=parents, detail=detail, request=request)
