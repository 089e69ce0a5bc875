"""Files that nothing may be written over: the stores that are open, the inputs of a command, what others wrote.

``curation.files.atomic``, through which all files are written, asks here first. A store is held while it is open; a
command of the command line adds its inputs, and a guard for the places that it was told to write to.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from schemas.core.errors import UserError

OTHER_PLACE = "nothing was written; name another place"


class Guard(Protocol):
    """What watches over the outputs of a command."""

    def owns(self, path: Path) -> bool:
        """Whether a place is one of the command's outputs."""

    def check(self, path: Path) -> None:
        """Refuse a place whose content must stay."""

    def note(self, path: Path) -> None:
        """Remember that this file was written."""


class ProtectedFile(NamedTuple):
    """A file that stays as it is, and what it is ("the store in use")."""

    path: Path
    what: str


_held: list[ProtectedFile] = []
_guards: list[Guard] = []


def hold(path: Path, what: str) -> ProtectedFile:
    """Let nothing be written over a file until it is released."""
    held = ProtectedFile(real(path), what)
    _held.append(held)
    return held


def release(held: ProtectedFile) -> None:
    """Take a hold back; a second time does nothing."""
    for n, other in enumerate(_held):
        if other is held:
            del _held[n]
            return


@contextlib.contextmanager
def guard_files(guard: Guard, inputs: Iterable[Path] = ()) -> Iterator[None]:
    """Let a guard watch over what is written inside, and hold the inputs."""
    held = [hold(path, "an input of this command") for path in inputs]
    _guards.append(guard)
    try:
        yield
    finally:
        _guards.remove(guard)
        for one in held:
            release(one)


def real(path: Path) -> Path:
    """Where a path leads: absolute, symbolic links followed, the last one too.

    Raises:
        UserError: the links lead in a circle.
    """
    try:
        end = Path(os.path.realpath(path))
    except (OSError, ValueError) as error:
        raise UserError(f"this is no place to write to: {error}", where=str(path)) from None
    if os.path.islink(end):
        raise UserError("the link leads in a circle", where=str(path), fix=OTHER_PLACE)
    return end


def refuse_held(path: Path) -> None:
    """Refuse a place where a held file stands, under this or another name (a link).

    Raises:
        UserError: writing there would replace the file, or its write-ahead log.
    """
    for held in _held:
        if path in (held.path, held.path.with_name(held.path.name + ".wal")) or _is_same_file(path, held.path):
            raise UserError(f"this is {held.what} and stays as it is", where=str(path), fix=OTHER_PLACE)


def check(path: Path) -> None:
    """Refuse to write a file at a place (links followed) where something must stay.

    Raises:
        UserError: a held file, a folder, no regular file, or what the command's guard refuses.
    """
    refuse_held(path)
    if os.path.isdir(path):  # False, not an error, in a folder that is closed to us
        raise UserError("this is a folder, a file is to be written", where=str(path), fix="name a file")
    if os.path.exists(path) and not os.path.isfile(path):
        raise UserError("this is no regular file", where=str(path), fix=OTHER_PLACE)
    if guard := _guard_of(path):
        guard.check(path)


def note(path: Path) -> None:
    """Tell the guard of a file that it was written."""
    if guard := _guard_of(path):
        guard.note(path)


def _guard_of(path: Path) -> Guard | None:
    """The guard of the outermost command that was told to write there: a command may call others."""
    return next((guard for guard in _guards if guard.owns(path)), None)


def _is_same_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False
