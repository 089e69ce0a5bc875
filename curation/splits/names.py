"""Names of splits and what their headers may say: a name is never a path, a released header is sealed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from schemas.core.errors import DataError, UserError
from schemas.core.ids import canonical_json, digest

SEAL = "header_digest"
_UNSEALED = ("format", "extras", SEAL)  # a file's own business
_NAME = re.compile(r"\w[\w.-]{0,99}")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices; no file can have one."""


def check_name(name: str, what: str = "split", *, where: str | None = None) -> str:
    """A name for something new, which can also be the name of a file.

    Raises:
        UserError: it holds anything but letters, digits, ``.``, ``-`` and ``_``, begins with a dot or a hyphen, or is
            a device of Windows (CON).

    Example:
        >>> check_name("scedit-cf_1.2")
        'scedit-cf_1.2'
    """
    if not _NAME.fullmatch(name) or ".." in name or _DEVICE.fullmatch(name):
        raise UserError(
            f"'{name}' cannot be the name of a {what}", where=where, allowed="letters, digits, '.', '-', '_'"
        )
    return name


def check_header(header: Mapping[str, Any], where: str) -> None:
    """What a split's file says of itself: no name that is a path, and a sealed header as it was released.

    Names of before with a single ``/`` inside stay valid.

    Raises:
        DataError: name or version would lead out of a folder, or the header was edited after the release.
    """
    for field in ("split", "version"):
        value = header.get(field)
        parts = re.split(r"[/@]", value) if isinstance(value, str) else [""]
        if any(map(_leads_out, parts)) or re.search(r"[\\\x00-\x1f\x7f]", str(value)):
            raise DataError(
                f"the {field} {value!r} cannot be a name", where=where, allowed="letters, digits, '.', '-', '_'"
            )
    if SEAL in header and header[SEAL] != seal(header):
        raise DataError("the header was edited after the release", where=where, fix="get a whole copy")


def _leads_out(part: str) -> bool:
    """Whether a part of a name is another folder, an option of a command or a device."""
    return part in ("", ".", "..") or part.startswith("-") or bool(_DEVICE.fullmatch(part))


def seal(header: Mapping[str, Any]) -> str:
    """Digest of everything a header says, the digest of the cases included."""
    return digest([canonical_json({k: v for k, v in header.items() if k not in _UNSEALED})])


def file_name(name: str) -> str:
    """A split's name as part of a file's name.

    Example:
        >>> file_name("group/small")
        'group-small'
    """
    return re.sub(r"[/\\]", "-", name)
