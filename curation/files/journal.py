"""Append-only JSONL: one flushed line for each finished unit of work.

A line is ``{"key": ..., "value": ...}``. A line torn by a crash is the last one; it is dropped when the journal is
opened for writing. The last line of a key holds. Values are read from the file when asked for, so a journal of millions
of replies costs an index in memory, not its text.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from schemas.core.errors import DataError, UserError


class _Place(NamedTuple):
    offset: int
    length: int


class Journal:
    """A journal open for reading, or for reading and writing by one process.

    Args:
        path: The file; made with its folders when ``write`` is set.
        write: Take the writer's lock and allow ``append``.
        fsync: Also force every line to the disk: survives a power cut, costs a disk write a line.

    Raises:
        UserError: another process writes this journal, or the file cannot be made.
        DataError: a line other than the last is not a journal line.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "j.jsonl"
        >>> with Journal(path, write=True) as journal:
        ...     journal.append("a", {"n": 1})
        ...     journal.append("a", {"n": 2})
        >>> Journal(path)["a"]
        {'n': 2}
    """

    def __init__(self, path: Path, *, write: bool = False, fsync: bool = False) -> None:
        self.path, self._write, self._fsync = Path(path), write, fsync
        self._index: dict[str, _Place] = {}
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
        if write:
            self._lock()
        self._end = self._scan()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise UserError(
                "another process is writing this journal",
                where=str(self.path),
                fix="wait until it ends, or stop it and start again: finished work is kept",
            ) from None

    def _scan(self) -> int:
        """Index every whole line; cut a torn last one when writing. Returns the end of the last whole line."""
        offset = 0
        with open(self.path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(
                    b"\n"
                ):  # only the last line can lack its newline: the writer died in the middle of it
                    self.torn = 1
                    break
                key = _key(line)
                if key is None:
                    raise DataError(
                        "not a journal line",
                        where=f"{self.path}, line {number}",
                        fix="the lines before it are whole: move the file away and cut it there, or restore a copy",
                    )
                self._index[key] = _Place(offset, len(line))
                offset += len(line)
        if self._write and self.torn:
            self._file.truncate(offset)
        return offset

    def append(self, key: str, value: Any) -> None:
        """Write one unit and flush it; afterwards it survives the death of this process."""
        line = json.dumps({"key": key, "value": value}, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "surrogatepass"
        )
        with self._guard:
            try:
                data = memoryview(line + b"\n")
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
            self._index[key] = _Place(self._end, len(line) + 1)
            self._end += len(line) + 1

    def __contains__(self, key: str) -> bool:
        return key in self._index

    def __len__(self) -> int:
        return len(self._index)

    def keys(self) -> list[str]:
        """Keys in the order of their last line's first appearance."""
        return list(self._index)

    def __getitem__(self, key: str) -> Any:
        place = self._index[key]
        data = os.pread(self._file.fileno(), place.length, place.offset)
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

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _key(line: bytes) -> str | None:
    try:
        data = json.loads(line.decode("utf-8", "surrogatepass"))
    except ValueError:
        return None
    if not isinstance(data, dict) or set(data) != {"key", "value"} or not isinstance(data["key"], str):
        return None
    return data["key"]
