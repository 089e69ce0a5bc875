"""Many values, read one at a time: they lie in a temporary file, and memory holds where each of them begins."""

from __future__ import annotations

import json
import os
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

from schemas.core.errors import UserError

T = TypeVar("T")
_PORTION = 1000


class DiskList(Sequence[T]):
    """Values in the order in which they came.

    Args:
        values: They are gone through once.
        load: Makes a value of what JSON gives back.
        dump: Makes of a value what JSON can hold.

    Raises:
        UserError: the temporary file cannot be written.

    Example:
        >>> kept = DiskList([(1, "a"), (2, "b")], load=tuple)
        >>> len(kept), kept[-1], list(kept)
        (2, (2, 'b'), [(1, 'a'), (2, 'b')])
    """

    def __init__(
        self, values: Iterable[T], *, load: Callable[[Any], T], dump: Callable[[T], Any] = lambda value: value
    ) -> None:
        self._load, self._starts = load, array("q", [0])
        self._file = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - it lives as long as the values
        for value in values:
            line = json.dumps(dump(value)).encode() + b"\n"
            try:
                self._file.write(line)
            except OSError as error:
                raise _disk_full_error(error) from None
            self._starts.append(self._starts[-1] + len(line))
        try:
            self._file.flush()
        except OSError as error:
            raise _disk_full_error(error) from None

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[T, ...]: ...
    def __getitem__(self, place: int | slice) -> T | tuple[T, ...]:
        """A value, or some."""
        places = range(len(self))[place]
        return tuple(map(self._read, places)) if isinstance(places, range) else self._read(places)

    def __iter__(self) -> Iterator[T]:
        for first in range(0, len(self), _PORTION):
            begin, end = self._starts[first], self._starts[min(first + _PORTION, len(self))]
            for line in os.pread(self._file.fileno(), end - begin, begin).split(b"\n")[:-1]:
                yield self._load(json.loads(line))

    def _read(self, number: int) -> T:
        begin, end = self._starts[number], self._starts[number + 1]
        return self._load(json.loads(os.pread(self._file.fileno(), end - begin, begin)))


def _disk_full_error(error: OSError) -> UserError:
    return UserError(
        f"a temporary file cannot be written: {error.strerror}",
        fix="free some space, or name a roomy folder in TMPDIR",
    )
