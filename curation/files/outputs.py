"""A command replaces its own earlier output, and anything else only with ``--force``.

A list in the cache folder has the size and time of each output. A file at an output is replaced if the same command
wrote it and nobody changed it since.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from curation.files.atomic import check_writable, guarded, real, write_json
from curation.files.model_packages import cache_dir
from schemas.core.errors import UserError

KEPT = 5000
"""Outputs in the list; the oldest are dropped first."""


class OutputGuard:
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
    places = list(files)
    with guarded(OutputGuard(command, [*places, *folders], inputs, force=force)):
        for place in places:
            check_writable(real(place))
        yield


def _list_path() -> Path:
    return Path(os.path.realpath(cache_dir())) / "outputs.json"


def _known_outputs() -> dict[str, Any]:
    try:
        known = json.loads(_list_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _state(path: Path) -> list[int]:
    stats = path.stat()
    return [stats.st_size, stats.st_mtime_ns]
