"""The words that raters read around a form: one TOML file a language, the same keys in each.

The questions and anchors of a form are not among them: they are part of the form, and other words would be another
form. To add a language, copy ``en.toml``, translate the values and leave the names in braces as they are. Where a text
is missing or cannot be used, the English one is shown, and ``scedit annotate serve`` names it.
"""

from __future__ import annotations

import string
import tomllib
from functools import cache
from pathlib import Path

from schemas.core.errors import UserError

_FOLDER = Path(__file__).parent
ENGLISH = "en"


@cache
def languages() -> dict[str, str]:
    """The languages that there are, by code, each in its own words.

    Example:
        >>> languages()["en"]
        'English'
    """
    codes = sorted(p.stem for p in _FOLDER.glob("*.toml") if p.stem.isascii() and p.stem.isalpha())
    names = {code: _translated(code).get("language", "") for code in codes}
    return {code: name for code, name in names.items() if name}


@cache
def read_texts(language: str) -> dict[str, str]:
    """All texts of a language, English ones where it has none.

    Raises:
        UserError: there is no such language.
    """
    if language not in languages():
        raise UserError(f"there are no interface texts in '{language}'", allowed=", ".join(languages()))
    return _translated(ENGLISH) | _translated(language)


def language_faults() -> list[str]:
    """A sentence for each file with texts that are missing or cannot be used."""
    out = []
    for path in sorted(_FOLDER.glob("*.toml")):
        if lost := [key for key in _translated(ENGLISH) if key not in _translated(path.stem)]:
            more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
            out.append(f"{path}: missing or not usable: {', '.join(lost[:5])}{more}; English is shown instead")
    return out


@cache
def _translated(language: str) -> dict[str, str]:
    """The texts of a file that can take the place of the English ones: words, with the same names in braces."""
    try:
        texts = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    except (ValueError, RecursionError):  # another encoding, no TOML
        return {}
    english = texts if language == ENGLISH else _translated(ENGLISH)
    return {
        key: text
        for key, text in texts.items()
        if key in english and isinstance(text, str) and text.strip() and _names(text) == _names(english[key])
    }


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
