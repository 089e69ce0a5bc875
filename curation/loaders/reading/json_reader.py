"""Raw records from JSON files, one at a time in bounded memory, each with its place; faults are items, not exceptions.

A file is JSON lines, one JSON array (a record a line, or spread over many), or one JSON object (a document).
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from curation.loaders.reading.json_array import array
from curation.loaders.reading.raw_records import (
    CHUNK,
    LIMIT,
    NOT_UTF8,
    Parser,
    Problem,
    Row,
    cut_off,
    reason_of,
    row_of,
    size_of,
)
from schemas.core.decoding import wide_encoding
from schemas.core.errors import DataError, UserError

_FOREIGN = ((b"\x1f\x8b", "a gzip file"), (b"PK\x03\x04", "a zip file"), (b"PAR1", "a Parquet file"))


def rows(path: Path, *, limit: int = LIMIT, nan_as_null: bool = False) -> Iterator[Row | Problem]:
    """Records of a JSON file in order, and what is no record.

    Args:
        path: The file.
        limit: Longest record that is read; a longer one is a problem.
        nan_as_null: Read the bare word NaN as null; else it is a problem.

    Raises:
        UserError: absent or unreadable.
        DataError: empty, packed, or in UTF-16 or UTF-32: not a text file of ours at all.
    """
    parser = Parser(nan_as_null=nan_as_null)
    try:
        with open(path, "rb") as file:
            first = _first_byte(file, path)
            if first == b"[":
                yield from array(_text(file), path, limit=limit, parser=parser)
            else:
                yield from _lines(file, path, parser, limit=limit)
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path)) from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None


def start(file: BinaryIO, path: Path) -> None:
    """Step over a byte-order mark; refuse what is no UTF-8 text file.

    Raises:
        DataError: a packed file, one in UTF-16 or UTF-32, or no text.
    """
    head = file.read(4)
    file.seek(3 if head.startswith(codecs.BOM_UTF8) else 0)
    if encoding := wide_encoding(head):
        raise DataError(f"not UTF-8 text but {encoding}", where=str(path), fix="save it as UTF-8")
    for magic, name in _FOREIGN:
        if head.startswith(magic):
            raise DataError(f"{name}, not text", where=str(path), fix="unpack or convert it first")
    if b"\0" in head:
        raise DataError("not a text file", where=str(path), fix="see the formats: scedit data formats")


def _first_byte(file: BinaryIO, path: Path) -> bytes:
    """The first byte that is no white space; the file is left at its beginning."""
    start(file, path)
    begin = file.tell()
    while byte := file.read(1):
        if not byte.isspace():
            file.seek(begin)
            return byte
    raise DataError("the file is empty", where=str(path), fix="see the formats: scedit data formats")


def _text(file: BinaryIO) -> Iterator[str]:
    """The file's text in pieces; bytes that are no UTF-8 become lone surrogates, so that their record can be named."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    while data := file.read(CHUNK):
        yield decoder.decode(data)
    yield decoder.decode(b"", final=True)


def _lines(file: BinaryIO, path: Path, parser: Parser, *, limit: int) -> Iterator[Row | Problem]:
    number, seen, place = 0, 0, f"{path}, line "
    begin = file.tell()
    while raw := file.readline(limit + 1):
        number += 1
        where = f"{place}{number}"
        if len(raw) > limit:
            yield Problem(where, "malformed", f"the line is longer than {size_of(limit)}")
            while raw and not raw.endswith(b"\n"):
                raw = file.readline(limit)
            continue
        if not raw.strip():
            continue
        seen += 1
        item = _line(raw, parser, where, seen)
        if seen == 1 and isinstance(item, Problem) and raw.lstrip().startswith(b"{"):
            after = file.tell()
            document = _document(file, begin, path, parser, limit=limit)
            if document is not None:
                yield document
                return
            file.seek(after)
        yield item


def _line(raw: bytes, parser: Parser, where: str, number: int) -> Row | Problem:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return Problem(where, "malformed", f"byte {error.start + 1} of the line is {NOT_UTF8}")
    try:
        value = parser.whole(text)
    except json.JSONDecodeError as error:
        what = f"not valid JSON: {error.msg}, column {error.colno}"
        if not raw.endswith(b"\n") and text.lstrip().startswith("{") and cut_off(error, text):
            return Problem(where, "truncated", f"the file is cut off in its last line ({what})")
        return Problem(where, "malformed", what)
    except (ValueError, RecursionError) as error:
        return Problem(where, "malformed", reason_of(error))
    return row_of(value, parser, where, number)


def _document(file: BinaryIO, begin: int, path: Path, parser: Parser, *, limit: int) -> Row | Problem | None:
    """The whole file as one JSON object; None where it is none, or is too long to be one."""
    file.seek(begin)
    raw = file.read(limit + 1)
    if len(raw) > limit:
        return None
    where = f"{path}, line 1"
    try:
        value = parser.whole(raw.decode("utf-8"))
    except json.JSONDecodeError as error:
        if raw[:200].split(b"\n", 1)[0].strip() != b"{":  # lines of records open and close on one line
            return None
        kind, what = "malformed", f"not valid JSON: {error.msg}"
        if cut_off(error, raw.decode("utf-8")):
            kind, what = "truncated", "the file is cut off in the middle of its one object"
        return Problem(f"{path}, line {error.lineno}", kind, what)
    except (ValueError, RecursionError):
        return None
    return row_of(value, parser, where, 1)
