"""Cases of a split, of whatever type: read from their JSON, held or read anew each time they are gone through."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from schemas.cases import AnyCase, Case, DocumentCase, EventCase
from schemas.core.errors import DataError, UserError

C = TypeVar("C", bound=AnyCase)

FACT = "fact"
DOCUMENT = "document"
CASE_TYPES: Mapping[str, type[Case] | type[EventCase] | type[DocumentCase]] = {
    FACT: Case,
    "event": EventCase,
    DOCUMENT: DocumentCase,
}
"""What a split's edits can be, as its header's ``type`` says it; a header without one is of facts."""

_OF = {cls: name for name, cls in CASE_TYPES.items()}


def case_type(case: AnyCase) -> str:
    """The type of a case: ``fact``, ``event`` or ``document``."""
    return _OF[type(case)]


def type_of_cases(cases: Iterable[AnyCase], where: str) -> str:
    """The one type of all cases (``fact`` where there is none).

    Raises:
        UserError: cases of several types.
    """
    return one_type({case_type(case) for case in cases}, where)


def one_type(types: Collection[str], where: str) -> str:
    """The only one of some types (``fact`` where there is none).

    Raises:
        UserError: several: a split holds edits of one type.
    """
    if len(types) > 1:
        raise UserError(
            f"the cases are edits of several types ({', '.join(sorted(types))})",
            where=where,
            allowed="one type a split",
            fix="make a split of each",
        )
    return next(iter(types), FACT)


def header_type(header: Mapping[str, Any], where: str) -> str:
    """The type of a split's cases, as its header says.

    Raises:
        DataError: a type that this version does not know.
    """
    name = str(header.get("type", FACT))
    if name not in CASE_TYPES:
        raise DataError(
            f"cases of the type '{name}' are not known",
            where=where,
            allowed=", ".join(CASE_TYPES),
            fix="upgrade scedit",
        )
    return name


def read_case(line: str | bytes) -> AnyCase:
    """A case from its JSON text, by the ``type`` that stands in it; a text without one is a fact's.

    Raises:
        ValidationError, ValueError: not a case.
    """
    text = line if isinstance(line, str) else line.decode()
    if '"type"' not in text:
        return Case.model_validate_json(text)
    data = json.loads(text)
    named = data.get("type", FACT) if isinstance(data, dict) else FACT
    return CASE_TYPES.get(named if isinstance(named, str) else FACT, Case).model_validate_json(text)


class CaseStream(Sequence[C], Generic[C]):
    """Cases that are read anew each time they are gone through; one at a time is in memory.

    Args:
        count: How many there are.
        read: Begins a new pass over them.
    """

    def __init__(self, count: int, read: Callable[[], Iterator[C]]) -> None:
        self._count, self._read = count, read

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[C]:
        return self._read()

    @overload
    def __getitem__(self, place: int) -> C: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[C, ...]: ...
    def __getitem__(self, place: int | slice) -> C | tuple[C, ...]:
        """A case (reads up to there), or some cases (reads all)."""
        if isinstance(place, slice):
            return tuple(self._read())[place]
        return next(itertools.islice(self._read(), range(self._count)[place], None))


def fact_cases(cases: Sequence[AnyCase], type: str, name: str) -> Sequence[Case]:
    """The same cases, which must be edits of facts.

    Raises:
        UserError: they are edits of another type.
    """
    if type != FACT:
        raise UserError(
            f"this works on edits of facts, and the split's edits are {type}s",
            where=name,
            fix="choose a split of facts; the store's: scedit store stats",
        )
    return cases  # type: ignore[return-value]
