"""Facts from files, whatever shape they come in."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.loaders.base import Loader, LoadResult, LocatedRecord, Problem
from curation.loaders.reading import Row, is_table, rows
from schemas.core.errors import DataError
from schemas.core.registry import Registry

if TYPE_CHECKING:
    from curation.loaders.formats.native import TableMapping

LOADERS = Registry(
    "loader",
    shipped=(
        "jsonl",
        "csv",
        "table",
        "counterfact",
        "counterfact-flat",
        "scedit-cf",
        "scedit-t",
        "scedit-paper",
        "wikifactdiff",
        "zsre",
        "mquake",
        "knowedit",
        "ripple",
        "known-1000",
        "relations",
        "facts-dev",
        "elken",
        "mulfe",
        "mulfe-specificity",
        "mquake-hops",
        "ripple-probes",
        "knowedit-probes",
        "qaedit",
        "wikibigedit",
        "ultraeditbench",
        "uniedit",
    ),
)

__all__ = [
    "LOADERS",
    "LoadResult",
    "LocatedRecord",
    "Problem",
    "RecordStream",
    "detect",
    "load",
    "stream",
]

_SIGNS: tuple[tuple[str, frozenset[str]], ...] = (
    ("scedit-cf", frozenset({"subject", "ground_truth", "target_new", "rephrase_prompts"})),
    ("scedit-t", frozenset({"subject", "old_update", "new_update"})),
    ("scedit-paper", frozenset({"construction_example", "case_study"})),
    ("wikifactdiff", frozenset({"update_prompt", "objects"})),
    ("zsre", frozenset({"src", "alt", "answers"})),
    ("ripple", frozenset({"edit", "example_type"})),
    ("known-1000", frozenset({"known_id", "attribute"})),
    ("relations", frozenset({"prompt_templates", "samples"})),
    ("facts-dev", frozenset({"prompt_template", "target_true", "target_new"})),
    ("knowedit", frozenset({"subject", "prompt", "target_new", "portability"})),
    ("knowedit", frozenset({"subject", "prompt", "target_new", "locality"})),
    ("knowedit", frozenset({"text", "labels", "concept"})),
    ("counterfact-flat", frozenset({"ground_truth", "target_new", "prompt"})),
    ("qaedit", frozenset({"subject", "prompt", "target", "locality"})),
    ("wikibigedit", frozenset({"subject", "update", "ans"})),
    ("wikibigedit", frozenset({"subject", "src", "alt", "mhop"})),
    ("ultraeditbench", frozenset({"subject", "prompt", "ans", "rephrase_prompt"})),
    ("uniedit", frozenset({"edit", "generality", "locality"})),
    ("elken", frozenset({"event", "event_type", "fact", "tendency"})),
    ("mulfe", frozenset({"doc", "probes"})),
    ("mulfe", frozenset({"doc", "generated_probes"})),
    ("mulfe-specificity", frozenset({"query", "answer", "metrics"})),
    ("jsonl", frozenset({"subject", "prompt", "old"})),
    ("jsonl", frozenset({"kind", "key"})),
)
"""Fields that tell a shape, the more telling ones first."""
LOOKED_AT = 100
"""Records without a known shape after which a file has none."""


def detect(path: Path) -> str:
    """The format of a file, from its name and its first record; from one of the next where that one has no shape.

    Raises:
        DataError: no known format.
    """
    if is_table(path):
        return "csv"
    bad: Problem | None = None
    first: Row | None = None
    for number, row in enumerate(rows(path, nan_as_null=True)):  # whether NaN may stand there, its loader knows
        if isinstance(row, Row):
            if shape := _shape(row.data):
                return shape
            first = first or row
            if number >= LOOKED_AT:
                break
        else:
            bad = bad or row
    if first is not None:
        raise _unknown_shape(first.data, path)
    if bad is not None:
        raise DataError(bad.what, where=bad.where)
    raise DataError("holds no record", where=str(path))


def _shape(data: dict[str, Any]) -> str | None:
    edit = data.get("requested_rewrite")
    if edit is not None:
        return "mquake" if isinstance(edit, list) else "counterfact"
    if shape := next((name for name, fields in _SIGNS if fields <= data.keys()), None):
        return shape
    tasks = [value for value in data.values() if isinstance(value, dict)]
    if tasks and len(tasks) == len(data):
        inside = {_shape(value) for value in tasks}
        return next((name for name in ("knowedit", "uniedit") if inside == {name}), None)
    return None


def _unknown_shape(data: dict[str, Any], path: Path) -> DataError:
    if {"annotation_id", "lead_time"} <= data.keys():
        what = "annotations of Label Studio in its format JSON-MIN, and no facts"
        return DataError(what, where=str(path), fix="export as 'JSON', read by annotate label-studio pull")
    if {"split", "digest", "cases"} <= data.keys():
        return DataError("a frozen split, and no facts", where=str(path), fix=f"scedit split add {path} --store STORE")
    return DataError(
        f"not a known shape of facts (its first record has {', '.join(sorted(data)[:6])})",
        where=str(path),
        allowed=", ".join(LOADERS.names()),
        fix="name it with --format, or map its columns: --map old=answer",
    )


class RecordStream(NamedTuple):
    """A file's records and problems, one at a time, and the format they are read as."""

    format: str
    items: Iterator[LocatedRecord | Problem]


def stream(
    path: Path | str, format: str | None = None, *, mapping: TableMapping | None = None, named: Path | None = None
) -> RecordStream:
    """The same as ``load``, one record at a time: memory holds one row and a short entry for each fact seen.

    Args:
        path: As for ``load``.
        format: As for ``load``.
        mapping: As for ``load``.
        named: Another file's name, for keys that are made of the file's name.
    """
    loader, path = _opened(path, format, mapping)
    return RecordStream(loader.format, loader.stream(path, named))


def load(
    path: Path | str,
    format: str | None = None,
    *,
    mapping: TableMapping | None = None,
    named: Path | str | None = None,
) -> LoadResult:
    """Facts of a file with what else it holds; what cannot be read is returned beside them, by line.

    Args:
        path: JSONL, JSON or CSV file; or ``shipped`` for the facts that come with this package.
        format: A name in ``LOADERS``; found from the file when left out.
        mapping: For a foreign table: which column is what; see ``curation.loaders.formats.native.read_mapping``.
        named: Another file's name, for keys that are made of the file's name.
    """
    loader, path = _opened(path, format, mapping)
    return loader(path, None if named is None else Path(named))


def _opened(path: Path | str, format: str | None, mapping: TableMapping | None) -> tuple[Loader, Path]:
    """The loader of a file, and the file."""
    if str(path) == "shipped":
        from curation.shipped import SHIPPED

        return LOADERS.get("jsonl"), SHIPPED / "facts.jsonl"
    path = Path(path)
    if mapping is None:
        return LOADERS.get(format or detect(path)), path
    from curation.loaders.formats.native import MappedTable

    return Loader("table", partial(MappedTable, mapping)), path
