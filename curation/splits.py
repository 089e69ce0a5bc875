"""Frozen splits: a JSONL file with a header and one case a line, held together by a digest.

The digest covers the cases' content and nothing else, so the same cases have the same digest wherever and whenever they
were frozen, and a split that changed under the same name is noticed.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from schemas.cases import Case
from schemas.config import explain
from schemas.errors import DataError, UserError
from schemas.ids import canonical_json, digest

FORMAT = 1


class Split(NamedTuple):
    """A frozen split. ``header`` keeps the rule, the counts and whatever else was said of it."""

    name: str
    version: str
    digest: str
    cases: tuple[Case, ...]
    header: dict[str, Any]

    @classmethod
    def checked(cls, header: dict[str, Any], cases: Sequence[Case], *, where: str) -> Split:
        """A split from a header and cases that must belong together.

        Raises:
            DataError: a number or the digest differs, or a case is there twice.
        """
        keys = [c.key for c in cases]
        if len(set(keys)) != len(keys):
            twice = next(k for k in keys if keys.count(k) > 1)
            raise DataError(f"the case '{twice}' is there twice", where=where)
        if header.get("cases") != len(cases):
            raise DataError(
                f"the header says {header.get('cases')} cases, {len(cases)} are there: cut off or edited",
                where=where,
                fix="get a whole copy",
            )
        found = cases_digest(cases)
        if header.get("digest") != found:
            raise DataError(
                f"these are not the frozen cases (digest {found[:12]}, header says {str(header.get('digest'))[:12]})",
                where=where,
                fix="get a whole copy, or freeze the changed cases under a new version",
            )
        return cls(str(header["split"]), str(header["version"]), found, tuple(cases), header)


def cases_digest(cases: Iterable[Case]) -> str:
    """SHA-256 over the cases' canonical JSON in order of their keys."""
    return digest(canonical_json(c.payload()) for c in sorted(cases, key=lambda c: c.key))


def make_split(
    name: str, cases: Iterable[Case], *, version: str = "1.0.0", about: dict[str, Any] | None = None
) -> Split:
    """A split of cases in order of their keys.

    Raises:
        UserError: there is no case.
    """
    ordered = sorted(cases, key=lambda c: c.key)
    if not ordered:
        raise UserError(f"the split '{name}' would have no case", fix="loosen its rule, or see why: scedit stats")
    header = {
        "format": FORMAT,
        "split": name,
        "version": version,
        "cases": len(ordered),
        "digest": cases_digest(ordered),
        **(about or {}),
    }
    return Split.checked(header, ordered, where=name)


def write_split(split: Split, path: Path) -> None:
    """Write a split file; a half-written one never stands under its name."""
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "w", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(split.header, ensure_ascii=False) + "\n")
            for case in split.cases:
                file.write(json.dumps(case.payload(), ensure_ascii=False, separators=(",", ":")) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise UserError(f"the split cannot be written: {error.strerror}", where=str(path)) from None


def load_split(path: Path | str) -> Split:
    """Read a split file and verify it.

    Raises:
        UserError: there is no such file.
        DataError: cut off, edited, or not a split file; names the line.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise UserError("there is no such split file", where=str(path)) from None
    except UnicodeDecodeError:
        raise DataError("not a UTF-8 text file", where=str(path)) from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None
    header = _header(lines[0], path)
    cases = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        try:
            cases.append(Case.model_validate_json(line))
        except ValidationError as error:
            raise DataError(explain(error), where=f"{path}, line {number}", fix="get a whole copy") from None
    return Split.checked(header, cases, where=str(path))


def _header(line: str, path: Path) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except json.JSONDecodeError:
        header = None
    if not isinstance(header, dict) or not {"split", "version", "digest", "cases"} <= set(header):
        raise DataError(
            "not a split file (its first line is no header)", where=str(path), fix="freeze one: scedit split freeze"
        )
    if header.get("format") != FORMAT:
        raise DataError(
            f"split format {header.get('format')} is not known",
            where=str(path),
            allowed=str(FORMAT),
            fix="upgrade scedit",
        )
    return header
