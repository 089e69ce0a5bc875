"""Validate annotations from outside: what passes becomes a revision, what does not is reported with its reason."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from annotation_ui.campaigns.campaign import form_task
from annotation_ui.label_studio.labeling_config import parse_result
from annotation_ui.ratings.database import LONGEST, RatingsDB
from annotation_ui.ratings.records import Revision
from annotation_ui.tasks.forms import Form
from schemas.core.errors import UserError

EXPORT = "export"
"""In place of a site's address, for what came by a recorded export."""
_AHEAD = timedelta(days=1)  # clocks differ; a date further ahead than that would hold against every later answer
_SHOWN = 400  # characters of a report's cell: names of any length stand in it
_NO_DATE = datetime.min.replace(tzinfo=UTC)


class RawAnnotation(NamedTuple):
    """One annotation as it came.

    Attributes:
        item: Content id of the item that was pushed as this task, None where we never pushed it.
        named: Content id that stands in the task's data now, None where it is not known apart from ``item``.
        form: Label of the form in the task's data.
        person: Pseudonym of the account, None where we know of none.
        account: Its number there.
        forged: Another account wrote it than the one it names.
        result: The answers, in Label Studio's shape.
        cancelled: It was skipped.
        at: When it was last changed.
        seconds: Time that it took, as it was given.
        unique: Its name there.
        broken: Why it cannot be read at all; empty where it can.
        changed: Why what was rated is not what was pushed; empty where it is, or where that cannot be checked.
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
    changed: str = ""


class RejectedAnnotation(NamedTuple):
    """An annotation, or a task, that was not taken, and why."""

    annotation: str
    person: str
    item: str
    why: str


class PullResult(NamedTuple):
    """What came of a pull.

    Attributes:
        answers: Answers that hold now.
        new: Those of them that came with this pull.
        rejected: What was refused.
        missing: What was pushed or pulled before and is not there any more.
        unchecked: What could not be compared with what was pushed.
    """

    answers: int
    new: int
    rejected: tuple[RejectedAnnotation, ...]
    missing: tuple[str, ...]
    unchecked: tuple[str, ...] = ()


def validate_annotations(
    db: RatingsDB,
    name: str,
    annotations: Sequence[RawAnnotation],
    missing: Sequence[str] = (),
    *,
    site: str = EXPORT,
    unchecked: Sequence[str] = (),
) -> PullResult:
    """Take annotations into a campaign.

    One is refused when its task was not pushed by us or was changed, when it was skipped, when its account does not
    belong to an invited rater or another one wrote it, when the item is not that person's, when it was given to another
    form, when the form does not pass it, when it was somebody else's at an earlier pull, or when a newer answer holds.
    Of several by one person on one item the latest good one is kept and the rest reported.
    """
    campaign = db.campaign(name)
    task, items = form_task(campaign), db.items(name)
    form = task.form
    mine = {(a.person, a.item) for a in db.assignments(name)}
    good: dict[tuple[str, str], tuple[RawAnnotation, dict[str, Any]]] = {}
    rejected = []
    for a in sorted(annotations, key=lambda a: (_moment(a.at), a.at, a.unique)):
        item = items[a.item].item if a.item in items else None
        answers, faults = parse_result(a.result, form, item.shown if item else None)
        wrong = task.faults(item, answers) if item else form.faults(answers)
        why = _refusal(a, form, mine) or "; ".join([*faults, *wrong])
        if why:
            rejected.append(_fault(a, why))
            continue
        key = (str(a.person), str(a.item))
        if key in good:
            rejected.append(_fault(good[key][0], "a later one of the same person on the same item holds"))
        good[key] = (a, form.clean(answers))
    intake = _Intake(db, name, form, site)
    new = held = 0
    for a, answers in good.values():
        try:
            new += intake.save(a, answers)
            held += 1
        except UserError as error:
            rejected.append(_fault(a, error.what))
    intake.remember()
    return PullResult(held, new, tuple(rejected), tuple(missing), tuple(unchecked))


def _moment(at: str) -> datetime:
    """A time to order by, whatever its time zone; the beginning of time where it is none."""
    try:
        moment = datetime.fromisoformat(at)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return _NO_DATE


class _Intake:
    """Good annotations on their way into the ratings file, beside what came before."""

    def __init__(self, db: RatingsDB, name: str, form: Form, site: str) -> None:
        self.db, self.name, self.form, self.site = db, name, form, site
        self.latest = db.latest_revisions(name)
        self.pulled = pulled_before(db, name, site)  # their names are numbers, and each server counts from 1
        self.fresh: list[tuple[str, str]] = []

    def save(self, a: RawAnnotation, answers: dict[str, Any]) -> bool:
        """Whether a good annotation was new; the same one, unchanged, is saved once.

        Raises:
            UserError: it was another's or on another item before, a newer answer holds, or it was changed secretly.
        """
        person, item = str(a.person), str(a.item)
        before = self.pulled.get(a.unique)
        if before is not None and before[1] != item:
            raise UserError("its name was used for an answer to another item")
        if before is not None and before[0] != person:
            raise UserError(f"it was {before[0]}'s when it was pulled before: it was re-assigned")
        token = f"label-studio/{a.unique}/{a.at}"
        same = self.db.revision_of(token)
        if same is not None and self.site != EXPORT and (same.person, same.item) != (person, item):
            token = f"label-studio/{self.site}/{a.unique}/{a.at}"  # another server's, of the same number and moment
            same = self.db.revision_of(token)
        last = self.latest.get((person, item))
        if last is not None and last.token != token and _time_of_revision(last) >= _moment(a.at):
            raise UserError(f"a newer answer of {person} holds, saved {last.saved_at[:19].replace('T', ' ')}")
        if same is not None and (same.person, same.item) == (person, item) and same.answers != answers:
            raise UserError("it was changed without a new date: the answer that was pulled before holds")
        at = _moment(a.at).isoformat(timespec="milliseconds") if a.at else None
        self.db.save(
            self.name, person, item, answers, form=self.form.label, seconds=a.seconds, token=token, saved_at=at
        )
        self.pulled[a.unique] = (person, item)
        self.fresh.append((a.unique, json.dumps([person, item])))
        return same is None

    def remember(self) -> None:
        """Keep whose each annotation was, for the next pull."""
        known = self.db.remote_names(self.site, f"pulled/{self.name}")
        fresh = [
            (unique, person_and_item) for unique, person_and_item in self.fresh if known.get(unique) != person_and_item
        ]
        if fresh:
            self.db.link(self.site, f"pulled/{self.name}", fresh)


def _time_of_revision(last: Revision) -> datetime:
    """When a revision was made where it was made."""
    if last.token is not None and last.token.startswith("label-studio/"):
        return _moment(last.token.rpartition("/")[2])
    return _moment(last.saved_at)


def pulled_before(db: RatingsDB, name: str, site: str) -> dict[str, tuple[str, str]]:
    """Person and item of each annotation that was pulled from a site, by its name there."""
    return {
        unique: tuple(json.loads(person_and_item))
        for unique, person_and_item in db.remote_names(site, f"pulled/{name}").items()
    }


def deleted_annotations(
    db: RatingsDB, name: str, site: str, items: Mapping[str, set[str]], present: set[str]
) -> list[str]:
    """Annotations that were pulled before and are gone, of those that hold.

    Args:
        db: The ratings file.
        name: Of the campaign.
        site: Where they were.
        items: Items whose tasks could be read, by owner of the project.
        present: Names of the annotations that are there.
    """
    latest, out = db.latest_revisions(name), []
    for unique, (person, item) in pulled_before(db, name, site).items():
        last = latest.get((person, item))
        tokens = (f"label-studio/{unique}/", f"label-studio/{site}/{unique}/")
        holds = last is not None and (last.token or "").startswith(tokens)
        readable = any(item in items.get(owner, ()) for owner in (person, "*"))
        if holds and readable and unique not in present:
            out.append(f"annotation {unique} of {person} on item {item} was deleted; the answer pulled before holds")
    return out


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
    if a.changed and a.form == form.label:
        return a.changed
    if not a.form:
        return "the task's data was changed: it names no form"
    if a.form != form.label:
        return f"it was given to the form {a.form}, the campaign has {form.label}"
    if (a.person, a.item) not in mine:
        return f"the item is not assigned to {a.person}"
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
