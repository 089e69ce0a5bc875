"""The words that raters read around a form: one TOML file a language, the same keys in each.

The questions and anchors of a form are not among them: they are part of the form, and other words would be another
form. To add a language, copy ``en.toml``, translate the values and leave the names in braces as they are.
"""

from __future__ import annotations

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
    return {path.stem: read_texts(path.stem)["language"] for path in sorted(_FOLDER.glob("*.toml"))}


@cache
def read_texts(language: str) -> dict[str, str]:
    """All texts of a language.

    Raises:
        UserError: there is no file for it.
    """
    path = _FOLDER / f"{language}.toml"
    if not language.isalpha() or not path.is_file():
        known = ", ".join(sorted(p.stem for p in _FOLDER.glob("*.toml")))
        raise UserError(f"there are no interface texts in '{language}'", allowed=known)
    return {str(k): str(v) for k, v in tomllib.loads(path.read_text(encoding="utf-8")).items()}


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
