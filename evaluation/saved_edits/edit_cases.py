"""The cases of an edit that is to be saved: a file of facts, a frozen split, or a shipped one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from curation.case_sources.support import cases_from_facts
from curation.splits.partition import shared_values
from curation.splits.split_file import load_split
from schemas.cases import Case
from schemas.core.errors import UserError


def open_edit_cases(source: str, *, limit: int | None = None) -> tuple[Case, ...]:
    """The cases that a source names, in order of their keys; all of them are edited together.

    Neighbours that are edited themselves are left out: that they change is wanted.

    Args:
        source: A shipped split, a frozen split file (which also holds script prompts), or a file of facts in any
            format of ``scedit data formats``.
        limit: Take at most so many.

    Raises:
        UserError: no such file, no fact with a new object in it, or two that contradict each other.
    """
    cases = [case for case in _read(source) if case.fact.new is not None][:limit]
    if not cases:
        raise UserError("no fact has a new object: there is nothing to edit", where=source, fix="give it facts to edit")
    edited = _edited(cases, source)
    return tuple(_without_edited(case, edited) for case in cases)


def _read(source: str) -> Sequence[Case]:
    from curation.loaders import load
    from curation.shipped import SHIPPED_NAMES, SPLITS, shipped_split

    if source in SPLITS:
        return shipped_split(source).cases
    path = Path(source)
    if source != "shipped" and not path.is_file():
        raise UserError(
            f"there is no file '{source}'", allowed=f"a file of facts, a split file, {SHIPPED_NAMES}, shipped"
        )
    if source != "shipped" and _is_split(path):
        return load_split(path).cases
    return cases_from_facts(load(source).require())


def _is_split(path: Path) -> bool:
    """Whether a file begins as a frozen split does."""
    try:
        with path.open(encoding="utf-8") as file:
            head = json.loads(file.readline(1_000_000))
    except (OSError, ValueError, RecursionError):
        return False  # the loaders say what is wrong
    return isinstance(head, dict) and {"split", "digest", "cases"} <= head.keys()


def _edited(cases: Sequence[Case], source: str) -> set[tuple[str, ...]]:
    """What is edited, by subject and relation.

    Raises:
        UserError: one fact is to get two new objects.
    """
    known: dict[tuple[str, ...], Case] = {}
    for case in cases:
        for value in shared_values(case.fact, ["fact"]):
            other = known.setdefault(value, case)
            if other.fact.new_object.text != case.fact.new_object.text:
                raise UserError(
                    f"'{other.fact.key}' and '{case.fact.key}' give one fact two new objects, "
                    f"{other.fact.new_object.text!r} and {case.fact.new_object.text!r}",
                    where=source,
                    fix="keep one of them",
                )
    return set(known)


def _without_edited(case: Case, edited: set[tuple[str, ...]]) -> Case:
    neighbours = tuple(n for n in case.neighbours if edited.isdisjoint(shared_values(n.fact, ["fact"])))
    return case if len(neighbours) == len(case.neighbours) else case.model_copy(update={"neighbours": neighbours})
