"""Validate annotations from outside: what passes becomes a revision, what does not is reported with its reason."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from annotation_ui.campaigns.campaign import form_task
from annotation_ui.label_studio.labeling_config import parse_result, task_data
from annotation_ui.ratings.database import LONGEST, RatingsDB
from annotation_ui.ratings.records import Revision
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.forms import Form
from schemas.core.errors import UserError

DATA_CHANGED = "the task's data was changed since the push"
_PREFIX = "label-studio/"  # of the names of saves that were pulled
_AHEAD = timedelta(days=1)  # clocks differ; a date further ahead than that would hold against every later answer
_SHOWN = 400  # characters of a report's cell: names of any length stand in it
_NO_DATE = datetime.min.replace(tzinfo=UTC)


class RawAnnotation(NamedTuple):
    """One annotation as it came.

    Attributes:
        item: Content id of the item that was pushed as this task, None if we never pushed it.
        data: The task's data as it is now.
        person: Pseudonym of the account, None if we know of none.
        account: Its number there.
        forged: Another account wrote it than the one it names.
        result: The answers, in Label Studio's shape.
        cancelled: It was skipped.
        at: When it was last changed.
        seconds: Time that it took, as it was given.
        unique: Its name there.
        fault: Why it cannot be taken, whatever it says; empty if it can.
    """

    item: str | None = None
    data: Any = None
    person: str | None = None
    account: str = "unknown"
    forged: bool = False
    result: Any = None
    cancelled: bool = False
    at: str = ""
    seconds: Any = None
    unique: str = ""
    fault: str = ""


class RejectedAnnotation(NamedTuple):
    """An annotation, or a task, that was not taken, and why."""

    annotation: str
    person: str
    item: str
    why: str


class PullResult(NamedTuple):
    """What came of a pull.

    Attributes:
        answers: Answers that count now.
        new: Those of them that came with this pull.
        rejected: What was rejected.
        missing: What was pushed or pulled before and is not there any more.
        ignored: What is no fault and no answer: skipped items, and annotations with a later one by the same person.
    """

    answers: int
    new: int
    rejected: tuple[RejectedAnnotation, ...]
    missing: tuple[str, ...]
    ignored: tuple[RejectedAnnotation, ...] = ()


def validate_annotations(
    db: RatingsDB, name: str, annotations: Sequence[RawAnnotation], missing: Sequence[str] = ()
) -> PullResult:
    """Take annotations into a campaign.

    One is rejected when its task was not pushed by us or was changed, when its account does not belong to an invited
    rater or another one wrote it, when the item is not that person's, when it was given to another form, when the form
    does not pass it, when it was somebody else's at an earlier pull, or when a newer answer counts. Skipped ones are
    ignored. Of several by one person on one item the latest good one counts, and the others are ignored.
    """
    task, items = form_task(db.campaign(name)), db.items(name)
    form = task.form
    mine = {(a.person, a.item) for a in db.assignments(name)}
    good: dict[tuple[str, str], tuple[RawAnnotation, dict[str, Any]]] = {}
    rejected: list[RejectedAnnotation] = []
    ignored: list[RejectedAnnotation] = []
    for a in sorted(annotations, key=lambda a: (_moment(a.at), a.at, a.unique)):
        item = items[a.item].item if a.item in items else None
        answers, faults = parse_result(a.result, form, item.shown if item else None)
        wrong = task.faults(item, answers) if item else form.faults(answers)
        if why := _refusal(a, item, form, mine):
            rejected.append(_fault(a, why))
        elif a.cancelled:
            ignored.append(_fault(a, "it was skipped"))
        elif faults or wrong:
            rejected.append(_fault(a, "; ".join([*faults, *wrong])))
        else:
            key = (str(a.person), str(a.item))
            if key in good:
                ignored.append(_fault(good[key][0], "a later one of the same person on the same item counts"))
            good[key] = (a, form.clean(answers))
    new = taken = 0
    pulled, latest = pulled_annotations(db, name), {(r.person, r.item): r for r in db.history(name)}
    for a, answers in good.values():
        try:
            new += _save(db, name, form, a, answers, pulled, latest)
            taken += 1
        except UserError as error:
            rejected.append(_fault(a, error.what))
    return PullResult(taken, new, tuple(rejected), tuple(missing), tuple(ignored))


def _moment(at: str) -> datetime:
    """A time to order by, whatever its time zone; the beginning of time where it is none."""
    try:
        moment = datetime.fromisoformat(at)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return _NO_DATE


def _save(
    db: RatingsDB,
    name: str,
    form: Form,
    a: RawAnnotation,
    answers: dict[str, Any],
    pulled: dict[str, tuple[str, str]],
    latest: Mapping[tuple[str, str], Revision],
) -> bool:
    """Whether a good annotation was new; the same one, unchanged, is saved once.

    Raises:
        UserError: it was another's or on another item before, a newer answer counts, or it was changed secretly.
    """
    person, item = str(a.person), str(a.item)
    before = pulled.setdefault(a.unique, (person, item))
    if before[1] != item:
        raise UserError("its name was used for an answer to another item")
    if before[0] != person:
        raise UserError(f"it was {before[0]}'s when it was pulled before: it was re-assigned")
    token = f"{_PREFIX}{a.unique}/{a.at}"
    same, last = db.revision_of(token), latest.get((person, item))
    if last is not None and last.token != token and _moment(last.saved_at) >= _moment(a.at):
        raise UserError(f"a newer answer of {person} counts, saved {last.saved_at[:19].replace('T', ' ')}")
    if same is not None and same.answers != answers:
        raise UserError("it was changed without a new date: the answer that was pulled before counts")
    at = _moment(a.at).isoformat(timespec="milliseconds") if a.at else None
    db.save(name, person, item, answers, form=form.label, seconds=a.seconds, token=token, saved_at=at)
    return same is None


def pulled_annotations(db: RatingsDB, name: str) -> dict[str, tuple[str, str]]:
    """Person and item of each annotation that was pulled, by its name in Label Studio."""
    tokens = ((r, (r.token or "").rpartition("/")[0]) for r in db.history(name))
    return {t.removeprefix(_PREFIX): (r.person, r.item) for r, t in tokens if t.startswith(_PREFIX)}


def deleted_annotations(db: RatingsDB, name: str, items: Mapping[str, set[str]], present: set[str]) -> list[str]:
    """Annotations that were pulled before and are gone, of those that count.

    Args:
        db: The ratings file.
        name: Of the campaign.
        items: Items whose tasks could be read, by owner of the project.
        present: Names of the annotations that are there.
    """
    latest, out = {(r.person, r.item): r for r in db.history(name)}, []
    for unique, (person, item) in pulled_annotations(db, name).items():
        last = latest.get((person, item))
        counts = last is not None and (last.token or "").startswith(f"{_PREFIX}{unique}/")
        readable = any(item in items.get(owner, ()) for owner in (person, "*"))
        if counts and readable and unique not in present:
            out.append(f"annotation {unique} of {person} on item {item} was deleted; the answer pulled before counts")
    return out


def named_item(data: object) -> str | None:
    """The content id in a task's data; None if there is none, or if the data is no object."""
    item = data.get("scedit_item") if isinstance(data, Mapping) else None
    return None if item is None else str(item)


def _refusal(a: RawAnnotation, item: TaskItem | None, form: Form, mine: set[tuple[str, str]]) -> str:
    if a.fault:
        return a.fault
    if a.item is None:
        return "its task was not pushed from this ratings file"
    if not isinstance(a.data, Mapping):
        return "the task's data is no object"
    if named_item(a.data) not in (None, a.item):
        return "the task's data was changed: it names another item"
    if a.person is None:
        return f"the account {a.account} does not belong to an invited rater"
    if a.forged:
        return f"it names {a.person}, but another account wrote it"
    if not (label := str(a.data.get("scedit_form") or "")):
        return "the task's data was changed: it names no form"
    if label != form.label:
        return f"it was given to the form {label}, the campaign has {form.label}"
    if (a.person, a.item) not in mine or item is None:
        return f"the item is not assigned to {a.person}"
    if a.data != task_data(item, form):
        return DATA_CHANGED
    if a.seconds is not None and not _is_duration(a.seconds):
        return f"its lead time is {reprlib.repr(a.seconds)}, not a number of seconds"
    if _make_printable(a.unique + a.at) != a.unique + a.at:
        return "its name or date holds half a character, which cannot be stored"
    if a.at and _moment(a.at) == _NO_DATE:
        return f"its date is {reprlib.repr(a.at)}, which is no date"
    if _moment(a.at) > datetime.now(UTC) + _AHEAD:
        return f"its date, {a.at}, lies in the future"
    return ""


def _is_duration(seconds: Any) -> bool:
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return number and 0 <= seconds <= LONGEST


def _make_printable(text: str) -> str:
    """A text that can be written to any file: half characters are spelt out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _fault(a: RawAnnotation, why: str) -> RejectedAnnotation:
    cells = (a.unique, a.person or f"account {a.account}", a.item or "unknown", why)
    return RejectedAnnotation(
        *(_make_printable(cell if len(cell) <= _SHOWN else f"{cell[:_SHOWN]}...") for cell in cells)
    )
