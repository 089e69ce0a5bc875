"""What commands wrote where, so that a command replaces its own earlier output and nothing else.

A list in the cache folder keeps size and time of each output. A file that stands at an output is replaced where the
same command wrote it and nobody changed it since; anything else only when the user says so (``--force``).
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from curation.files.atomic import write_json
from curation.files.leftovers import name_leftovers
from curation.files.model_packages import cache_dir
from curation.files.protection import check, guard_files, real
from schemas.core.errors import UserError

KEPT = 5000
"""Outputs that are remembered; the oldest are forgotten first."""


class WrittenFiles:
    """The list of outputs. Where it cannot be kept (no home, read-only), nothing is known and ``--force`` is needed."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_dir() / "outputs.json"

    def wrote(self, path: Path, command: str) -> bool:
        """Whether the file at a place is as this command left it."""
        return self._read().get(str(path)) == [command, *_state(path)]

    def add(self, paths: Iterable[Path], command: str) -> None:
        """Remember outputs."""
        known = self._read()
        for path in paths:
            with contextlib.suppress(OSError):
                known.pop(str(path), None)
                known[str(path)] = [command, *_state(path)]
        with contextlib.suppress(UserError, OSError):
            write_json(self.path, dict(list(known.items())[-KEPT:]), "the list of outputs", indent=None, fsync=False)

    def _read(self) -> dict[str, Any]:
        try:
            known = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}


class OutputGuard:
    """Watches over the outputs of one command.

    Args:
        command: Its words ("split export").
        outputs: The files and folders that it was told to write; what else it writes (caches) is not looked at.
        force: Replace what stands there, though this command did not write it.
    """

    def __init__(self, command: str, outputs: Iterable[Path], *, force: bool = False) -> None:
        self.command, self.outputs, self.force = command, [real(p) for p in outputs], force
        self._known, self._written = WrittenFiles(), list[Path]()

    def owns(self, path: Path) -> bool:
        """Whether a place is an output, lies in one, or beside one as its companion (NAME.manifest.json)."""
        return path != self._known.path and any(
            path == place
            or place in path.parents
            or (path.parent == place.parent and path.name.startswith(f"{place.stem}."))
            for place in self.outputs
        )

    def check(self, path: Path) -> None:
        """Refuse a file that this command did not write, or that was changed since.

        Raises:
            UserError: such a file stands there, and ``force`` was not given.
        """
        if self.force or path in self._written or not os.path.exists(path):
            return
        if not self._known.wrote(path, self.command):
            raise UserError(
                f"a file stands here that 'scedit {self.command}' did not write, or that was changed since",
                where=str(path),
                fix="nothing was written; name another place, or replace it with --force",
            )

    def note(self, path: Path) -> None:
        """Put a file that was written into the list, at once: the command may be killed."""
        self._written.append(path)
        self._known.add([path], self.command)


@contextlib.contextmanager
def outputs_of(
    command: str,
    files: Iterable[Path],
    folders: Iterable[Path] = (),
    *,
    inputs: Iterable[Path] = (),
    force: bool = False,
) -> Iterator[OutputGuard]:
    """Guard the outputs of a command while it runs; what is refused is refused before it begins.

    Args:
        command: Its words ("split export").
        files: Files that it was told to write.
        folders: Folders that it writes into; each file in them is looked at when it is written.
        inputs: What it reads; never replaced.
        force: Replace what stands at an output, though this command did not write it.

    Raises:
        UserError: an output is an input, an open store, a folder, or not what this command wrote.
    """
    places = list(files)
    guard = OutputGuard(command, [*places, *folders], force=force)
    with guard_files(guard, inputs):
        for place in places:
            check(real(place))
        for place in guard.outputs:
            name_leftovers(place.parent)
        yield guard


def _state(path: Path) -> list[int]:
    stats = path.stat()
    return [stats.st_size, stats.st_mtime_ns]
