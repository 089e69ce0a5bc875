"""Campaigns: items out of the store, shared out among people, extended later, and how far everybody is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from annotation_ui.campaigns.assignment import AssignmentSettings, assign, sample_items
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.raters import list_raters
from annotation_ui.ratings.records import Assignment, Campaign, CampaignItem
from annotation_ui.tasks import TASKS
from annotation_ui.tasks.base import RatingTask, TaskItem
from curation.files.json_files import json_lines
from schemas.core.clock import now
from schemas.core.config import Options, explain
from schemas.core.errors import DataError, UserError
from schemas.core.records import Frozen

if TYPE_CHECKING:
    from curation.store.store import Store


class CampaignOptions(Options):
    """How a campaign's items are chosen and shared out.

    Attributes:
        overlap: People an item.
        batch: Items a batch.
        percent: How many of the store's items, stratified; 100 for all.
        least: From every stratum at the least, when sampled.
        only: ``all`` items, or those that the checks are ``unsure`` about (for people to decide).
        consent: What people agree to before they begin; empty for none.
    """

    overlap: int = 2
    batch: int = 20
    percent: float = 100.0
    least: int = 1
    only: str = "all"
    consent: str = ""


class RaterControlItem(Frozen):
    """A training or attention item with its right answers, one a line of a file.

    Attributes:
        purpose: ``training`` or ``attention``.
        id: A name of its own.
        shown: Texts, as the form shows them.
        expected: Right answers by field; an answer that differs by more than ``tolerance`` on a scale is wrong.
        because: What a trainee reads afterwards.
    """

    purpose: str
    id: str
    shown: dict[str, str]
    expected: dict[str, Any]
    because: str = ""
    tolerance: int = 1


def make_task(name: str) -> RatingTask:
    """A task by name."""
    task: RatingTask = TASKS.get(name)()
    return task


def create_campaign(
    db: RatingsDB,
    store: Store,
    name: str,
    task: RatingTask,
    sharing: CampaignOptions,
    *,
    known: Sequence[RaterControlItem] = (),
    digest: str = "",
) -> list[CampaignItem]:
    """Make a campaign, or look for new items of one that is there; then share out (see ``assign_items``).

    Args:
        db: Where answers land.
        store: Where items come from.
        name: Of the campaign.
        task: What is asked.
        sharing: How.
        known: Training and attention items.
        digest: Of the split that the items are of, where they are.

    Raises:
        UserError: the store has nothing for this task, or the name is taken by another task.
    """
    items = _chosen(store, task, sharing.only)
    if not items:
        raise UserError(f"the store has nothing for '{task.form.name}'", where=str(store.path), fix=_what_next(task))
    if sharing.percent < 100:
        placed = sample_items(items, percent=sharing.percent, least=sharing.least, name=name)
    else:
        placed = [CampaignItem(i, probability=1.0) for i in items]
    settings = sharing.model_dump(mode="json") | {"split": digest, "population": len(items)}
    db.add_campaign(Campaign(name, task.form.name, task.form.label, settings, now("milliseconds")))
    placed += [_known(k, task) for k in known]
    db.add_items(name, placed, [])
    return placed


def assign_items(db: RatingsDB, name: str) -> tuple[int, int]:
    """Share a campaign's items out among all raters; returns assignments added and taken back.

    Call it again when people or items were added: what is answered or begun stays where it is.

    Raises:
        UserError: fewer raters than the overlap asks for.
    """
    campaign = db.campaign(name)
    raters = [p.name for p in list_raters(db) if p.role == "rater"]
    started = {(r.person, r.item) for r in db.history(name)}
    settings = AssignmentSettings(int(campaign.settings["overlap"]), int(campaign.settings["batch"]), name)
    existing = db.assignments(name)
    made, taken = assign(list(db.items(name).values()), raters, settings, existing=existing, started=started)
    db.add_items(name, [], made, taken)
    return len(made), len(taken)


def _chosen(store: Store, task: RatingTask, only: str) -> list[TaskItem]:
    if only not in ("all", "unsure"):
        raise UserError(f"items cannot be chosen by '{only}'", allowed="all, unsure")
    items = list(task.items(store))
    if only == "unsure":
        open_ = {v.item_id for v in store.verdicts() if v.label == "unsure"}
        items = [i for i in items if i.id in open_]
    return items


def _what_next(task: RatingTask) -> str:
    if task.level == "ordinal":
        return "generate scripts first, or add them with: scedit annotate add-scripts"
    return "construct or import script prompts first: scedit construct"


def _known(known: RaterControlItem, task: RatingTask) -> CampaignItem:
    item = TaskItem(id=known.id, case=f"known/{known.id}", stratum=known.purpose, shown=known.shown)
    expected = {"answers": known.expected, "because": known.because, "tolerance": known.tolerance}
    return CampaignItem(item, known.purpose, expected)


def read_control_items(path: Path, task: RatingTask) -> list[RaterControlItem]:
    """Training and attention items from JSON lines, each checked against the form.

    Raises:
        UserError: there is no such file.
        DataError: a line is not such an item; says which and why.
    """
    out: list[RaterControlItem] = []
    for _, where, data in json_lines(path):
        try:
            known = RaterControlItem.model_validate(data)
        except ValidationError as error:
            raise DataError(explain(error, known=list(RaterControlItem.model_fields)), where=where) from None
        _check_known(known, task, where)
        out.append(known)
    return out


def _check_known(known: RaterControlItem, task: RatingTask, where: str) -> None:
    if known.purpose not in ("training", "attention"):
        raise DataError(f"the purpose is '{known.purpose}'", where=where, allowed="training, attention")
    names = {f.name for f in task.form.asked()}
    for name, value in known.expected.items():
        if name not in names:
            raise DataError(f"the form does not ask '{name}'", where=where, allowed=", ".join(sorted(names)))
        if fault := task.form.field(name).fault(value):
            raise DataError(f"expected answer: {fault}", where=where)
    wanted = {s.name for s in task.form.shows if not s.optional}
    if missing := wanted - set(known.shown):
        raise DataError(f"nothing is shown as '{sorted(missing)[0]}'", where=where, allowed=", ".join(sorted(wanted)))


def wrong_fields(placed: CampaignItem, task: RatingTask, answers: dict[str, Any]) -> list[str]:
    """The fields of a training or attention item that were not answered as expected; empty for real items."""
    if placed.expected is None:
        return []
    out = []
    for name, right in placed.expected["answers"].items():
        given = answers.get(name)
        scale = task.form.field(name).kind == "scale"
        if scale and given is not None:
            off = abs(int(given) - int(right)) > int(placed.expected["tolerance"])
        else:
            off = given != right
        out += [name] if off else []
    return out


class RaterProgress(NamedTuple):
    """How far somebody is.

    Attributes:
        person: Who; ``synthetic`` where it is a program.
        assigned, done: Real items.
        training: Trained items answered, of all. ``attention``: attention items answered rightly, of those answered.
        seconds: Median seconds an item, None before the first.
        last: When the last save was.
    """

    person: str
    synthetic: bool
    assigned: int
    done: int
    training: tuple[int, int]
    attention: tuple[int, int]
    seconds: float | None
    last: str | None


def rater_progress(db: RatingsDB, name: str) -> list[RaterProgress]:
    """Everybody's progress in a campaign, by name."""
    from statistics import median

    task, items = make_task(db.campaign(name).task), db.items(name)
    known = {p.name: p for p in list_raters(db)}
    assigned: dict[str, list[Assignment]] = {}
    for a in db.assignments(name):
        assigned.setdefault(a.person, []).append(a)
    answers: dict[str, dict[str, Any]] = {}
    for r in db.current_answers(name):
        answers.setdefault(r.person, {})[r.item] = r
    out = []
    for person in sorted({*assigned, *answers}):
        mine = answers.get(person, {})
        of = {p: [a for a in assigned.get(person, []) if items[a.item].purpose == p] for p in _PURPOSES}
        watched = [mine[a.item] for a in of["attention"] if a.item in mine]
        right = sum(not wrong_fields(items[r.item], task, r.answers) for r in watched)
        times = [r.seconds for r in mine.values() if r.seconds is not None]
        out.append(
            RaterProgress(
                person,
                known[person].synthetic if person in known else False,
                len(of["real"]),
                sum(a.item in mine for a in of["real"]),
                (sum(a.item in mine for a in of["training"]), len(of["training"])),
                (right, len(watched)),
                median(times) if times else None,
                max((r.saved_at for r in mine.values()), default=None),
            )
        )
    return out


_PURPOSES = ("real", "training", "attention")


def next_item(db: RatingsDB, name: str, person: str) -> Assignment | None:
    """The first item in a person's order without an answer, or None when all is done."""
    done = {r.item for r in db.current_answers(name, person=person)}
    return next((a for a in db.assignments(name, person) if a.item not in done), None)
