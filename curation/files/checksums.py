"""SHA-256 of files: read now, or remembered for files that are large and asked about often."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

from curation.files.atomic import write_json
from curation.files.model_packages import cache_dir
from schemas.core.errors import UserError


def sha256(path: Path) -> str:
    """SHA-256 of a file (64 hexadecimal digits), read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remembered_sha256(path: Path) -> str:
    """As ``sha256``, read again only where the path, the size or a time of change is another one.

    Archives and copies may set a file's time (``mtime``) to that of another; the file system's own (``ctime``) they
    cannot. The memory is a file in the cache folder.

    Raises:
        UserError: the file cannot be read.
    """
    memory = cache_dir() / "digests.json"
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    known = known if isinstance(known, dict) else {}
    try:
        stat = path.stat()
        key = f"{path.resolve()}|{stat.st_size}|{stat.st_mtime_ns}|{stat.st_ctime_ns}"
        if not isinstance(known.get(key), str):
            known[key] = sha256(path)
            with contextlib.suppress(UserError):  # without a memory it is read each time
                write_json(memory, known, indent=None, fsync=False)
    except OSError as error:
        raise UserError(f"the file cannot be read: {error.strerror}", where=str(path)) from None
    return str(known[key])
