"""What comes of answers: into the store, each checked by its form again; settled items, and the gold set of a round."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from annotation_ui.campaigns.campaign import campaign_task, task_of
from annotation_ui.ratings.database import Adjudication, Assignment, CampaignItem, RatingsDB, Revision
from annotation_ui.ratings.open_items import skips_of_campaign
from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.forms import Answers
from curation.files.atomic import atomic_file
from curation.quality.sample import keep_people
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.core.records import Record
from schemas.lineage import Lineage
from schemas.raters import ADJUDICATED, Rater
from schemas.ratings import Rating
from schemas.verdicts import Verdict


class SettledItem(NamedTuple):
    """An item that is settled.

    Attributes:
        item: What was judged.
        answers: By person, each passed by the form; the lead's alone where the lead decided.
        settled_at: When the last of them was saved.
        lead: Whether the lead decided.
    """

    item: TaskItem
    answers: Mapping[str, Answers]
    settled_at: str
    lead: bool = False


def settled_answers(
    task: RatingTask,
    items: Mapping[str, CampaignItem],
    *,
    current: Iterable[Revision],
    assigned: Iterable[Assignment],
    decisions: Mapping[str, Adjudication],
) -> list[SettledItem]:
    """The settled real items of a campaign, in its order; none that waits for somebody or has a faulty answer.

    Args:
        task: What the campaign asks.
        items: Of the campaign.
        current: Current answers to them.
        assigned: To whom they were given.
        decisions: The lead's, by item.
    """
    answers_by_item: dict[str, dict[str, tuple[Answers, str]]] = defaultdict(dict)
    for r in current:
        answers_by_item[r.item][r.person] = (r.answers or {} if r.form == task.form.label else {}, r.saved_at)
    people = _people_by_item(assigned)
    out = []
    for key, placed in items.items():
        if placed.purpose != "real":
            continue
        item, decision = placed.item, decisions.get(key)
        if decision is not None:
            if not task.faults(item, decision.answers):
                out.append(SettledItem(item, {decision.lead: decision.answers}, decision.saved_at, lead=True))
            continue
        answers = answers_by_item[key]
        if (
            not answers
            or people.get(key, set()) - set(answers)
            or any(task.faults(item, one) for one, _ in answers.values())
        ):
            continue
        last = max(at for _, at in answers.values())
        out.append(SettledItem(item, {person: one for person, (one, _) in sorted(answers.items())}, last))
    return out


def _people_by_item(assigned: Iterable[Assignment]) -> dict[str, set[str]]:
    people: dict[str, set[str]] = defaultdict(set)
    for a in assigned:
        people[a.item].add(a.person)
    return people


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
    task = task_of(db, name)
    if campaign.form == task.form.label:
        campaign_task(db, name)  # changed under its version: nobody can say what was asked
    current, decisions = db.current_answers(name), db.adjudications(name)
    answers, stray = _answers_and_decisions(current, decisions, items, task, store)
    result = import_answers(store, task, answers)
    judged = [task.judged(g.item) for g in answers if not g.lead]
    former = store.former(record for records in judged for record in records)
    assigned = db.assignments(name)
    if task.of_sample:
        skipped = skips_of_campaign(db, name)
        keep_people(store, _people_by_item(a for a in assigned if (a.person, a.item) not in skipped))
    settled = settled_answers(task, items, current=current, assigned=assigned, decisions=decisions)
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


def write_gold_set(db: RatingsDB, name: str, path: Path) -> int:
    """Write the gold set as a file that ``scedit annotate new --control-items`` takes; returns the number of items.

    It holds the items that a lead decided, and those on which two or more people gave the very same judgements.
    """
    task, items, decided = task_of(db, name), db.items(name), db.adjudications(name)
    field_names = [f.name for f in task.form.asked_fields()]
    answers_by_item: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for r in db.current_answers(name):
        if r.item in items and items[r.item].purpose == "real" and r.answers and not task.form.faults(r.answers):
            answers_by_item[r.item].append({a: r.answers.get(a) for a in field_names})
    rows = []
    for item, placed in items.items():
        answers = answers_by_item[item]
        if item in decided and not task.form.faults(decided[item].answers):
            expected, because = {a: decided[item].answers[a] for a in field_names}, "The lead decided so."
        elif len(answers) > 1 and all(one == answers[0] for one in answers):
            expected, because = answers[0], "Everybody who rated this item said so."
        else:
            continue
        row = {"purpose": "training", "id": f"gold-{item}", "shown": dict(placed.item.shown), "expected": expected}
        rows.append({**row, "because": because})
    with atomic_file(path) as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return len(rows)
