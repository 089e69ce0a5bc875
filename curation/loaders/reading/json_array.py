"""Records of a JSON array, one at a time in bounded memory, whether a line or many lines hold one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from curation.loaders.reading.raw_records import (
    CHUNK,
    LIMIT,
    NOT_UTF8,
    Parser,
    Problem,
    Row,
    cut_off,
    incomplete,
    reason_of,
    row_of,
    size_of,
    unclean,
)
from schemas.text.counting import counted

_SPACE = re.compile(r"[ \t\n\r]*")


class _Window:
    """The part of a long text that is being read: text, place in it, line of that place."""

    def __init__(self, pieces: Iterable[str], line: int) -> None:
        self._pieces = iter(pieces)
        self.text, self.at, self.ended = "", 0, False
        self._line, self._counted = line, 0

    def more(self, size: int = CHUNK) -> None:
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
            if match := pattern.search(self.text, self.at):
                self.at = match.end() - 1
                return True
            if self.ended:
                return False
            self.at = max(self.at, len(self.text) - 200)  # a match may lie across the border
            self.more()


class _Fault(NamedTuple):
    kind: str
    what: str


def _element(window: _Window, parser: Parser, limit: int) -> Any | _Fault:
    """The value at the window's place, which moves behind it; a fault leaves the place where it is."""
    while True:
        try:
            value, end = parser.value(window.text, window.at)
        except json.JSONDecodeError as error:
            if window.ended or not incomplete(error, window.text):
                cut = window.ended and cut_off(error, window.text)
                return _Fault("truncated" if cut else "malformed", f"not valid JSON: {error.msg}")
        except (ValueError, RecursionError) as error:
            return _Fault("malformed", reason_of(error))
        else:
            if end - window.at > limit:
                return _Fault("malformed", f"the record is longer than {size_of(limit)}")
            if end < len(window.text) or window.ended:
                if unclean(window.text[window.at : end]):
                    parser.odd = NOT_UTF8
                window.at = end
                return value
        have = len(window.text) - window.at
        if have > limit:
            return _Fault("malformed", f"the record is longer than {size_of(limit)}")
        window.more(max(CHUNK, have))  # doubling keeps one long record linear


def array(
    pieces: Iterable[str],
    path: Path,
    *,
    limit: int = LIMIT,
    line: int = 1,
    inner: bool = False,
    parser: Parser | None = None,
) -> Iterator[Row | Problem]:
    """Records of a JSON array given as pieces of text; the first character that is no white space is its ``[``.

    A broken record is passed over where the next one can be found (records begin on lines of equal indentation).
    An array without its end gives its whole records, then a ``truncated`` problem.

    Args:
        pieces: The text; pieces may end anywhere.
        path: The file, for the places.
        limit: Longest record, in characters.
        line: Line number of the first character.
        inner: The array is part of something, which goes on behind it.
        parser: Reads its records; a strict one where it is not given.
    """
    window, parser, number = _Window(pieces, line), parser or Parser(), 0
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
        yield row_of(value, parser, where, number)
        if (char := window.next()) == ",":
            window.at += 1
        elif char and char != "]":
            yield Problem(f"{path}, line {window.line()}", "malformed", f"no comma after record {number}")
            if char != "{":
                return
    yield from _close(window, path, number, inner=inner)


def _rest(kind: str, number: int) -> str:
    if kind == "truncated":
        before = counted(number - 1, "whole record stands", "whole records stand")
        return f"; the file is cut off in the middle of record {number}, {before} before it"
    return "; the rest of the file cannot be read"


def _close(window: _Window, path: Path, number: int, *, inner: bool) -> Iterator[Problem]:
    if window.next() != "]":
        what = f"the file is cut off after record {number}: the array is not closed"
        yield Problem(f"{path}, line {window.line()}", "truncated", what)
        return
    window.at += 1
    if not inner and window.next():
        yield Problem(f"{path}, line {window.line()}", "malformed", "there is text after the end of the array")
