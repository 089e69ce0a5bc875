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
    """

    item: TaskItem
    person: str
    answers: dict[str, object]
    form: str
    saved_at: str
    seconds: float | None
    origin: str
    probability: float | None = None


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
    answers_to_import, stray = [], []
    current = db.current_answers(name)
    texts_now = {item.id: item.shown for item in task.items(store)}
    for r in current:
        placed = items.get(r.item)
        if placed is None:
            stray.append(RejectedAnswer(r.person, r.item, "the campaign has no such item"))
        elif placed.purpose == "real" and texts_now.get(r.item, placed.item.shown) != placed.item.shown:
            stray.append(RejectedAnswer(r.person, r.item, "the texts shown with it have changed since: ask again"))
        elif placed.purpose == "real":
            answers_to_import.append(_to_answer(r, placed.item, placed.probability))
    result = import_answers(store, task, answers_to_import)
    judged = {g.item.id: task.judged(g.item) for g in answers_to_import}
    former = store.former(record for records in judged.values() for record in records)
    outdated = sum(not former.isdisjoint(judged[g.item.id]) for g in answers_to_import)
    result = result._replace(rejected=(*result.rejected, *stray), outdated=outdated)
    decisions = db.adjudications(name)
    result = _add_decisions(decisions, items, store, task, result)
    settled = settled_answers(task, items, current=current, assigned=db.assignments(name), decisions=decisions)
    result = _add_corrections(settled, store, task, result)
    history = len(db.history(name)) - len(current)
    return result._replace(superseded=history)


def _to_answer(r: Revision, item: TaskItem, probability: float | None) -> RaterAnswer:
    return RaterAnswer(item, r.person, r.answers or {}, r.form, r.saved_at, r.seconds, "ratings file", probability)


def _add_decisions(
    decisions: Mapping[str, Adjudication],
    items: Mapping[str, CampaignItem],
    store: Store,
    task: RatingTask,
    result: ImportResult,
) -> ImportResult:
    """Adds the lead's decisions: records of their own, under a form of their own, outside all agreement."""
    records: list[Record] = []
    lines: list[Lineage] = []
    rejected = []
    for decision in decisions.values():
        if decision.item not in items:
            rejected.append(RejectedAnswer(decision.lead, decision.item, "the campaign has no such item"))
            continue
        item = items[decision.item].item
        answer = RaterAnswer(
            item, decision.lead, decision.answers, task.form.label, decision.saved_at, None, "adjudication"
        )
        try:
            decision_records = [
                _adjudicated(r, task) for r in task.records(item, decision.answers, person=decision.lead)
            ]
        except DataError as error:
            rejected.append(RejectedAnswer(decision.lead, decision.item, f"a lead's decision: {error.what}"))
            continue
        records += decision_records
        lines += [_line(answer, record, task) for record in decision_records]
    known = store.known(j for d in decisions if d in items for j in task.judged(items[d].item))
    chosen = [(r, x) for r, x in zip(records, lines, strict=True) if x.parents[0] in known]
    put = store.put([r for r, _ in chosen], [x for _, x in chosen])
    return result._replace(new=result.new + put.new, rejected=(*result.rejected, *rejected))


def _add_corrections(
    settled: Sequence[SettledItem], store: Store, task: RatingTask, result: ImportResult
) -> ImportResult:
    """Adds new versions of what people corrected, with their verdicts on these; again it adds nothing."""
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
    put = store.put(records, lines)
    return result._replace(new=result.new + put.new)


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
    rejected = []
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
            rejected.append(RejectedAnswer(g.person, g.item.id, error.what))
            continue
        records += new_records
        lines += [_line(g, record, task) for record in new_records]
    put = store.put(records, lines)
    return ImportResult(len(answers) - len(rejected), put.new, tuple(rejected))


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
