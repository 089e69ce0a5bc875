"""Raw records from JSON files, one at a time in bounded memory, each with its place; faults are items, not exceptions.

A file is JSON lines, one JSON array (a record a line, or spread over many), or one JSON object (a document).
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from schemas.errors import DataError, UserError

LIMIT = 64 * 2**20
"""Longest record, in bytes of a line or characters of an array's element."""
_CHUNK = 2**18
_SPACE = re.compile(r"[ \t\n\r]*")
_FOREIGN = ((b"\x1f\x8b", "a gzip file"), (b"PK\x03\x04", "a zip file"), (b"PAR1", "a Parquet file"))


class Problem(NamedTuple):
    """Something wrong at one place of a file.

    ``kind``: malformed, invalid, truncated or duplicate (a record is left out); contradictory, suspect, count or left
    (nothing is lost: the records stand, but look at them).
    """

    where: str
    kind: str
    what: str

    @property
    def lost(self) -> bool:
        """Whether a record could not be used. Contradictory ones are kept: a relation may have several objects."""
        return self.kind not in ("contradictory", "suspect", "count", "left")


class Row(NamedTuple):
    """One raw record, where it stands, and its number from 1."""

    where: str
    data: dict[str, Any]
    number: int = 0

    def problem(self, kind: str, what: str) -> Problem:
        """A problem at this row."""
        return Problem(self.where, kind, what)


def rows(path: Path, *, limit: int = LIMIT) -> Iterator[Row | Problem]:
    """Records of a JSON file in order, and what is no record.

    Args:
        path: The file.
        limit: Longest record that is read; a longer one is a problem.

    Raises:
        UserError: absent or unreadable.
        DataError: empty, packed, or UTF-16: not a text file of ours at all.
    """
    try:
        with open(path, "rb") as file:
            first = _first(file, path)
            if first == b"[":
                yield from array(_text(file), path, limit=limit)
            else:
                yield from _lines(file, path, limit=limit)
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path)) from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None


def start(file: BinaryIO, path: Path) -> None:
    """Step over a byte-order mark; refuse what is no UTF-8 text file.

    Raises:
        DataError: a packed file, or UTF-16.
    """
    head = file.read(4)
    file.seek(3 if head.startswith(codecs.BOM_UTF8) else 0)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError("not UTF-8 text but UTF-16", where=str(path), fix="save it as UTF-8")
    for magic, name in _FOREIGN:
        if head.startswith(magic):
            raise DataError(f"{name}, not text", where=str(path), fix="unpack or convert it first")


def _first(file: BinaryIO, path: Path) -> bytes:
    """The first byte that is no white space; the file is left at its beginning."""
    start(file, path)
    begin = file.tell()
    while byte := file.read(1):
        if not byte.isspace():
            file.seek(begin)
            return byte
    raise DataError("the file is empty", where=str(path), fix="see the formats: scedit formats")


def _text(file: BinaryIO) -> Iterator[str]:
    """The file's text in pieces; bytes that are no UTF-8 become lone surrogates, so that their record can be named."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    while data := file.read(_CHUNK):
        yield decoder.decode(data)
    yield decoder.decode(b"", final=True)


class _Parser:
    """JSON text to values; notes what Python's reader would let pass: names that stand twice, NaN and Infinity."""

    def __init__(self) -> None:
        self.odd: str | None = None
        self._decoder = json.JSONDecoder(object_pairs_hook=self._pairs, parse_constant=self._constant)

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(n for n in names if names.count(n) > 1)
            self.odd = f"the field '{twice}' stands twice in one object"
        return made

    def _constant(self, name: str) -> None:
        self.odd = f"{name} is not a JSON value"

    def value(self, text: str, at: int) -> tuple[Any, int]:
        self.odd = None
        return self._decoder.raw_decode(text, at)

    def whole(self, text: str) -> Any:
        self.odd = None
        return self._decoder.decode(text)


def _unclean(text: str) -> bool:
    """Whether bytes that are no UTF-8 came in."""
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _incomplete(error: json.JSONDecodeError, text: str) -> bool:
    """Whether a fault may be nothing but the end of the text."""
    return error.pos >= len(text) - 16 or error.msg.startswith("Unterminated")


def _size(limit: int) -> str:
    return f"{limit / 2**20:.3g} MiB"


# ---- JSON lines, and documents ---------------------------------------------------------------------------------------


def _lines(file: BinaryIO, path: Path, *, limit: int) -> Iterator[Row | Problem]:
    parser, number, seen = _Parser(), 0, 0
    begin = file.tell()
    while raw := file.readline(limit + 1):
        number += 1
        where = f"{path}, line {number}"
        if len(raw) > limit:
            yield Problem(where, "malformed", f"the line is longer than {_size(limit)}")
            while raw and not raw.endswith(b"\n"):
                raw = file.readline(limit)
            continue
        if not raw.strip():
            continue
        seen += 1
        item = _line(raw, parser, where, seen)
        if seen == 1 and isinstance(item, Problem) and raw.lstrip().startswith(b"{"):
            after = file.tell()
            document = _document(file, begin, path, limit=limit)
            if document is not None:
                yield document
                return
            file.seek(after)
        yield item


def _line(raw: bytes, parser: _Parser, where: str, number: int) -> Row | Problem:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return Problem(where, "malformed", f"not UTF-8 text (byte {error.start + 1} of the line)")
    try:
        value = parser.whole(text)
    except json.JSONDecodeError as error:
        what = f"not valid JSON: {error.msg}, column {error.colno}"
        if not raw.endswith(b"\n") and text.lstrip().startswith("{") and _incomplete(error, text):
            return Problem(where, "truncated", f"the file is cut off in its last line ({what})")
        return Problem(where, "malformed", what)
    except (ValueError, RecursionError) as error:
        return Problem(where, "malformed", _reason(error))
    return _row(value, parser, where, number)


def _row(value: Any, parser: _Parser, where: str, number: int) -> Row | Problem:
    if parser.odd:
        return Problem(where, "malformed", parser.odd)
    if not isinstance(value, dict):
        return Problem(where, "malformed", f"an object is expected, not {type(value).__name__}")
    return Row(where, value, number)


def _reason(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else str(error).split(";")[0]


def _document(file: BinaryIO, begin: int, path: Path, *, limit: int) -> Row | Problem | None:
    """The whole file as one JSON object; None where it is none, or is too long to be one."""
    file.seek(begin)
    raw = file.read(limit + 1)
    if len(raw) > limit:
        return None
    where, parser = f"{path}, line 1", _Parser()
    try:
        value = parser.whole(raw.decode("utf-8"))
    except json.JSONDecodeError as error:
        if raw[:200].split(b"\n", 1)[0].strip() != b"{":  # lines of records open and close on one line
            return None
        kind, what = "malformed", f"not valid JSON: {error.msg}"
        if _incomplete(error, raw.decode("utf-8").rstrip()):
            kind, what = "truncated", "the file is cut off in the middle of its one object"
        return Problem(f"{path}, line {error.lineno}", kind, what)
    except (ValueError, RecursionError):
        return None
    return _row(value, parser, where, 1)


# ---- arrays ----------------------------------------------------------------------------------------------------------


class _Window:
    """The part of a long text that is being read: text, place in it, line of that place."""

    def __init__(self, pieces: Iterable[str], line: int) -> None:
        self._pieces = iter(pieces)
        self.text, self.at, self.ended = "", 0, False
        self._line, self._counted = line, 0

    def more(self, size: int = _CHUNK) -> None:
        """Drop what is behind, read at least ``size`` characters on."""
        self._line, behind = self.line(), self.at
        parts, got = [self.text[behind:]], 0
        while got < size:
            piece = next(self._pieces, None)
            if piece is None:
                self.ended = True
                break
            parts.append(piece)
            got += len(piece)
        self.text, self.at, self._counted = "".join(parts), 0, 0

    def line(self) -> int:
        """Line number at the present place."""
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def next(self) -> str:
        """The next character that is no white space (the place moves there), or "" at the end."""
        while True:
            self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self.text):
                return self.text[self.at]
            if self.ended:
                return ""
            self.more()

    def find(self, pattern: re.Pattern[str]) -> bool:
        """Move to the end of the first match after the next character less one; False: there is none."""
        self.at += 1
        while True:
            if found := pattern.search(self.text, self.at):
                self.at = found.end() - 1
                return True
            if self.ended:
                return False
            self.at = max(self.at, len(self.text) - 200)  # a match may lie across the border
            self.more()


class _Fault(NamedTuple):
    kind: str
    what: str


def _element(window: _Window, parser: _Parser, limit: int) -> Any | _Fault:
    """The value at the window's place, which moves behind it; a fault leaves the place where it is."""
    while True:
        try:
            value, end = parser.value(window.text, window.at)
        except json.JSONDecodeError as error:
            cut = _incomplete(error, window.text)
            if not (cut and not window.ended):
                return _Fault("truncated" if cut else "malformed", f"not valid JSON: {error.msg}")
        except (ValueError, RecursionError) as error:
            return _Fault("malformed", _reason(error))
        else:
            if end < len(window.text) or window.ended:
                if _unclean(window.text[window.at : end]):
                    parser.odd = "not UTF-8 text"
                window.at = end
                return value
        have = len(window.text) - window.at
        if have > limit:
            return _Fault("malformed", f"the record is longer than {_size(limit)}")
        window.more(max(_CHUNK, have))  # doubling keeps one long record linear


def array(pieces: Iterable[str], path: Path, *, limit: int = LIMIT, line: int = 1) -> Iterator[Row | Problem]:
    """Records of a JSON array given as pieces of text; the first character that is no white space is its ``[``.

    A broken record is passed over where the next one can be found (records begin on lines of equal indentation).
    An array without its end gives its whole records, then a ``truncated`` problem.

    Args:
        pieces: The text; pieces may end anywhere.
        path: The file, for the places.
        limit: Longest record, in characters.
        line: Line number of the first character.
    """
    window, parser, number = _Window(pieces, line), _Parser(), 0
    window.next()
    window.at += 1
    following: re.Pattern[str] | None = None
    while (char := window.next()) and char != "]":
        number += 1
        if number == 1:
            indent = window.text[: window.at].rpartition("\n")
            following = re.compile(re.escape("\n" + indent[2]) + r"\{") if indent[1] else None
        place = window.line()
        where = f"{path}, record {number}, line {place}"
        value = _element(window, parser, limit)
        if isinstance(value, _Fault):
            again = following is not None and window.find(following)
            kind = "truncated" if value.kind == "truncated" and not again else "malformed"
            tail = "" if again else _rest(kind, number)
            yield Problem(where, kind, value.what + tail)
            if not again:
                return
            continue
        yield _row(value, parser, where, number)
        if (char := window.next()) == ",":
            window.at += 1
        elif char and char != "]":
            yield Problem(f"{path}, line {window.line()}", "malformed", f"no comma after record {number}")
            if char != "{":
                return
    yield from _close(window, path, number)


def _rest(kind: str, number: int) -> str:
    if kind == "truncated":
        return f"; the file is cut off in the middle of record {number}, {number - 1} whole records stand before it"
    return "; the rest of the file cannot be read"


def _close(window: _Window, path: Path, number: int) -> Iterator[Problem]:
    if window.next() != "]":
        what = f"the file is cut off after record {number}: the array is not closed"
        yield Problem(f"{path}, line {window.line()}", "truncated", what)
        return
    window.at += 1
    if window.next():
        yield Problem(f"{path}, line {window.line()}", "malformed", "there is text after the end of the array")
