"""Files and folders that are whole or not there: what is written takes its name only when it is finished.

Text, bytes, JSON, files that other libraries write (DuckDB), and folders go through here: a temporary file in the same
folder, flushed to the disk, then renamed. Symbolic links are followed.

A command replaces its own earlier output, and anything else only with ``--force`` (``outputs_of``). A list in the cache
folder has the size and time of each output. A file at an output is replaced if the same command wrote it and nobody
changed it since. The inputs of a command are never replaced.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from curation.files.model_packages import cache_dir
from schemas.core.errors import UserError

ELSEWHERE = "nothing was put there; name another place"

KEPT = 5000
"""Outputs in the list; the oldest are dropped first."""
_numbers = itertools.count(1)


def real(path: Path) -> Path:
    """The absolute path, symbolic links followed, the last one too.

    Raises:
        UserError: it is ``-``, by which other programs mean standard output.
    """
    if str(path) == "-":
        raise UserError("'-' is no output: standard output is not written to", fix="name a file or a folder")
    return Path(os.path.realpath(path))


def check_writable(path: Path) -> None:
    """Refuse a path (links followed) whose content must stay.

    Raises:
        UserError: a folder, no regular file, or what the guard of the command refuses.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        kind = "a folder" if path.is_dir() else "no regular file"
        raise UserError(f"this is {kind}, a file is to be written", where=str(path), fix=ELSEWHERE)
    if _guard is not None:
        _guard.check(path)


def unwritable(error: OSError, path: Path, what: str = "", *, fix: str = ELSEWHERE) -> UserError:
    """The one sentence for a folder that is full, closed or no folder; ``what`` was to be written ("the dump")."""
    blocked = isinstance(error, (FileExistsError, NotADirectoryError))
    reason = "a file stands where a folder is needed" if blocked else error.strerror or str(error)
    return UserError(f"{what} cannot be written: {reason}".lstrip(), where=str(path), fix=fix)


@contextlib.contextmanager
def atomic_path(path: Path, what: str = "", *, fsync: bool = True, fix: str = ELSEWHERE) -> Iterator[Path]:
    """A path to write a file to; the file takes its name when the block ends well, and is removed when it does not.

    Args:
        path: Where it is to stand, links followed; its folder is made, what stands there stays until the end.
        what: What it is, for the error ("the split").
        fsync: Flush it to the disk before it takes its name; without, a power cut may lose it. For what can be
            made again (caches, reports) False is enough.
        fix: The next step to name in the error.

    Raises:
        UserError: it cannot be written (full, not permitted, not a folder), or what stands there must stay.
    """
    path = real(path)
    check_writable(path)
    partial = path.with_name(f".{path.name[:200]}.{os.getpid()}-{next(_numbers)}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        if fsync:
            with open(partial, "rb") as file:
                os.fsync(file.fileno())
        os.replace(partial, path)
        if _guard is not None:
            _guard.note(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise unwritable(error, path, what, fix=fix) from None
        raise


@contextlib.contextmanager
def atomic_file(
    path: Path,
    what: str = "",
    *,
    fsync: bool = True,
    errors: str = "strict",
    fix: str = ELSEWHERE,
) -> Iterator[IO[str]]:
    """A UTF-8 text file to write, with ``atomic_path``; newlines are written as they are.

    Args:
        path: As in ``atomic_path``.
        what: As in ``atomic_path``.
        fsync: As in ``atomic_path``.
        errors: What becomes of characters that UTF-8 cannot hold (lone surrogates), as in ``open``.
        fix: As in ``atomic_path``.

    Raises:
        UserError: it cannot be written.
    """
    with (
        atomic_path(path, what, fsync=fsync, fix=fix) as partial,
        open(partial, "w", encoding="utf-8", errors=errors, newline="\n") as file,
    ):
        yield file


def write_text(
    path: Path, text: str, what: str = "", *, fsync: bool = True, errors: str = "strict", fix: str = ELSEWHERE
) -> None:
    """Write a text file whole or not at all; see ``atomic_file``.

    Raises:
        UserError: it cannot be written.
    """
    with atomic_file(path, what, fsync=fsync, errors=errors, fix=fix) as file:
        file.write(text)


def write_bytes(
    path: Path, data: bytes | memoryview, what: str = "", *, fsync: bool = True, fix: str = ELSEWHERE
) -> None:
    """Write bytes whole or not at all; see ``atomic_path``.

    Raises:
        UserError: it cannot be written.
    """
    with atomic_path(path, what, fsync=fsync, fix=fix) as partial:
        partial.write_bytes(data)


def write_json(
    path: Path,
    value: Any,
    what: str = "",
    *,
    indent: int | None = 2,
    fsync: bool = True,
    fix: str = ELSEWHERE,
) -> None:
    """Write a JSON value whole or not at all, with a newline at the end; see ``atomic_path``.

    Raises:
        UserError: it cannot be written.
    """
    write_text(path, json.dumps(value, ensure_ascii=False, indent=indent) + "\n", what, fsync=fsync, fix=fix)


@contextlib.contextmanager
def atomic_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """A folder to fill; it takes its name when the block ends well, and is removed when it does not.

    Args:
        path: Where the folder is to stand: absent, or empty; links are followed.
        replace: Put it in the place of what stands there.

    Raises:
        UserError: the place is taken, or cannot be written.
    """
    path = real(path)
    partial, old = (path.with_name(f".{path.name}.scedit-{what}") for what in ("partial", "old"))
    try:
        _clear(path, partial, old)
        taken = path.is_file() or (path.is_dir() and any(path.iterdir()))
        if path == Path.cwd():
            raise UserError("this is the folder you are in", where=str(path), fix="name a new folder")
        if path.is_file() or (taken and not replace):
            raise UserError("there is something here already", where=str(path), fix="name a new or empty folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir()
        yield partial
        if taken:
            os.rename(path, old)
        os.rename(partial, path)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException as error:
        with contextlib.suppress(OSError):
            _clear(path, partial, old)
        if isinstance(error, OSError):
            raise unwritable(error, path) from None
        if isinstance(error, UserError) and (error.where or "").startswith(str(partial)):  # nobody knows that name
            raise UserError(error.what, where=str(path), allowed=error.allowed, fix=error.fix) from None
        raise


def _clear(path: Path, partial: Path, old: Path) -> None:
    """Clear away what an interrupted run left; a folder that was set aside comes back where nothing took its place."""
    if old.is_dir() and not path.exists():
        os.rename(old, path)
    for left in (partial, old):
        if left.is_dir():
            shutil.rmtree(left)


# ---- the outputs of a command -----------------------------------------------------------------------------------


class _OutputGuard:
    """Checks every file that a command writes.

    Args:
        command: Its words ("split export").
        outputs: The files and folders that it was told to write; other files (caches) are not checked.
        inputs: The files that it reads; they are never replaced.
        force: Replace a file at an output, though this command did not write it.
    """

    def __init__(self, command: str, outputs: Iterable[Path], inputs: Iterable[Path], *, force: bool) -> None:
        self.command, self.outputs, self.inputs = command, [real(p) for p in outputs], [real(p) for p in inputs]
        self.force, self._written = force, set[Path]()

    def check(self, path: Path) -> None:
        """Refuse an input, and a file that this command did not write or that was changed since.

        Raises:
            UserError: such a file is at ``path``.
        """
        if not path.exists():
            return
        if any(one.exists() and path.samefile(one) for one in self.inputs):
            fix = "nothing was written; name another output"
            raise UserError("this is an input of this command and stays as it is", where=str(path), fix=fix)
        if self.force or path in self._written or not self._owns(path):
            return
        if _known_outputs().get(str(path)) != [self.command, *_state(path)]:
            raise UserError(
                f"a file stands here that 'scedit {self.command}' did not write, or that was changed since",
                where=str(path),
                fix="nothing was written; name another place, or replace it with --force",
            )

    def note(self, path: Path) -> None:
        """Add a written file to the list at once: the command may be killed later."""
        if not self._owns(path):
            return
        self._written.add(path)
        known = _known_outputs()
        known.pop(str(path), None)
        known[str(path)] = [self.command, *_state(path)]
        with contextlib.suppress(UserError):
            write_json(_list_path(), dict(list(known.items())[-KEPT:]), indent=None, fsync=False)

    def _owns(self, path: Path) -> bool:
        """Whether a file is an output, lies in one, or is the companion of one (NAME.manifest.json)."""
        return path != _list_path() and any(
            path == place
            or place in path.parents
            or (path.parent == place.parent and path.name.startswith(f"{place.stem}."))
            for place in self.outputs
        )


@contextlib.contextmanager
def outputs_of(
    command: str,
    files: Iterable[Path],
    folders: Iterable[Path] = (),
    *,
    inputs: Iterable[Path] = (),
    force: bool = False,
) -> Iterator[None]:
    """Guard the outputs of a command while it runs; its files are checked before it begins.

    Args:
        command: Its words ("split export").
        files: Files that it was told to write.
        folders: Folders that it writes into; each file in them is checked when it is written.
        inputs: The files that it reads; they are never replaced.
        force: Replace a file at an output, though this command did not write it.

    Raises:
        UserError: an output is an input, a folder, or was not written by this command.
    """
    global _guard
    places, outer = list(files), _guard
    _guard = outer or _OutputGuard(command, [*places, *folders], inputs, force=force)
    try:
        for place in places:
            check_writable(real(place))
        yield
    finally:
        _guard = outer


_guard: _OutputGuard | None = None
"""Of the running command."""


def _list_path() -> Path:
    return real(cache_dir()) / "outputs.json"


def _known_outputs() -> dict[str, Any]:
    try:
        known = json.loads(_list_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _state(path: Path) -> list[int]:
    stats = path.stat()
    return [stats.st_size, stats.st_mtime_ns]
