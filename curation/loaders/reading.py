"""Raw records from files, one at a time, each with its place; faults are items, not exceptions.

A file is a table (``.csv``, ``.tsv``), JSON lines, one JSON array (a record a line, or spread over many), or one JSON
object (a document). Of an array the text is held in memory, of all others one record.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import re
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

from schemas.core.decoding import wide_encoding
from schemas.core.errors import DataError, UserError
from schemas.text.counting import counted

NOT_UTF8 = "not UTF-8 text (Latin-1 or Windows-1252, perhaps): save the file as UTF-8"
_FORMATS = "see the formats: scedit data formats"
_FOREIGN = ((b"\x1f\x8b", "a gzip file"), (b"PK\x03\x04", "a zip file"), (b"PAR1", "a Parquet file"))
_SPACE = re.compile(r"\s*")


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


def rows(
    path: Path, *, nan_as_null: bool = False, check_header: Callable[[Sequence[str]], None] | None = None
) -> Iterator[Row | Problem]:
    """Records of a file in order, and what is no record.

    Args:
        path: The file.
        nan_as_null: Read the bare word NaN as null; else it is a problem.
        check_header: Refuses the names of a table's columns.

    Raises:
        UserError: absent or unreadable.
        DataError: empty, packed, or in UTF-16 or UTF-32: not a text file of ours at all.
    """
    with opened_text(path) as file:
        if is_table(path):
            yield from _table(_text_of(file), path, check_header)
            return
        parser = _Parser(nan_as_null=nan_as_null)
        read = _array if _first_byte(file, path) == b"[" else _lines
        yield from read(file, path, parser)


def is_table(path: Path) -> bool:
    """Whether a file is a table of cells, by its name."""
    return path.suffix.lower() in (".csv", ".tsv")


def check_divider(header: Sequence[str], path: Path) -> None:
    """Refuse a sheet whose one column is several, divided by something else.

    Raises:
        DataError: the columns are divided by semicolons, tabs or commas where another divider belongs.
    """
    expected = "tabs" if path.suffix.lower() == ".tsv" else "commas"
    dividers = {"semicolons": ";", "tabs": "\t", "commas": ","}
    divider = next((name for name, sign in dividers.items() if len(header) == 1 and sign in header[0]), None)
    if divider is not None and divider != expected:
        other = "; a sheet with tabs is called .tsv" if divider == "tabs" else ""
        raise DataError(
            f"the columns are divided by {divider}, a {path.suffix.lower()} file needs {expected}",
            where=f"{path}, line 1",
            fix=f"save the sheet again with {expected}{other}",
        )


@contextlib.contextmanager
def opened_text(path: Path) -> Iterator[BinaryIO]:
    """A file behind its byte-order mark; what is no UTF-8 text file is refused."""
    try:
        with open(path, "rb") as file:
            head = file.read(4)
            file.seek(3 if head.startswith(codecs.BOM_UTF8) else 0)
            if encoding := wide_encoding(head):
                raise DataError(f"not UTF-8 text but {encoding}", where=str(path), fix="save it as UTF-8")
            for magic, name in _FOREIGN:
                if head.startswith(magic):
                    raise DataError(f"{name}, not text", where=str(path), fix="unpack or convert it first")
            if b"\0" in head:
                raise DataError("not a text file", where=str(path), fix=_FORMATS)
            yield file
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path)) from None
    except csv.Error as error:
        raise DataError(f"not readable as a table: {error}", where=f"{path}, line 1") from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None


def _text_of(file: BinaryIO) -> TextIO:
    """The text of a file; bytes that are no UTF-8 come as lone surrogates."""
    return io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")


def _first_byte(file: BinaryIO, path: Path) -> bytes:
    """The first byte that is no white space; the file is left where it was."""
    begin = file.tell()
    while byte := file.read(1):
        if not byte.isspace():
            file.seek(begin)
            return byte
    raise DataError("the file is empty", where=str(path), fix=_FORMATS)


def _table(text: TextIO, path: Path, check_header: Callable[[Sequence[str]], None] | None) -> Iterator[Row | Problem]:
    """Lines of a table as dictionaries; the first line names the columns."""
    before = csv.field_size_limit(2**31 - 1)
    reader = csv.reader(text, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        if not any(header):
            raise DataError("the file is empty", where=str(path), fix=_FORMATS)
        check_divider(header, path)
        if twice := [name for name in header if header.count(name) > 1]:
            raise DataError(f"the column '{twice[0]}' stands twice", where=f"{path}, line 1")
        if check_header is not None:
            check_header(header)
        number = 0
        while True:
            first = reader.line_num + 1
            try:
                values = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                cut = "unexpected end" in str(error)
                what = "the file is cut off inside a quoted cell, or a quotation mark is missing" if cut else str(error)
                yield Problem(f"{path}, line {first}", "truncated" if cut else "malformed", what)
                continue
            if any(v.strip() for v in values):
                number += 1
                yield _cells(header, values, Row(f"{path}, line {reader.line_num}", {}, number))
    finally:
        csv.field_size_limit(before)


def _cells(header: list[str], values: list[str], row: Row) -> Row | Problem:
    if len(values) != len(header):
        return row.problem("malformed", f"{counted(len(values), 'cell')} under {counted(len(header), 'column')}")
    if not _is_text("".join(values)):
        return row.problem("malformed", NOT_UTF8)
    return row._replace(data=dict(zip(header, (v.strip() for v in values), strict=True)))


class _Parser:
    """JSON text to values; notes what Python's reader would let pass: names that stand twice, NaN, halves of pairs."""

    def __init__(self, *, nan_as_null: bool) -> None:
        self._odd: str | None = None
        self._nan_as_null = nan_as_null
        self._decoder = json.JSONDecoder(object_pairs_hook=self._pairs, parse_constant=self._constant)

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(n for n in names if names.count(n) > 1)
            self._odd = f"the field '{twice}' stands twice in one object"
        return fields

    def _constant(self, name: str) -> None:
        if name != "NaN" or not self._nan_as_null:
            self._odd = f"{name} is not a JSON value"

    def value(self, text: str, at: int) -> tuple[Any, int]:
        """The value that begins at a place, and where it ends."""
        self._odd = None
        return self._decoder.raw_decode(text, at)

    def whole(self, text: str) -> Any:
        """The one value of a text."""
        self._odd = None
        return self._decoder.decode(text)

    def row(self, value: Any, text: str, where: str, number: int) -> Row | Problem:
        """The value of a text as a row, or why it is none."""
        if not isinstance(value, dict):
            return Problem(where, "malformed", f"an object is expected, not {type(value).__name__}")
        odd = self._odd
        if not text.isascii() and not _is_text(text):
            odd = NOT_UTF8
        elif "\\ud" in text or "\\uD" in text:
            odd = odd or (None if _is_text(json.dumps(value, ensure_ascii=False)) else "half of a surrogate pair")
        return Problem(where, "malformed", odd) if odd else Row(where, value, number)


def _is_text(text: str) -> bool:
    """Whether a text can be written as UTF-8: bytes that are no UTF-8 come as lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _lines(file: BinaryIO, path: Path, parser: _Parser) -> Iterator[Row | Problem]:
    begin, seen = file.tell(), 0
    for number, raw in enumerate(file, 1):
        if not raw.strip():
            continue
        seen += 1
        if seen == 1 and raw.strip() == b"{":  # one object over many lines
            file.seek(begin)
            yield _line(file.read().rstrip(), parser, f"{path}, line 1", 1)
            return
        yield _line(raw, parser, f"{path}, line {number}", seen)


def _line(raw: bytes, parser: _Parser, where: str, number: int) -> Row | Problem:
    try:
        text = raw.decode("utf-8")
        return parser.row(parser.whole(text), text, where, number)
    except UnicodeDecodeError as error:
        return Problem(where, "malformed", f"byte {error.start + 1} of the line is {NOT_UTF8}")
    except json.JSONDecodeError as error:
        what = f"not valid JSON: {error.msg}, column {error.colno}"
        if not raw.endswith(b"\n") and text.lstrip().startswith("{") and _is_cut_off(error, text):
            return Problem(where, "truncated", f"the file is cut off in its last record ({what})")
        return Problem(where, "malformed", what)
    except (ValueError, RecursionError) as error:
        return Problem(where, "malformed", _reason_of(error))


def _array(file: BinaryIO, path: Path, parser: _Parser) -> Iterator[Row | Problem]:
    """Records of a JSON array, whose text is in memory; reading ends at the first place that is no JSON."""
    text, number = _text_of(file).read(), 0
    breaks = [match.start() for match in re.finditer("\n", text)]
    at = _behind_space(text, _behind_space(text, 0) + 1)
    while at < len(text) and text[at] != "]":
        number += 1
        where = f"{path}, record {number}, line {bisect(breaks, at) + 1}"
        try:
            value, end = parser.value(text, at)
        except json.JSONDecodeError as error:
            cut = _is_cut_off(error, text)
            before = counted(number - 1, "whole record stands", "whole records stand")
            tail = f"the file is cut off here, {before} before it" if cut else "the rest of the file cannot be read"
            yield Problem(where, "truncated" if cut else "malformed", f"not valid JSON: {error.msg}; {tail}")
            return
        except (ValueError, RecursionError) as error:
            yield Problem(where, "malformed", f"{_reason_of(error)}; the rest of the file cannot be read")
            return
        yield parser.row(value, text[at:end], where, number)
        at = _behind_space(text, end)
        if text.startswith(",", at):
            at = _behind_space(text, at + 1)
        elif at < len(text) and text[at] != "]":
            what = f"no comma after record {number}; the rest of the file cannot be read"
            yield Problem(f"{path}, line {bisect(breaks, at) + 1}", "malformed", what)
            return
    behind = _behind_space(text, at + 1)
    where = f"{path}, line {bisect(breaks, behind) + 1}"
    if at == len(text):
        what = f"the file is cut off after record {number}: the array is not closed"
        yield Problem(where, "truncated", what)
    elif behind < len(text):
        yield Problem(where, "malformed", "there is text after the end of the array")


def _behind_space(text: str, at: int) -> int:
    """The place of the next character that is no white space, or the end."""
    match = _SPACE.match(text, at)
    return match.end() if match is not None else at


def _is_cut_off(error: json.JSONDecodeError, text: str) -> bool:
    r"""Whether a fault is the end of the whole text: nothing stands behind it but a piece of a word or an escape.

    Example:
        >>> def fault(text):
        ...     try:
        ...         json.loads(text)
        ...     except json.JSONDecodeError as error:
        ...         return _is_cut_off(error, text)
        >>> fault('{"a": tru'), fault('{"a": [1'), fault('{"a" 1}')
        (True, True, False)
    """
    behind = text.rstrip()[error.pos :]
    return error.msg.startswith("Unterminated") or (len(behind) <= 6 and not behind.endswith(("]", "}")))


def _reason_of(error: Exception) -> str:
    """Why Python could not read a value."""
    return "nested too deep" if isinstance(error, RecursionError) else str(error).split(";")[0]
