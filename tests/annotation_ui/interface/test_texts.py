"""Interface texts: every language has every text, with the same names in braces."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

import annotation_ui
from annotation_ui.interface.texts import best_language, interface_text, languages, read_texts
from schemas.core.errors import UserError


def names(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)


@pytest.mark.parametrize("language", sorted(languages()))
def test_a_language_has_every_text_with_the_same_values(language: str) -> None:
    english, other = read_texts("en"), read_texts(language)
    assert list(other) == list(english), "the same keys in the same order"
    assert all(other.values())
    assert {k: names(v) for k, v in other.items()} == {k: names(v) for k, v in english.items()}


def test_every_text_that_the_app_says_is_there_and_none_is_left_over() -> None:
    code = "\n".join(p.read_text(encoding="utf-8") for p in Path(annotation_ui.__file__).parent.rglob("*.py"))
    for key in read_texts("en"):
        stem = key.rsplit("_", 1)[0]
        usage = re.search(rf'["\']{key}["\']', code) or f'f"{stem}_{{' in code or key in ("highlight", "auto_save")
        assert usage, f"'{key}' is said nowhere"
    for key in re.findall(r'(?:context\.say\(|interface_text\(language, )"(\w+)"', code):
        interface_text("en", key, **{n: "" for n in names(read_texts("en")[key])})


@pytest.mark.parametrize("odd", ["xx", "../en", "", "e n"])
def test_an_unknown_language_names_those_that_there_are(odd: str) -> None:
    with pytest.raises(UserError, match="allowed: de, en"):
        read_texts(odd)
    assert best_language(odd, None) == "en"
