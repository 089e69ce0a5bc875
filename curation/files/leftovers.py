"""What killed commands left: half-written files and folders under temporary names, found, named and removed."""

from __future__ import annotations

import logging
import os
import re
import shutil
import time
from pathlib import Path
from typing import NamedTuple

from curation.files.atomic import mend_folder
from schemas.text.counting import counted

log = logging.getLogger(__name__)
_OF_PROCESS = re.compile(r"\..+\.(?P<pid>\d+)-\d+\.partial(\.wal|\.tmp-\d+)?|.+\.tmp-(?P<store>\d+)")
_FOLDER = re.compile(r"\.(?P<name>.+)\.scedit-(partial|old)")
QUIET = 60
"""Seconds without a change after which an unfinished folder counts as left: its name tells no process."""
_named: set[Path] = set()


class Leftover(NamedTuple):
    """Something that an interrupted command left: where, and how many bytes."""

    path: Path
    size: int


def leftovers(folder: Path) -> list[Leftover]:
    """What interrupted commands left in a folder (not in those below it), in order of names.

    A file whose process is still running on this machine is no leftover.
    """
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [Leftover(path, _size(path)) for path in entries if _is_left(path)]


def clean(folder: Path, *, dry_run: bool = False) -> list[Leftover]:
    """Remove what interrupted commands left; a release that was set aside comes back where none took its place.

    Returns:
        What was removed (with ``dry_run``: what would be).
    """
    left_files = leftovers(folder)
    for left in () if dry_run else left_files:
        if match := _FOLDER.fullmatch(left.path.name):
            place = folder / match["name"]
            names = (place.with_name(f".{place.name}.scedit-{what}") for what in ("partial", "old"))
            mend_folder(place, *names)
        elif left.path.is_dir():
            shutil.rmtree(left.path, ignore_errors=True)
        else:
            left.path.unlink(missing_ok=True)
    return left_files


def name_leftovers(folder: Path) -> None:
    """Warn of what was left in a folder, once in a process, and say how it is removed."""
    if folder in _named:
        return
    _named.add(folder)
    if left_files := leftovers(folder):
        size = sum(left.size for left in left_files)
        log.warning(
            "%s: %s (%s, %s bytes in all) left by an interrupted command; remove with: scedit store clean %s",
            folder,
            counted(len(left_files), "unfinished file"),
            ", ".join(left.path.name for left in left_files[:3]) + (" ..." if len(left_files) > 3 else ""),
            f"{size:,}",
            folder,
        )


def _is_left(path: Path) -> bool:
    if match := _OF_PROCESS.fullmatch(path.name):
        if match["store"] and not _holds_spill_only(path):
            return False
        return not _alive(int(match["pid"] or match["store"]))
    return bool(_FOLDER.fullmatch(path.name)) and path.is_dir() and time.time() - _time_of_change(path) > QUIET


def _holds_spill_only(path: Path) -> bool:
    """Whether a folder holds nothing but what DuckDB put aside."""
    return path.is_dir() and all(p.name.startswith("duckdb_temp") for p in path.iterdir())


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _time_of_change(path: Path) -> float:
    return max(p.lstat().st_mtime for p in (path, *path.rglob("*")))


def _size(path: Path) -> int:
    files = [path] if not path.is_dir() else [p for p in path.rglob("*") if p.is_file()]
    return sum(p.lstat().st_size for p in files)
