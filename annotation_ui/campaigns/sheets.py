"""Sheets: a campaign's items out to raters as CSV or JSON lines, and what they filled in read back strictly."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from annotation_ui.campaigns.campaign import campaign_task, closed_items, refuse_outside_app
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import answered_items, skipped_items
from annotation_ui.tasks.forms import Field, Form
from curation.files.atomic import write_bytes
from curation.loaders.reading import Problem, rows
from schemas.core.errors import DataError, UserError
from schemas.text.counting import counted
from schemas.text.escaping import escape_line
from schemas.text.spreadsheet_cells import safe_cell

_GUIDES = ("question", "example")
"""In the column ``n`` of rows that explain the sheet."""
_YES, _NO = {"y", "true", "1"}, {"n", "false", "0"}
"""Other ways in which people write yes and no."""


def write_sheets(db: RatingsDB, name: str, folder: Path, form: str) -> dict[Path, int]:
    """Write a sheet for everybody who has items left in a campaign; returns the number of items by sheet.

    A sheet has the texts and questions of the form, in the rater's own order, and nothing else that is known of an
    item. Training items stay in the rating app (see ``refuse_outside_app``); words are marked in the app, too.

    Args:
        db: The ratings file.
        name: Of the campaign.
        folder: For the sheets, called as the raters are.
        form: ``csv`` or ``jsonl``.

    Raises:
        UserError: somebody cannot begin yet, a sheet is there (it may hold answers), or cannot be written.
    """
    campaign, assigned = db.campaign(name), db.assignments(name)
    raters = dict.fromkeys(a.person for a in assigned)
    refuse_outside_app(db, campaign, raters)
    asks, items = campaign_task(db, name).form, db.items(name)
    titles = {s.name: s.title for s in asks.shows if any(p.item.shown.get(s.name) for p in items.values())}
    written = {}
    for person in raters:
        done = {*answered_items(db, name, person), *skipped_items(db, name, person)}
        left = [a.item for a in assigned if a.person == person and a.item not in done]
        body = [
            {"n": n, "campaign": safe_cell(name), "person": person, "item": item}
            | {title: items[item].item.shown.get(key, "") for key, title in titles.items()}
            | {f.name: "" for f in _fields(asks)}
            for n, item in enumerate(left, 1)
        ]
        if body:
            path = folder / f"{person}.{form}"
            write_sheet([*_guide_rows(asks, body[0], next(iter(titles.values()), "item")), *body], path)
            written[path] = len(body)
    return written


def write_sheet(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write a sheet; the ending says how (.csv, else JSON lines).

    A file that is there is never overwritten; the same blank sheet may be written again.

    Raises:
        UserError: the file exists (it may hold answers), or cannot be written.
    """
    if path.suffix == ".csv":
        out = io.StringIO()
        writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: safe_cell(v) for k, v in row.items()} for row in rows)
        data = out.getvalue().encode("utf-8-sig")
    else:
        data = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows).encode()
    if not path.exists():
        write_bytes(path, data, "the sheet")
    elif not path.is_file() or path.read_bytes() != data:
        raise UserError("the sheet is there already and may hold answers", where=str(path), fix="name another folder")


def _fields(form: Form) -> list[Field]:
    """The questions that a cell can answer."""
    return [f for f in form.fields if f.kind != "spans"]


def _guide_rows(form: Form, row: Mapping[str, Any], first: str) -> list[dict[str, Any]]:
    """What to do, what each column asks and which values it takes; and an example."""
    asks = dict.fromkeys(row, "") | {"n": _GUIDES[0], first: form.intro.strip()}
    asks |= {f.name: " ".join(x for x in (f.asks, f.hint, _allowed_values(f)) if x) for f in _fields(form)}
    asked = form.asked_fields()
    answers = {f.name: f.allowed[-1 if form.reasons_on else 0] for f in asked if f.required}
    refused = asked[:1] if form.reasons else asked[-1:]  # the first reason belongs to the first question
    answers |= {f.name: "no" for f in refused if f.kind == "yes_no"}
    answers |= {form.reasons: form.field(form.reasons).allowed[0]} if form.reasons else {}
    example = dict.fromkeys(row, "") | {"n": _GUIDES[1], **answers, "comment": "Say here why, in your own words."}
    return [asks, example]


def _allowed_values(field: Field) -> str:
    if field.kind == "yes_no":
        return "(yes or no)"
    if field.kind == "scale":
        ends = f"; {field.low} = {field.low_text}; {field.high} = {field.high_text}" if field.low_text else ""
        return f"({field.low} to {field.high}{ends})"
    choices = "; ".join(f"{c.value} = {c.text}" for c in field.choices)
    number = "one or more, with commas between them" if field.kind == "many" else "one"
    return f"({number}: {choices})" if choices else ""


class FilledSheet(NamedTuple):
    """What came back on a sheet.

    Attributes:
        person: Who filled it in.
        answers: By item, checked by the form; of several rows about an item the last one counts.
        changed: Items whose answer is new or another than the one that counted before.
        repeated: Items with an earlier row that does not count.
        missing: Items of this person without an answer, here or in the ratings file.
    """

    person: str
    answers: Mapping[str, Mapping[str, Any]]
    changed: tuple[str, ...]
    repeated: tuple[str, ...]
    missing: tuple[str, ...]


def read_sheet(db: RatingsDB, name: str, path: Path, *, partial: bool = False) -> FilledSheet:
    """Read one person's filled sheet.

    Strict: every row is an item of this campaign that is assigned to the person, and its answers pass the form. Rows
    may be empty, or items missing, only with ``partial``.

    Raises:
        UserError: there is no such file.
        DataError: the first fault with its line, and how many more there are.
    """
    task, items = campaign_task(db, name), db.items(name)
    assigned = {(a.person, a.item): None for a in db.assignments(name)}
    faults: list[str] = []
    answers: dict[str, dict[str, Any]] = {}
    repeated: dict[str, None] = {}
    people: dict[str, None] = {}
    for place, row in _rows(path):
        person, item = row.get("person", ""), row.get("item", "")
        people[person] = None
        given = {f.name: _answer(f, row[f.name]) for f in _fields(task.form) if row.get(f.name)}
        if row.get("campaign") != safe_cell(name) or item not in items:
            faults.append(f"{place}: '{escape_line(item)}' is no item of the campaign '{name}'")
        elif (person, item) not in assigned:
            faults.append(f"{place}: the item is not assigned to '{escape_line(person)}'")
        elif given:
            faults += [f"{place}: {fault}" for fault in task.faults(items[item].item, given)]
            repeated |= {item: None} if item in answers else {}
            answers[item] = task.form.clean(given)
    if len(people) != 1:
        faults.append(f"one sheet is of one person, found: {', '.join(map(repr, people)) or 'nobody'}")
    person = next(iter(people), "")
    before = {r.item: r.answers for r in db.current_answers(name, person=person)}
    changed = tuple(item for item in answers if answers[item] != before.get(item))
    if closed := closed_items(db, db.campaign(name), person).intersection(changed):
        faults.append(f"the answer to '{min(closed)}' is closed: a later campaign showed {person} more of the item")
    done = {*answers, *before, *skipped_items(db, name, person)}
    missing = tuple(item for who, item in assigned if who == person and item not in done)
    if missing and not partial:
        faults.append(f"{counted(len(missing), 'item has', 'items have')} no answer (if unfinished: --partial)")
    if faults:
        more = f" (and {counted(len(faults) - 1, 'more fault')})" if len(faults) > 1 else ""
        raise DataError(f"{faults[0]}{more}", where=str(path), fix="mend the sheet; nothing was imported")
    return FilledSheet(person, answers, changed, tuple(repeated), missing)


def fill_in(db: RatingsDB, name: str, paths: Sequence[Path], *, partial: bool = False) -> list[FilledSheet]:
    """Save the answers of filled sheets: all sheets or none; answers that counted before are not saved again.

    Raises:
        UserError, DataError: as ``read_sheet``.
    """
    form = db.campaign(name).form
    filled = [read_sheet(db, name, path, partial=partial) for path in paths]
    with db.write_transaction():
        for sheet in filled:
            for item in sheet.changed:
                db.save(name, sheet.person, item, sheet.answers[item], form=form)
    return filled


def _rows(path: Path) -> list[tuple[str, dict[str, str]]]:
    """The rows to fill in, each with its line and number."""
    filled = []
    for row in rows(path):
        if isinstance(row, Problem):
            raise DataError(row.what, where=row.where)
        cells = {name: _text(value) for name, value in row.data.items()}
        if cells.get("n") not in _GUIDES:
            line = row.where.rpartition(" ")[2]
            filled.append((f"line {line} (n = {cells.get('n', '')})", cells))
    return filled


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return "" if value is None else str(value).strip()


def _answer(field: Field, cell: str) -> Any:
    """A cell as the form takes it; what has another shape is handed on for the form to refuse."""
    if field.kind == "text":
        return cell
    cell = cell.lower()
    if field.kind == "many":
        return [choice.strip() for choice in re.split("[,;]", cell) if choice.strip()]
    if field.kind == "yes_no":
        return "yes" if cell in _YES else "no" if cell in _NO else cell
    return int(cell) if field.kind == "scale" and re.fullmatch(r"-?\d{1,9}", cell) else cell
