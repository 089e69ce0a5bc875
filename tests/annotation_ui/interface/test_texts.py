"""Interface texts: every language has every text, with the same names in braces."""

from __future__ import annotations

import re
import shutil
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import annotation_ui
from annotation_ui.interface import texts
from annotation_ui.interface.texts import best_language, interface_text, language_faults, languages, read_texts
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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of interface texts to which a translator adds a file."""
    copy = tmp_path / "interface"
    shutil.copytree(Path(texts.__file__).parent, copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    monkeypatch.setattr(texts, "_FOLDER", copy)
    for memory in (languages, read_texts, texts._translated):
        memory.cache_clear()
    yield copy
    monkeypatch.undo()
    for memory in (languages, read_texts, texts._translated):
        memory.cache_clear()


SAVE, DONE = 'save = "Save and next"', 'done = "{done} of {of} done"'


@pytest.mark.parametrize(
    ("line", "other"),
    [
        (SAVE, ""),
        (SAVE, "save = 3"),
        (SAVE, 'save = " "'),
        (SAVE, 'save = ["a"]'),
        (SAVE, 'save = "{0}"'),
        (SAVE, 'save = "{"'),
        (DONE, 'done = "{done} of {von}"'),
        (DONE, 'done = "{done} done"'),
        (DONE, 'done = "{done.__class__} of {of}"'),
        (DONE, 'done = "{done:>999999999} of {of}"'),
        (DONE, 'done = "{done!r} of {of}"'),
        (DONE, 'done = "{} of {of}"'),
    ],
)
def test_a_text_that_cannot_be_used_is_named_and_shown_in_english(folder: Path, line: str, other: str) -> None:
    text = (folder / "en.toml").read_text(encoding="utf-8").replace('"English"', '"Fran\u00e7ais"')
    assert text.count(line + "\n") == 1
    (folder / "fr.toml").write_text(text.replace(line, other) + 'unknown = "x"\n', encoding="utf-8")
    assert languages()["fr"] == "Fran\u00e7ais" and read_texts("fr")["save"] == "Save and next"
    assert interface_text("fr", "done", done=1, of=3) == "1 of 3 done" and "unknown" not in read_texts("fr")
    (fault,) = language_faults()
    assert line.split()[0] in fault and "fr.toml" in fault


@pytest.mark.parametrize("content", [b"\xff\xfe", b"language = 3", b"", b"\x00" * 9, b"save = " + b"[" * 5000])
def test_a_file_of_another_encoding_or_without_texts_stops_nobody(folder: Path, content: bytes) -> None:
    (folder / "fr.toml").write_bytes(content)
    assert list(languages()) == ["de", "en"] and len(language_faults()) == 1 and best_language("fr") == "en"


@pytest.mark.parametrize("name", ["pt-BR", "en.old", "0", "\u00e9", "_"])
def test_a_file_whose_name_is_no_language_stops_nobody(folder: Path, name: str) -> None:
    shutil.copy(folder / "en.toml", folder / f"{name}.toml")
    assert list(languages()) == ["de", "en"]


def test_a_whole_translation_is_offered_and_may_repeat_a_name(folder: Path) -> None:
    text = (folder / "en.toml").read_text(encoding="utf-8")
    text = text.replace('"English"', '"Français"').replace(DONE, 'done = "{of}: {done} de {of}"')
    (folder / "fr.toml").write_text(text, encoding="utf-8")
    assert languages()["fr"] == "Français" and best_language("fr-CA") == "fr" and language_faults() == []
    assert interface_text("fr", "done", done=1, of=3) == "3: 1 de 3"
