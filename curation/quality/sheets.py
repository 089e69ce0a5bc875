"""Sheets of a quality sample out to people and back: JSONL or CSV, and a strict reading of what they filled in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.files.atomic import atomic_path
from curation.files.json_files import json_lines, read_text
from curation.quality.sample import CRITERIA, Sample, sample_named
from curation.store.store import Store
from schemas.core.clock import now
from schemas.core.errors import DataError, UserError
from schemas.core.ids import slug
from schemas.lineage import Lineage
from schemas.raters import Rater
from schemas.text.counting import counted
from schemas.text.escaping import escape_line
from schemas.text.spreadsheet_cells import check_divider, safe_cell
from schemas.verdicts import Verdict, verdict_key

TASK = "quality@1"
VERSIONS = ("1", "2", "3")
"""Of the forms whose answers count: sheets have the first; since the second the rating app shows scripts as written."""
_GUIDES = ("question", "example")
"""In the column ``n`` of rows that explain the sheet."""
_YES, _NO = {"yes", "y", "true", "1"}, {"no", "n", "false", "0"}


def write_sheet(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write a person's sheet; the ending says how (.csv, else JSONL).

    The first two rows say what each column asks and which values it takes, and show a filled example; reading skips
    them. A file that is there is never overwritten; the same blank sheet may be written again.

    Raises:
        UserError: the file exists (it may hold answers), or cannot be written.
    """
    rows = [*_guide_rows(rows[0]), *rows]
    out = io.StringIO()
    if path.suffix == ".csv":
        writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: safe_cell(v) for k, v in row.items()} for row in rows)
    else:
        out.write("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))
    data = out.getvalue().encode("utf-8-sig" if path.suffix == ".csv" else "utf-8")
    if path.exists():
        if path.is_file() and path.read_bytes() == data:
            return
        raise UserError("the sheet is there already and may hold answers", where=str(path), fix="name another folder")
    with atomic_path(path, "the sheet") as partial:
        partial.write_bytes(data)


def _guide_rows(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The question and the allowed values of every column to fill in, and an example; the other columns are empty."""
    asks, example = dict.fromkeys(row, "") | {"n": _GUIDES[0]}, dict.fromkeys(row, "") | {"n": _GUIDES[1]}
    for criterion in CRITERIA:
        asks |= {criterion.name: f"{criterion.asks} (yes or no)", f"{criterion.name}_reason": "If no: why?"}
        example |= {criterion.name: "yes"}
    last = CRITERIA[-1].name
    example |= {last: "no", f"{last}_reason": "The text names the object two steps before the cut."}
    return [asks, example]


class SheetImport(NamedTuple):
    """What came back: verdicts, rows that were given again (the last one holds), items nobody answered.

    Attributes:
        person: Who filled it in.
        verdicts: For each item the person's verdict ``quality@1`` (keep, or drop with the reasons), and one measured
            answer for each criterion (``quality_question@1`` ..., 1 for yes).
        repeated: Item ids with an earlier row that was replaced.
        missing: Ids of sampled items without an answer.
    """

    person: str
    verdicts: tuple[Verdict, ...]
    repeated: tuple[str, ...]
    missing: tuple[str, ...]


def read_sheet(path: Path, sample: Sample, *, partial: bool = False) -> SheetImport:
    """Read one person's filled sheet.

    Strict: every row belongs to this sample and person, every criterion is answered yes or no, each no has a reason,
    every item is there. Whole rows may be empty or missing only with ``partial``.

    Raises:
        UserError: there is no such file.
        DataError: the first fault with its line, and how many more there are.
    """
    known = {d.item_id for d in sample.items}
    faults: list[str] = []
    answers: dict[str, Mapping[str, str]] = {}
    repeated: dict[str, None] = {}
    people: dict[str, None] = {}
    for line, row in _rows(path):
        item = row.get("item", "")
        if row.get("sample") != sample.name or item not in known:
            faults.append(f"line {line}: '{item}' is no item of the sample {sample.name}")
            continue
        people[row.get("person", "")] = None
        if sample.people and row.get("person", "") not in sample.people:
            faults.append(f"line {line}: '{row.get('person', '')}' was not asked ({', '.join(sample.people)})")
            continue
        if not any(row.get(c.name) for c in CRITERIA):
            continue
        if wrong := _fault(row):
            faults.append(f"line {line}: {wrong}")
        elif item in answers:
            repeated[item] = None
        answers[item] = row
    if len(people) > 1 or (people and not slug_ok(next(iter(people)))):
        faults.append(f"one sheet is of one person with a name without spaces, found: {', '.join(map(repr, people))}")
    missing = tuple(sorted(known - set(answers)))
    if missing and not partial:
        faults.append(f"{len(missing)} of {counted(len(known), 'item')} have no answer")
    if faults:
        more = f" (and {counted(len(faults) - 1, 'more fault')})" if len(faults) > 1 else ""
        fix = "mend the sheet; nothing was imported"
        if faults[0].endswith("have no answer"):
            fix = "fill them in, or import what is there with --partial; nothing was imported"
        raise DataError(f"{faults[0]}{more}", where=str(path), fix=fix)
    person = next(iter(people), "")
    verdicts = [v for item, row in sorted(answers.items()) for v in _verdicts(item, person, row)]
    return SheetImport(person, tuple(verdicts), tuple(repeated), missing)


def slug_ok(person: str) -> bool:
    """Whether a name can stand in a verdict.

    Example:
        >>> slug_ok("ann3"), slug_ok("Ann Lee"), slug_ok("")
        (True, False, False)
    """
    return bool(person) and not any(c.isspace() or c == "/" for c in person)


def check_people(people: Sequence[str]) -> None:
    """Refuse names that cannot stand in verdicts, or that would share a sheet.

    Raises:
        UserError: a name with a space, slash or control character, or two that are alike.
    """
    for person in people:
        if not slug_ok(person) or person != safe_cell(person):
            allowed = "a name without spaces, slashes and control characters that begins with a letter or digit"
            raise UserError(f"'{escape_line(person)}' cannot be a person's name here", allowed=allowed)
    if len({slug(p) for p in people}) < len(people):
        raise UserError("two people have the same name", where=", ".join(people), fix="give each a name of their own")


def sample_of(path: Path) -> str:
    """The name of the sample that a sheet belongs to, by its first row."""
    rows = _rows(path)
    if not rows or not rows[0][1].get("sample"):
        raise DataError("this is no sheet of a sample", where=str(path), fix="write one: scedit split sample draw")
    return rows[0][1]["sample"]


def sheet_path(folder: Path, person: str, form: str) -> Path:
    """Where a person's sheet lies."""
    return folder / f"{slug(person)}.{form}"


def import_sheets(store: Store, paths: Sequence[Path], *, partial: bool = False) -> list[SheetImport]:
    """Read filled sheets of samples the store knows, and keep their verdicts: all sheets or none.

    Raises:
        UserError, DataError: as ``read_sheet``.
    """
    made_at = now()
    filled = [read_sheet(p, sample_named(store, sample_of(p)), partial=partial) for p in paths]
    lineage = [
        Lineage(item_id=v.id, stage="import", made_at=made_at, parents=(v.item_id,), detail={"from": path.name})
        for path, f in zip(paths, filled, strict=True)
        for v in f.verdicts
    ]
    store.put([v for f in filled for v in f.verdicts], lineage)
    return filled


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows to fill in, each with its line."""
    return [(line, row) for line, row in _all_rows(path) if row.get("n") not in _GUIDES]


def _all_rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    text = read_text(path, "sheet")
    if path.suffix == ".csv":
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        try:
            check_divider(reader.fieldnames or (), path)
            return [(reader.line_num, {str(k): (v or "").strip() for k, v in row.items()}) for row in reader]
        except (csv.Error, AttributeError) as error:
            raise DataError(f"not readable as CSV: {error}", where=f"{path}, line {reader.line_num}") from None
    out = []
    for number, where, row in json_lines(path, text):
        if not isinstance(row, dict):
            raise DataError("not a JSON object", where=where)
        out.append((number, {k: "" if v is None else str(v).strip() for k, v in row.items()}))
    return out


def _fault(row: Mapping[str, str]) -> str:
    for criterion in CRITERIA:
        answer = row.get(criterion.name, "").lower()
        if answer not in _YES | _NO:
            fault = f"'{answer}' is no answer to" if answer else "no answer to"
            return f"{fault} '{criterion.name}' (yes or no)"
        if answer in _NO and not row.get(f"{criterion.name}_reason"):
            return f"the no to '{criterion.name}' has no reason"
    return ""


def _verdicts(item: str, person: str, row: Mapping[str, str]) -> list[Verdict]:
    out, against = [], []
    for criterion in CRITERIA:
        yes, reason = row[criterion.name].lower() in _YES, row.get(f"{criterion.name}_reason", "")
        by = Rater.person(person).by(TASK.replace("@", f"_{criterion.name}@"))
        key = verdict_key(item_id=item, by=by)
        value = float(yes)
        out.append(Verdict(key=key, item_id=item, by=by, label=None, reason=reason, value=value, unit="yes"))
        against += [] if yes else [f"{criterion.name}: {reason}"]
    by = Rater.person(person).by(TASK)
    label, reason = ("drop", "; ".join(against)) if against else ("keep", "")
    whole = Verdict.model_validate(
        {"key": verdict_key(item_id=item, by=by), "item_id": item, "by": by, "label": label, "reason": reason}
    )
    return [whole, *out]
