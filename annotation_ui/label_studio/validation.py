"""Validate annotations from outside: what passes becomes a revision, what does not is reported with its reason."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.label_studio.labeling_config import parse_result
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.forms import Form
from curation.files.json_files import read_json
from schemas.core.errors import DataError, UserError

LONGEST = 1e7  # seconds; a lead time beyond that (four months) is none


class RawAnnotation(NamedTuple):
    """One annotation as it came.

    Attributes:
        item: Content id of the item that was pushed as this task, None where we never pushed it.
        named: Content id that stands in the task's data now, None where it is not known apart from ``item``.
        form: Label of the form in the task's data.
        person: Pseudonym of the account, None where we know of none. ``account``: its number there.
        forged: Another account wrote it than the one it names.
        result: The answers, in Label Studio's shape.
        cancelled: It was skipped.
        at: When it was last changed. ``seconds``: time that it took, as it was given.
        unique: Its name there.
        broken: Why it cannot be read at all; empty where it can.
    """

    item: str | None
    named: str | None
    form: str
    person: str | None
    account: str
    forged: bool
    result: Any
    cancelled: bool
    at: str
    seconds: Any
    unique: str
    broken: str = ""


class RejectedAnnotation(NamedTuple):
    """An annotation, or a task, that was not taken, and why."""

    annotation: str
    person: str
    item: str
    why: str


class PullResult(NamedTuple):
    """What came of a pull: answers that hold now, of them new; what was refused; what is missing there."""

    answers: int
    new: int
    rejected: tuple[RejectedAnnotation, ...]
    missing: tuple[str, ...]


def validate_annotations(
    db: RatingsDB, name: str, given: Sequence[RawAnnotation], missing: Sequence[str] = ()
) -> PullResult:
    """Take annotations into a campaign.

    One is refused when its task was not pushed by us or was changed, when it was skipped, when its account does not
    belong to an invited rater or another one wrote it, when the item is not that person's, when it was given to another
    form, or when the form does not pass it. Of several by one person on one item the latest good one is kept and the
    rest reported.
    """
    campaign = db.campaign(name)
    form = make_task(campaign.task).form
    mine = {(a.person, a.item) for a in db.assignments(name)}
    good: dict[tuple[str, str], tuple[RawAnnotation, dict[str, Any]]] = {}
    rejected = []
    for a in sorted(given, key=lambda a: (_moment(a.at), a.at, a.unique)):
        answers, faults = parse_result(a.result, form)
        why = _refusal(a, form, mine) or "; ".join([*faults, *form.faults(answers)])
        if why:
            rejected.append(_fault(a, why))
            continue
        key = (str(a.person), str(a.item))
        if key in good:
            rejected.append(_fault(good[key][0], "a later one of the same person on the same item holds"))
        good[key] = (a, form.clean(answers))
    new = held = 0
    for a, answers in good.values():
        try:
            new += _save(db, name, form, a, answers)
            held += 1
        except UserError as error:
            rejected.append(_fault(a, error.what))
    return PullResult(held, new, tuple(rejected), tuple(missing))


def _moment(at: str) -> datetime:
    """A time to order by, whatever its time zone; the beginning of time where it is none."""
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _save(db: RatingsDB, name: str, form: Form, a: RawAnnotation, answers: dict[str, Any]) -> bool:
    """Whether a good annotation was new; the same one, unchanged, is saved once."""
    before = len(db.history(name, person=a.person, item=a.item))
    token = f"label-studio/{a.unique}/{a.at}"
    db.save(name, str(a.person), str(a.item), answers, form=form.label, seconds=a.seconds, token=token)
    return len(db.history(name, person=a.person, item=a.item)) > before


def _refusal(a: RawAnnotation, form: Form, mine: set[tuple[str, str]]) -> str:
    if a.broken:
        return a.broken
    if a.item is None:
        return "its task was not pushed from this ratings file"
    if a.named is not None and a.named != a.item:
        return "the task's data was changed: it names another item"
    if a.cancelled:
        return "it was skipped"
    if a.person is None:
        return f"the account {a.account} does not belong to an invited rater"
    if a.forged:
        return f"it names {a.person}, but another account wrote it"
    if not a.form:
        return "the task's data was changed: it names no form"
    if a.form != form.label:
        return f"it was given to the form {a.form}, the campaign has {form.label}"
    if (a.person, a.item) not in mine:
        return f"the item is not assigned to {a.person}"
    if a.seconds is not None and not _is_duration(a.seconds):
        return f"its lead time is {reprlib.repr(a.seconds)}, not a number of seconds"
    if _printable(a.unique + a.at) != a.unique + a.at:
        return "its name or date holds half a character, which cannot be stored"
    return ""


def _is_duration(seconds: Any) -> bool:
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return number and 0 <= seconds <= LONGEST


def _printable(text: str) -> str:
    """A text that can be written to any file: half characters are spelt out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _fault(a: RawAnnotation, why: str) -> RejectedAnnotation:
    told = (a.unique, a.person or f"account {a.account}", a.item or "unknown", why)
    return RejectedAnnotation(*map(_printable, told))


def read_export(path: Path) -> list[Mapping[str, Any]]:
    """The tasks of a recorded Label Studio export (its JSON format).

    Raises:
        UserError: there is no such file. DataError: it is no such export.
    """
    tasks = read_json(path, fix="export as 'JSON' and try again")
    if not isinstance(tasks, list) or not all(isinstance(t, dict) and "annotations" in t for t in tasks):
        raise DataError("this is no list of tasks with annotations", where=str(path), fix="export as 'JSON', not CSV")
    return tasks
