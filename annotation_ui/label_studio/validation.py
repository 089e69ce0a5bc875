"""Validate annotations from outside: what passes becomes a revision, what does not is reported with its reason."""

from __future__ import annotations

import re
import reprlib
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from annotation_ui.campaigns.campaign import task_of
from annotation_ui.ratings.database import LONGEST, RatingsDB, Revision
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.forms import Field, Form, mark, markable
from curation.files.templates import templates_in
from schemas.core.errors import UserError
from schemas.core.ids import content_id

_POINT = re.compile(r"0|-?[1-9][0-9]{0,8}")
"""A point of a scale as a choice is written; other texts ("--5", thousands of digits) are for the form to refuse."""


def label_config(form: Form) -> str:
    """The labelling configuration of a form, by the template ``label_config.xml.jinja``.

    Scales are single choices with their numbers (stars have none and begin at 0), nothing has hot keys (automatic ones
    run across groups and mislead), and every judgement is required in the browser, which the import does not trust.
    """
    template = templates_in(Path(__file__).parent, filters={}, html=True).get_template("label_config.xml.jinja")
    return template.render(form=form, markable=markable(form))


def config_digest(config: object) -> str:
    """Of a labelling configuration: what it says, not how its tags are written.

    Example:
        >>> config_digest('<View><A b="1" c="2"/></View>') == config_digest('<View> <A c="2" b="1"></A></View>')
        True
    """
    try:
        canonical = ET.canonicalize(str(config), strip_text=True)
    except ET.ParseError:
        return "unreadable"
    return content_id("label studio configuration", " ".join(canonical.split()))


def task_data(item: TaskItem, form: Form) -> dict[str, str]:
    """What an item's task holds: its texts and its content id, and nothing that would bias (no stratum, no method)."""
    texts = {s.name: item.shown.get(s.name, "") for s in form.shows}
    return {**texts, "scedit_item": item.id, "scedit_form": form.label}


def parse_result(
    result: object, form: Form, shown: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The answers in an annotation's ``result``, and what in it cannot be read.

    A scale's choice becomes an integer. Nothing is dropped silently: unknown controls, twice answered ones and values
    of another shape are faults.

    Args:
        result: As Label Studio gives it.
        form: What was asked.
        shown: The texts of the item, in which words were marked.
    """
    known = {f.name: f for f in form.fields if f.kind != "spans"}
    places = {f"{f.name}_in_{s.name}": (f, s.name) for f in form.fields if f.kind == "spans" for s in markable(form)}
    answers: dict[str, Any] = {}
    if not isinstance(result, list):
        return {}, ["the annotation has no list of results"]
    faults = []
    for region in result:
        name = region.get("from_name") if isinstance(region, Mapping) else None
        if isinstance(name, str) and name in places:
            field, text = places[name]
            mark_or_fault = _mark(region.get("value"), text, (shown or {}).get(text, ""))
            if region.get("to_name") not in (None, f"shown_{text}"):
                faults.append(f"'{field.name}' in '{text}' was set in another text")
            elif isinstance(mark_or_fault, str):
                faults.append(f"'{field.name}' {mark_or_fault}")
            else:
                answers.setdefault(field.name, []).append(mark_or_fault)
        elif not isinstance(name, str) or name not in known:
            faults.append(f"unknown control {name!r}")
        elif name in answers:
            faults.append(f"'{name}' is answered twice")
        else:
            answers[name] = _answer(known[name], region.get("value"))
    return answers, faults


def _mark(value: object, name: str, shown: str) -> dict[str, Any] | str:
    """A labelled region as a mark in a text, or what is wrong with it.

    Label Studio counts as JavaScript does, where one sign beyond the first 65,536 is two; what stands there decides.
    """
    value = value if isinstance(value, Mapping) else {}
    start, end, labels, quote = (value.get(k) for k in ("start", "end", "labels", "text"))
    if type(start) is not int or type(end) is not int or not 0 <= start < end:
        return f"in '{name}' does not say from where to where"
    if not isinstance(labels, list) or len(labels) != 1 or not isinstance(labels[0], str):
        return f"in '{name}' has not one label"
    begin, stop = (_code_points(shown, n) for n in (start, end))
    words = quote.replace("\\n", "\n") if isinstance(quote, str) else None
    for place in ((begin, stop), (start, end)):
        if place[0] < place[1] <= len(shown) and words in (None, shown[slice(*place)]):
            return mark({name: shown}, name, *place, labels[0])
    return f"in '{name}' says other words than those at its place"


def _code_points(text: str, units: int) -> int:
    """How many characters a number of UTF-16 units is, from the beginning of a text; -1 where it divides one."""
    ends = [0, *accumulate(2 if character > "\uffff" else 1 for character in text)]
    return ends.index(units) if units in ends else -1


def _answer(field: Field, value: object) -> Any:
    """One control's value as the form takes it; what has another shape is handed on for the form to refuse."""
    if not isinstance(value, Mapping):
        return value
    if field.kind == "text":
        text = value.get("text")
        return "\n".join(text) if isinstance(text, list) and all(isinstance(t, str) for t in text) else text
    chosen = value.get("choices")
    if field.kind == "many" or not isinstance(chosen, list) or len(chosen) != 1:
        return chosen if field.kind == "many" else (chosen or value.get("rating"))
    (one,) = chosen
    if field.kind == "scale" and isinstance(one, str) and _POINT.fullmatch(one):
        return int(one)
    return one


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
    task, items = task_of(db, name), db.items(name)
    form = task.form
    good: dict[tuple[str, str], tuple[RawAnnotation, dict[str, Any]]] = {}
    rejected: list[RejectedAnnotation] = []
    ignored: list[RejectedAnnotation] = []
    for a in sorted(annotations, key=lambda a: (_moment(a.at), a.at, a.unique)):
        item = items[a.item].item if a.item in items else None
        answers, faults = parse_result(a.result, form, item.shown if item else None)
        wrong = task.faults(item, answers) if item else form.faults(answers)
        if why := _refusal(a, item, form):
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


def _refusal(a: RawAnnotation, item: TaskItem | None, form: Form) -> str:
    """Why an annotation cannot be taken, whatever it answers; saving refuses items of another rater."""
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
    if item is None:
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
