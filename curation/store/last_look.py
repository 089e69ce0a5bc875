"""When a store was last known to be whole: so that a command that adds a line to a large one need not read all of it.

What is remembered lies in the cache folder (never in the store or beside it): the file's size, times, identity and
headers after the last look at every block, or after the last command of ours that wrote. Any program that changes a
byte of the file changes its times, which no program can set back together; then every block is looked at again, as it
is once a day. Small stores are always looked at.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from pathlib import Path
from typing import Any

from curation.files.atomic import write_bytes
from curation.files.model_packages import cache_dir

LARGE = 64 * 2**20
"""Bytes from which on a look at every block is worth saving: below, it takes less than a tenth of a second."""
DAY = 24 * 3600.0
"""Seconds after which every block is looked at whatever the times say: disks decay without a change of them."""
_HEADERS = 3 * 4096


def is_untouched(path: Path) -> bool:
    """Whether a large store is exactly as it was when it was last known to be whole, less than a day after a look."""
    try:
        if path.stat().st_size < LARGE:
            return False
        known = json.loads(_place(path).read_bytes())
        age = time.time() - float(known["looked"])
        return bool(known["state"] == _state(path)) and 0 <= age < DAY
    except (OSError, ValueError, KeyError, TypeError):
        return False


def note_whole(path: Path, *, looked: bool = False) -> None:
    """Remember a large store as it is now; ``looked``: every block was, and not only what a command of ours wrote.

    Without a look before, nothing is remembered. Where nothing can be written, the next command looks again.
    """
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        if path.stat().st_size < LARGE:
            return
        place = _place(path)
        when = time.time() if looked else float(json.loads(place.read_bytes())["looked"])
        place.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(place, json.dumps({"store": str(path.resolve()), "looked": when, "state": _state(path)}).encode())


def _place(path: Path) -> Path:
    name = hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:20]
    return cache_dir() / "looks" / f"{name}.json"


def _state(path: Path) -> list[Any]:
    with open(path, "rb") as file:
        headers = hashlib.sha256(file.read(_HEADERS)).hexdigest()
    is_ = path.stat()
    return [is_.st_size, is_.st_mtime_ns, is_.st_ctime_ns, is_.st_ino, is_.st_dev, headers]
