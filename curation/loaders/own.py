"""Our JSONL and CSV of facts: the whole record, or a short form with plain strings."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from curation.loaders.base import Loaded, Problem, Row, collect, json_rows, read_text
from schemas.errors import DataError
from schemas.facts import Entity, Fact, Object, Relation, Source
from schemas.ids import slug

_COLUMNS: tuple[str, ...] = (
    "key",
    "subject",
    "subject_aliases",
    "relation",
    "prompt",
    "old",
    "old_aliases",
    "new",
    "new_aliases",
)
_COLUMNS += ("changed_on", "paraphrases", "source", "licence")
_NEEDED = ("subject", "relation", "prompt", "old", "new")


def load_jsonl(path: Path) -> Loaded:
    """One JSON object a line.

    Needed are ``subject``, ``relation``, ``prompt`` (with one ``{}``) and ``old``, and ``new`` for a fact to be edited;
    subject, relation and objects may be strings or whole values with aliases. ``key``, ``source``, ``paraphrases`` and
    ``changed_on`` (makes the change temporal) may be left out.
    """
    rows, bad = json_rows(read_text(path), path)
    return collect(rows, lambda row: _fact(row.data, path), bad=bad, format="jsonl")


def load_csv(path: Path) -> Loaded:
    """A table with a header: subject, relation, prompt, old, new (more: ``_COLUMNS``); lists are split by ``|``."""
    reader = csv.reader(io.StringIO(read_text(path)))
    header = [name.strip() for name in next(reader)]
    if missing := [name for name in _NEEDED if name not in header]:
        raise DataError(
            f"the column '{missing[0]}' is missing", where=f"{path}, line 1", allowed=", ".join(_COLUMNS), fix="add it"
        )
    if unknown := [name for name in header if name not in _COLUMNS]:
        raise DataError(f"unknown column '{unknown[0]}'", where=f"{path}, line 1", allowed=", ".join(_COLUMNS))
    rows, bad = [], []
    for values in reader:
        where = f"{path}, line {reader.line_num}"
        if not any(v.strip() for v in values):
            continue
        if len(values) != len(header):
            bad.append(Problem(where, "malformed", f"{len(values)} cells under {len(header)} columns"))
            continue
        rows.append(Row(where, _from_cells(dict(zip(header, (v.strip() for v in values), strict=True)))))
    return collect(rows, lambda row: _fact(row.data, path), bad=bad, format="csv")


def _from_cells(cells: dict[str, str]) -> dict[str, Any]:
    def entity(name: str) -> dict[str, Any]:
        return {"text": cells[name], "aliases": _split(cells.get(f"{name}_aliases", ""))}

    data: dict[str, Any] = {"subject": entity("subject"), "old": entity("old"), "relation": cells["relation"]}
    data |= {"prompt": cells["prompt"], "paraphrases": _split(cells.get("paraphrases", ""))}
    if cells["new"]:
        data["new"] = entity("new")
    if cells.get("source") or cells.get("licence"):
        data["source"] = {"name": cells.get("source") or "unnamed", "licence": cells.get("licence") or "not stated"}
    return data | {name: cells[name] for name in ("key", "changed_on") if cells.get(name)}


def _split(cell: str) -> list[str]:
    return [part.strip() for part in cell.split("|") if part.strip()]


def _fact(data: dict[str, Any], path: Path) -> Fact:
    data = {k: v for k, v in data.items() if k != "kind"}
    for name in _NEEDED[:-1]:
        if name not in data:
            raise KeyError(name)
    subject = Entity.model_validate(_value(data["subject"]))
    relation = data["relation"]
    relation = Relation.model_validate(
        {"id": slug_id(relation), "label": relation} if isinstance(relation, str) else relation
    )
    new = data.get("new")
    change = data.get("change") or (
        "none" if new is None else "temporal" if data.get("changed_on") else "counterfactual"
    )
    made = {
        **data,
        "subject": subject,
        "relation": relation,
        "old": Object.model_validate(_value(data["old"])),
        "new": None if new is None else Object.model_validate(_value(new)),
        "change": change,
        "key": data.get("key") or f"{slug(path.stem)}/{slug(relation.id)}/{slug(subject.text)}",
        "source": Source.model_validate(data["source"])
        if "source" in data
        else Source(name=path.name, licence="not stated"),
    }
    return Fact.model_validate(made)


def slug_id(text: str) -> str:
    """A relation's id: a property id stays as it is, other names become a slug."""
    return text if text[:1] == "P" and text[1:].isdigit() else slug(text)


def _value(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value
