"""Append-only JSONL: one flushed line for each finished unit of work.

A line is ``{"key": ..., "value": ..., "digest": ...}``; the digest covers every byte before it, so a changed byte is
detected. The last line of a key holds. Values are read from the file when needed, so a journal of millions of replies
costs an index in memory, not its text.

A line torn by a crash is the last one; it is dropped when the journal is opened for writing. Any other damaged line
raises an error when the journal is opened for reading, unless it is to be skipped. Opened for writing, it is moved to a
file beside the journal and its unit of work is done again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import logging
import os
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from schemas.core.errors import DataError, UserError
from schemas.text.counting import counted

log = logging.getLogger(__name__)

_DIGEST_SIZE = 8  # bytes; written as twice as many hexadecimal digits
_TAIL = len(b',"digest":""}\n') + 2 * _DIGEST_SIZE


class JournalSum(NamedTuple):
    """What a whole journal is checked against: its number of lines, and a digest over their digests in order."""

    lines: int
    digest: str


class Journal(contextlib.AbstractContextManager["Journal"]):
    """A journal open for reading, or for reading and writing by one process.

    Args:
        path: The file; made with its folders when ``write`` is set.
        write: Take the writer's lock and allow ``append``.
        fsync: Also force every line to the disk: survives a power cut, costs a disk write a line.
        skip_damaged: Leave damaged lines out and warn; for a reader that estimates what a writer will do.

    Raises:
        UserError: another process writes this journal, or the file cannot be made.
        DataError: a line other than the last is damaged (a reader that does not skip it), or no line has a digest.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "j.jsonl"
        >>> with Journal(path, write=True) as journal:
        ...     journal.append("a", {"n": 1})
        ...     journal.append("a", {"n": 2})
        >>> Journal(path)["a"]
        {'n': 2}
    """

    def __init__(
        self, path: Path | str, *, write: bool = False, fsync: bool = False, skip_damaged: bool = False
    ) -> None:
        self.path, self._write, self._fsync = Path(path), write, fsync
        self._skip_damaged = skip_damaged or write
        self._index: dict[str, tuple[int, int]] = {}  # where the last line of each key begins, and its length
        self._lines, self._running = 0, hashlib.sha256()
        self._guard = threading.Lock()
        self.torn = 0
        self._file: io.FileIO
        try:
            if write:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = open(self.path, "a+b", buffering=0)  # noqa: SIM115 - closed by close()
            else:
                self._file = open(self.path, "rb", buffering=0)  # noqa: SIM115
        except FileNotFoundError:
            raise UserError("there is no such journal", where=str(path)) from None
        except OSError as error:
            raise UserError(
                f"the journal cannot be opened: {error.strerror}", where=str(path), fix="check the folder's permissions"
            ) from None
        try:
            if write:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise UserError(
                "another process is writing this journal",
                where=str(self.path),
                fix="wait until it ends, or stop it and start again: finished work is kept",
            ) from None
        self._end = self._scan()

    def _scan(self) -> int:
        """Index every valid line; when writing, repair the file. Returns the end of the last whole line."""
        offset, damaged = 0, dict[int, bytes]()
        with open(self.path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):  # only the last line can lack its newline: the writer died while writing
                    self.torn = 1
                    break
                if (key := _key(line)) is not None:
                    self._add(key, offset, line)
                elif line.strip(b" \n"):  # spaces stand where a damaged line was moved away
                    self._check_damaged(line, number)
                    damaged[offset] = line
                offset += len(line)
        if damaged:
            _warn_of_damage(self.path, tuple(damaged))
            if self._write:
                self._move_away(damaged)
        if self._write and self.torn:
            self._file.truncate(offset)
        return offset

    def _check_damaged(self, line: bytes, number: int) -> None:
        """Raise an error for a damaged line, unless it can be moved away or skipped."""
        where = f"{self.path}, line {number}"
        if _lacks_digest(line):
            raise DataError(
                "the line has no digest: an earlier version wrote this journal",
                where=where,
                fix="name another folder or journal, or use the version that wrote it",
            )
        if not self._skip_damaged:
            raise DataError(
                "the line is damaged: its digest does not match its content",
                where=where,
                fix="run the command that wrote it again: it does the damaged part anew, everything else is kept",
            )

    def _move_away(self, damaged: dict[int, bytes]) -> None:
        """Append damaged lines to a file beside the journal, and overwrite them with spaces."""
        with open(_beside(self.path), "ab") as copy, open(self.path, "r+b") as file:
            for offset, line in damaged.items():
                copy.write(line)
                copy.flush()
                file.seek(offset)
                file.write(b" " * (len(line) - 1) + b"\n")

    def _add(self, key: str, offset: int, line: bytes) -> None:
        self._index[key] = offset, len(line)
        self._lines += 1
        self._running.update(line[1 - _TAIL :])

    @property
    def sum(self) -> JournalSum:
        """Number of lines so far and the digest over all of them."""
        return JournalSum(self._lines, self._running.hexdigest()[:16])

    def append(self, key: str, value: Any) -> None:
        """Write one unit and flush it; afterwards it survives the death of this process."""
        text = json.dumps({"key": key, "value": value}, ensure_ascii=False, separators=(",", ":"))
        line = _with_digest(text.encode("utf-8", "surrogatepass"))
        with self._guard:
            try:
                data = memoryview(line)
                while data:
                    data = data[self._file.write(data) :]
                if self._fsync:
                    os.fsync(self._file.fileno())
            except OSError as error:
                self._file.truncate(self._end)
                raise UserError(
                    f"the journal cannot be written: {error.strerror}",
                    where=str(self.path),
                    fix="free some space and start again: finished work is kept",
                ) from None
            self._add(key, self._end, line)
            self._end += len(line)

    def __contains__(self, key: str) -> bool:
        return key in self._index

    def __len__(self) -> int:
        return len(self._index)

    def keys(self) -> list[str]:
        """Keys in the order of their last line's first appearance."""
        return list(self._index)

    def __getitem__(self, key: str) -> Any:
        offset, length = self._index[key]
        data = os.pread(self._file.fileno(), length, offset)
        return json.loads(data.decode("utf-8", "surrogatepass"))["value"]

    def get(self, key: str) -> Any | None:
        """The value of a key, or None."""
        return self[key] if key in self._index else None

    def items(self) -> Iterator[tuple[str, Any]]:
        """Every key with its last value."""
        for key in self.keys():
            yield key, self[key]

    def close(self) -> None:
        """Close the file and give up the writer's lock."""
        self._file.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def _beside(path: Path) -> Path:
    """Where damaged lines of a journal are kept."""
    return path.with_name(f"{path.name}.damaged")


@cache
def _warn_of_damage(path: Path, places: tuple[int, ...]) -> None:
    """Warn of damaged lines, once of the same: a command reads a journal to estimate its work and opens it to do it."""
    lines_are = counted(len(places), "line is", "lines are")
    kept = f"keeps what is damaged in {_beside(path).name}"  # a dry run keeps nothing
    log.warning("%s: %s damaged; a run does the work again and %s", path, lines_are, kept)


def _with_digest(text: bytes) -> bytes:
    """A line of a journal from a JSON object without a digest."""
    body = text[:-1]
    return b'%b,"digest":"%b"}\n' % (body, _digest(body))


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_SIZE).hexdigest().encode()


def _key(line: bytes) -> str | None:
    """The key of a line whose digest matches; None of any other line."""
    if line != _with_digest(line[:-_TAIL] + b"}"):
        return None
    return str(json.loads(line.decode("utf-8", "surrogatepass"))["key"])


def _lacks_digest(line: bytes) -> bool:
    """Whether a line is one of an earlier version, which had no digests."""
    try:
        data = json.loads(line.decode("utf-8", "surrogatepass"))
    except ValueError:
        return False
    return isinstance(data, dict) and set(data) == {"key", "value"}
