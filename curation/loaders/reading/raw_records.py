"""Raw records and problems, each with its place; and JSON text to values, stricter than Python reads it."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

LIMIT = 64 * 2**20
"""Longest record, in bytes of a line or characters of an array's element."""
CHUNK = 2**18
"""What is read at once."""


# an escaped backslash, a whole pair of surrogates, or any other escape: only the last kind is looked at
_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPES = re.compile(rf"\\\\|{_PAIR}|(\\u[0-9a-fA-F]{{4}})")


class Problem(NamedTuple):
    """Something wrong at one place of a file.

    ``kind``: malformed, invalid, truncated or duplicate (a record is left out). Any other kind (contradictory, suspect,
    count, left, quirk, impossible-answer, and those of ``curation.loaders.audit``) loses nothing: the records stand,
    but look at them. ``item`` is the key of the record that is meant, where an erratum could name it.
    """

    where: str
    kind: str
    what: str
    item: str | None = None

    @property
    def lost(self) -> bool:
        """Whether a record could not be used. Contradictory ones are kept: a relation may have several objects."""
        return self.kind in ("malformed", "invalid", "truncated", "duplicate")


class Row(NamedTuple):
    """One raw record, where it stands, and its number from 1."""

    where: str
    data: dict[str, Any]
    number: int = 0

    def problem(self, kind: str, what: str) -> Problem:
        """A problem at this row."""
        return Problem(self.where, kind, what)


class Parser:
    """JSON text to values; notes what Python's reader would let pass: names that stand twice, NaN and Infinity.

    Args:
        nan_as_null: Read the bare word NaN as null, for sources that write it where a value is missing.
    """

    def __init__(self, *, nan_as_null: bool = False) -> None:
        self.odd: str | None = None
        self._nan_as_null = nan_as_null
        self._decoder = json.JSONDecoder(object_pairs_hook=self._pairs, parse_constant=self._constant)
        self._lenient = json.JSONDecoder(
            object_pairs_hook=self._pairs, parse_constant=self._constant, parse_int=self._integer, strict=False
        )

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(n for n in names if names.count(n) > 1)
            self.odd = f"the field '{twice}' stands twice in one object"
        return fields

    def _constant(self, name: str) -> None:
        if name == "NaN" and self._nan_as_null:
            return
        self.odd = f"{name} is not a JSON value"

    def _integer(self, digits: str) -> int:
        try:
            return int(digits)
        except ValueError:
            self.odd = f"a number of {len(digits):,} digits"
            return 0

    def value(self, text: str, at: int) -> tuple[Any, int]:
        """The value that begins at a place, and where it ends.

        What is no JSON, and ends where one can tell, is passed over and noted: a line end or another control character
        inside a text, a number that is too long.
        """
        self.odd = None
        try:
            value, end = self._decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Invalid control character"):
                raise
            self.odd = None
            value, end = self._lenient.raw_decode(text, at)
            column = error.pos - text.rfind("\n", 0, error.pos)
            self.odd = f"a line end or another control character inside a text (column {column})"
        except ValueError:
            self.odd = None
            value, end = self._lenient.raw_decode(text, at)
        self._half_pair(text, at, end)
        return value, end

    def whole(self, text: str) -> Any:
        """The one value of a text."""
        self.odd = None
        try:
            value, end = self._decoder.raw_decode(text)  # the usual line, without looking for white space around it
            usual = end == len(text) or text[end:] == "\n"
        except ValueError:
            usual = False
        if not usual:
            value = self._decode(text)
        self._half_pair(text, 0, len(text))
        return value

    def _decode(self, text: str) -> Any:
        self.odd = None
        try:
            return self._decoder.decode(text)
        except json.JSONDecodeError:
            raise
        except ValueError:
            self.odd = None
            return self._lenient.decode(text)

    def _half_pair(self, text: str, start: int, end: int) -> None:
        """Note an escaped half of a surrogate pair, and its column: JSON lets it pass, no file can hold it."""
        if text.find("\\u", start, end) < 0:
            return
        for match in _ESCAPES.finditer(text, start, end):
            code = match[1]
            if code and len(code) == 6 and code[2] in "dD" and code[3] in "89abcdefABCDEF":
                column = match.start(1) - text.rfind("\n", 0, match.start(1))
                self.odd = f"half of a surrogate pair ({code}, column {column}), which no text can hold"
                return


def unclean(text: str) -> bool:
    """Whether bytes that are no UTF-8 came in."""
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


NOT_UTF8 = "not UTF-8 text (Latin-1 or Windows-1252, perhaps): save the file as UTF-8"


def incomplete(error: json.JSONDecodeError, text: str) -> bool:
    """Whether a fault may be nothing but the end of the text that was read so far."""
    return error.pos >= len(text) - 16 or error.msg.startswith("Unterminated")


def cut_off(error: json.JSONDecodeError, text: str) -> bool:
    r"""Whether a fault is the end of the whole text: nothing stands behind it but a piece of a word or an escape.

    Example:
        >>> def fault(text):
        ...     try:
        ...         json.loads(text)
        ...     except json.JSONDecodeError as error:
        ...         return cut_off(error, text)
        >>> fault('{"a": tru'), fault('{"a": [1'), fault('{"a" 1}')
        (True, True, False)
    """
    behind = text.rstrip()[error.pos :]
    return error.msg.startswith("Unterminated") or (len(behind) <= 6 and not behind.endswith(("]", "}")))


def size_of(limit: int) -> str:
    """A size in words."""
    return f"{limit / 2**20:.3g} MiB"


def row_of(value: Any, parser: Parser, where: str, number: int) -> Row | Problem:
    """A parsed value as a row, or why it is none."""
    if parser.odd:
        return Problem(where, "malformed", parser.odd)
    if not isinstance(value, dict):
        return Problem(where, "malformed", f"an object is expected, not {type(value).__name__}")
    return Row(where, value, number)


def reason_of(error: Exception) -> str:
    """Why Python could not read a value."""
    return "nested too deep" if isinstance(error, RecursionError) else str(error).split(";")[0]
