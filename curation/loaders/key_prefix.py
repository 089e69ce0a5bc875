"""Records under keys of their own: the same thing twice in a store, each with all that hangs on it."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from curation.splits.split_file import CaseStream, Extras, RunningDigest, Split, header_of
from schemas.cases import AnyCase, Case, CaseNeighbour, DocumentCase, EventCase
from schemas.core.errors import UserError
from schemas.core.records import Record

R = TypeVar("R", bound=Record)

_NAMED: dict[str, tuple[str, ...]] = {
    "fact": ("key",),
    "question": ("key", "fact"),
    "script": ("key", "question"),
    "prompt": ("key", "fact", "question", "script"),
    "neighbour": ("key", "edit", "fact"),
    "extra": ("key", "subject_key", "depends_on"),
    "event": ("key",),
    "fact_question": ("key", "event"),
    "tendency_question": ("key", "event"),
    "document": ("key",),
    "document_probe": ("key", "document"),
    "simplified_fact": ("key", "document"),
    "specificity_set": ("key",),
}
"""Fields that hold keys, by the kind of record."""


def check_prefix(name: str) -> str:
    """A name that can stand before keys.

    Raises:
        UserError: it has other characters than letters, digits, ``.``, ``-`` and ``_``.

    Example:
        >>> check_prefix("second-file")
        'second-file'
    """
    if not re.fullmatch(r"[\w-][\w.-]{0,99}", name):
        raise UserError(f"'{name}' cannot stand before keys", allowed="letters, digits, '.', '-' and '_'", where="--as")
    return name


def with_prefix(record: R, prefix: str) -> R:
    """The record with ``prefix/`` before its key and before every key that it names.

    Raises:
        UserError: a verdict, rating, run or the like, which belongs to one content and cannot be moved.

    Example:
        >>> from schemas.scripts import ScriptQuestion
        >>> moved = with_prefix(ScriptQuestion(key="f/1/q", fact="f/1", text="How?"), "b")
        >>> moved.key, moved.fact
        ('b/f/1/q', 'b/f/1')
    """
    return record.model_copy(update=_moved_fields(record, prefix))


def split_with_prefix(split: Split, prefix: str) -> Split:
    """A split of the same cases under keys of their own; it is called after the prefix and says what it was made of.

    Rule, errata and counts speak of the former keys and stay with the original.
    """
    running = RunningDigest()
    for case in split.all_cases:
        moved = with_prefix(case, prefix)
        running.add(moved.key, moved.payload())
    made_of = {"split": split.name, "version": split.version, "digest": split.digest}
    header = header_of(prefix, split.version, running.cases, running.hexdigest(), {"made_of": made_of}, type=split.type)
    cases = CaseStream(running.cases, lambda: (with_prefix(case, prefix) for case in split.all_cases))
    extras = Extras(with_prefix(e, prefix) for e in split.extras)
    return Split(prefix, split.version, running.hexdigest(), cases, header, extras)


def _moved_fields(record: Record, prefix: str) -> dict[str, Any]:
    """The fields of a record that hold keys, or records with keys, under the keys with the prefix."""
    if isinstance(record, Case | EventCase | DocumentCase):
        return {"key": f"case/{prefix}/{record.key.removeprefix('case/')}", **_moved_parts(record, prefix)}
    if record.kind not in _NAMED:
        raise UserError(
            f"a {record.kind} belongs to one content and cannot be imported under another key",
            where=record.key,
            allowed=", ".join(_NAMED),
            fix="import into a store of its own",
        )
    return {name: _add_prefix(getattr(record, name), prefix) for name in _NAMED[record.kind]}


def _moved_parts(case: AnyCase, prefix: str) -> dict[str, Any]:
    """What stands in a case, by field, under the keys with the prefix."""
    if isinstance(case, DocumentCase):
        probes = tuple(with_prefix(probe, prefix) for probe in case.probes)
        return {"document": with_prefix(case.document, prefix), "probes": probes}
    if isinstance(case, EventCase):
        return {
            "event": with_prefix(case.event, prefix),
            "facts": tuple(with_prefix(q, prefix) for q in case.facts),
            "tendencies": tuple(with_prefix(q, prefix) for q in case.tendencies),
        }
    return {
        "fact": with_prefix(case.fact, prefix),
        "questions": tuple(with_prefix(q, prefix) for q in case.questions),
        "prompts": tuple(with_prefix(p, prefix) for p in case.prompts),
        "neighbours": tuple(_neighbour(n, prefix) for n in case.neighbours),
    }


def _neighbour(neighbour: CaseNeighbour, prefix: str) -> CaseNeighbour:
    return CaseNeighbour(
        link=with_prefix(neighbour.link, prefix),
        fact=with_prefix(neighbour.fact, prefix),
        questions=tuple(with_prefix(q, prefix) for q in neighbour.questions),
        prompts=tuple(with_prefix(p, prefix) for p in neighbour.prompts),
    )


def _add_prefix(value: str | tuple[str, ...] | None, prefix: str) -> str | tuple[str, ...] | None:
    if isinstance(value, str):
        return f"{prefix}/{value}"
    return tuple(f"{prefix}/{v}" for v in value) if value is not None else None
