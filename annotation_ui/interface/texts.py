"""The words that raters read around a form: one TOML file a language, the same keys in each.

The questions and anchors of a form are not among them: they are part of the form, and other words would be another
form. To add a language, copy ``en.toml``, translate the values and leave the names in braces as they are. A file with a
fault is not offered, and ``scedit annotate serve`` says what is wrong with it.
"""

from __future__ import annotations

import logging
import string
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from curation.files.json_files import read_text
from schemas.core.errors import DataError, UserError

_FOLDER = Path(__file__).parent
ENGLISH = "en"
_log = logging.getLogger(__name__)


@cache
def languages() -> dict[str, str]:
    """The languages that there are, by code, each in its own words; those of files with faults are left out.

    Example:
        >>> languages()["en"]
        'English'
    """
    out: dict[str, str] = {}
    for path in sorted(_FOLDER.glob("*.toml")):
        try:
            out[path.stem] = read_texts(path.stem)["language"]
        except UserError as error:
            _log.warning("a language is not offered: %s", error)
    return out


def language_faults() -> list[str]:
    """A sentence for each file of texts that cannot be used."""
    out: list[str] = []
    for path in sorted(_FOLDER.glob("*.toml")):
        try:
            read_texts(path.stem)
        except UserError as error:
            out.append(str(error))
    return out


@cache
def read_texts(language: str) -> dict[str, str]:
    """All texts of a language.

    Raises:
        UserError: there is no file for it. DataError: the file cannot be read, or its texts are not those of English.
    """
    path = _FOLDER / f"{language}.toml"
    if not (language.isascii() and language.isalpha()) or not path.is_file():
        known = ", ".join(sorted(p.stem for p in _FOLDER.glob("*.toml") if p.stem.isascii() and p.stem.isalpha()))
        raise UserError(f"there are no interface texts in '{language}'", allowed=known)
    try:
        texts = tomllib.loads(read_text(path, "file of interface texts"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"not readable as TOML: {str(error)[:200]}", where=str(path)) from None
    _check(texts, texts if language == ENGLISH else read_texts(ENGLISH), str(path))
    return texts


def _check(texts: Mapping[str, Any], english: Mapping[str, Any], where: str) -> None:
    """Refuse texts that would break a page in the middle of somebody's work.

    Raises:
        DataError: one is missing, unknown, empty or no text, or names other values in braces than the English one.
    """
    for key in english:
        if key not in texts:
            raise DataError(f"the text '{key}' is missing", where=where, fix=f"translate it from {ENGLISH}.toml")
    for key, text in texts.items():
        if key not in english:
            raise DataError(f"the app has no text '{key[:40]}'", where=where, fix="take the line out")
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"'{key}' is no text, or empty", where=where, allowed="words in quotation marks")
        wanted = _names(english[key]) or set()
        if _names(text) != wanted:
            allowed = ", ".join(f"{{{name}}}" for name in sorted(wanted)) or "no braces"
            raise DataError(f"'{key}' has other names in braces than in English", where=where, allowed=allowed)


def _names(text: str) -> set[str] | None:
    """The names in braces; None where the braces are none of plain names."""
    try:
        fields = [f for f in string.Formatter().parse(text) if f[1] is not None]
    except ValueError:
        return None
    return None if any(spec or conversion for _, _, spec, conversion in fields) else {str(f[1]) for f in fields}


def interface_text(language: str, key: str, **values: object) -> str:
    """One text with its values filled in.

    Example:
        >>> interface_text("en", "done", done=1, of=3)
        '1 of 3 done'
    """
    return read_texts(language)[key].format(**values)


def best_language(*wanted: str | None) -> str:
    """The first wanted language that there is (``de-AT`` is ``de``); English where there is none.

    Example:
        >>> best_language(None, "xx", "de-AT"), best_language("fr")
        ('de', 'en')
    """
    codes = [w.replace("_", "-").split("-")[0].lower() for w in wanted if w]
    return next((code for code in codes if code in languages()), ENGLISH)
