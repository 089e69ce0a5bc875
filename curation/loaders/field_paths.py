"""The whole path of a field that a loader could not read: where it stands in a nested record, not its last name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from curation.loaders.fields import FieldValueError, kind_of
from curation.loaders.reading import Row
from schemas.core.config import explain

_PYTHONS = re.compile("object|indices|attribute|index out of range")
"""Words of errors that Python raises itself; others were written for people."""


def explain_field(error: Exception, row: Row, make: Callable[[Row], Iterable[object]]) -> str:
    """What is wrong with a record that raised an error, with the whole path of the field.

    The record is read once more, by a reader that has seen no other, and every field that it takes is noted. Good
    records pay nothing.

    Args:
        error: What the first reading raised.
        row: The record.
        make: A fresh reader's reading of one record.

    Example:
        >>> row = Row("f.json, record 1", {"edit": {"new": {"id": 1}}})
        >>> def make(row):
        ...     return [row.data["edit"]["new"]["str"]]
        >>> explain_field(KeyError("str"), row, make)
        "the field 'edit.new.str' is missing"
    """
    trail = _Trail()
    try:
        list(make(row._replace(data=_PlacedObject(row.data, "", trail))))
    except type(error) as again:
        if str(again) == str(error) or isinstance(error, TypeError | AttributeError):
            return _explain(error, trail)
    except Exception:  # noqa: BLE001 - only the first error counts: a reader may need the records before this one
        pass
    return _explain(error, _Trail())


JSON_TYPES = {"tuple_type": "a list", "list_type": "a list", "model_type": "an object", "dict_type": "an object"}
"""What a value of a record should be, by pydantic's type of complaint."""


def explain_invalid(error: ValidationError, row: Row, make: Callable[[Row], Iterable[object]]) -> str:
    """What pydantic says of a record, with the whole path where a part of it was made on its own (an object's text).

    The record is read once more, as in ``explain_field``; a path is named where the value that pydantic refused is
    the field that was taken last, or lies in it.

    Args:
        error: What the first reading raised.
        row: The record.
        make: A fresh reader's reading of one record.
    """
    text, first = explain(error, types=JSON_TYPES), error.errors()[0]
    trail = _Trail()
    try:
        list(make(row._replace(data=_PlacedObject(row.data, "", trail))))
    except ValidationError as again:
        if trail.place and _complaints(again) == _complaints(error):
            return _under(trail, text, first["loc"], first["input"])
    except Exception:  # noqa: BLE001 - only the first error counts: a reader may need the records before this one
        pass
    return text


def _complaints(error: ValidationError) -> list[tuple[Any, str]]:
    return [(complaint["loc"], complaint["msg"]) for complaint in error.errors()]


def _under(trail: _Trail, text: str, part: tuple[int | str, ...], refused: object) -> str:
    """A complaint about a part of a value, under the place where that was taken; as it is where it was not."""
    if trail.value is not None and refused == trail.value:
        return f"{trail.place}: {text.removeprefix('.'.join(map(str, part)) + ': ')}"
    outer = trail.place.removesuffix(trail.name).rstrip(".")
    for place, value in ((trail.place, trail.value), (outer, trail.holder)):
        for name in part:
            value = dict(value).get(name) if isinstance(value, dict) else None
        if value is not None and refused == value:
            return f"{place}.{text}".lstrip(".")
    return text


def _explain(error: Exception, trail: _Trail) -> str:
    if isinstance(error, KeyError):
        name = str(error.args[0]) if error.args else ""
        return f"the field '{_place_of(trail, name)}' is missing"
    if isinstance(error, FieldValueError) and (error.name or trail.place):
        return f"the field '{_place_of(trail, error.name) if error.name else trail.place}' {error.what}"
    if isinstance(error, TypeError | AttributeError | IndexError) and trail.place and _PYTHONS.search(str(error)):
        return f"the field '{trail.place}' is {kind_of(trail.value)}, which cannot be read here"
    return str(error)


def _place_of(trail: _Trail, name: str) -> str:
    return trail.place if trail.name == name else name


class _Trail:
    """The field that was taken last: its path, its own name, its value (None: it is not there), what it stands in."""

    def __init__(self) -> None:
        self.place = self.name = ""
        self.value: Any = None
        self.holder: Any = None

    def note(self, place: str, name: str, value: Any, holder: Any) -> None:
        self.place, self.name, self.value, self.holder = place, name, value, holder


class _PlacedObject(dict[str, Any]):
    """A JSON object that notes which of its fields are taken."""

    def __init__(self, value: dict[str, Any], place: str, trail: _Trail) -> None:
        super().__init__({k: _placed(v, f"{place}.{k}" if place else k, trail) for k, v in value.items()})
        self._place, self._trail = place, trail

    def __getitem__(self, name: str) -> Any:
        self._note(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._note(name)
        return super().get(name, default)

    def _note(self, name: str) -> None:
        self._trail.note(f"{self._place}.{name}" if self._place else str(name), name, super().get(name), self)


class _PlacedList(list[Any]):
    """A JSON list that notes which of its items are taken; the first one is [0], as in JSON paths."""

    def __init__(self, value: list[Any], place: str, trail: _Trail) -> None:
        super().__init__(_placed(v, f"{place}[{n}]", trail) for n, v in enumerate(value))
        self._place, self._trail = place, trail

    def __getitem__(self, number: Any) -> Any:
        value = super().__getitem__(number)
        if isinstance(number, int):
            self._trail.note(f"{self._place}[{number}]", str(number), value, self)
        return value

    def __iter__(self) -> Iterator[Any]:
        for number, value in enumerate(super().__iter__()):
            self._trail.note(f"{self._place}[{number}]", str(number), value, self)
            yield value


def _placed(value: Any, place: str, trail: _Trail) -> Any:
    if isinstance(value, dict):
        return _PlacedObject(value, place, trail)
    return _PlacedList(value, place, trail) if isinstance(value, list) else value
