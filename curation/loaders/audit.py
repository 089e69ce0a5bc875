"""What can be wrong with records that load: every check describes one place and leaves out nothing.

Loaders say what cannot be used. These checks say what can be used and will still spoil a measurement: an answer that
stands in its own prompt, objects that contain each other, neighbours that are no neighbours, damaged text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from curation.loaders import LoadResult, detect, load
from curation.loaders.reading import Problem, Row, rows
from curation.splits.contradictions import disagreement
from schemas.facts import Fact
from schemas.scripts import ScriptPrompt

_HIGH = bytes(code for code in range(0x80, 0xC0) if code != 0x98).decode("cp1251")  # second bytes of Cyrillic letters
_DAMAGED = (
    ("a replacement character", re.compile("�")),
    ("UTF-8 read as Latin-1", re.compile("Ã[\u0080-¿]|â€|Â[\u0080-¿]|[ÐÑ][\u0080-©¬-¶¸¹¼-¿]")),
    ("a control character", re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")),
    (
        "an invisible character",
        re.compile("[\u0080-\u009f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]"),
    ),
    ("UTF-8 read as a Cyrillic code page", re.compile(f"(?:[РС][{_HIGH}]){{3,}}")),
    ("an HTML entity", re.compile(r"&(?:[a-zA-Z]{2,8}[1-4]?|#\d+|#[xX][0-9a-fA-F]+);")),
    ("an HTML tag", re.compile(r"</?(?:a|b|i|u|p|em|strong|span|div|br|sup|sub|li|ul)(?:\s[^<>]*)?/?>", re.IGNORECASE)),
    ("an escape code", re.compile(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|(?:\\[0-3][0-7]{2}){2}")),
    ("bytes in escape codes", re.compile(r"(?:^|\s)[^\s:/?]*[%=][C-Dc-d][0-9a-fA-F][%=][89ABab][0-9a-fA-F]")),
    ("letters of two alphabets in a word", re.compile("[a-zA-Z][\u0400-\u045f]|[\u0400-\u045f][a-zA-Z]")),
)

_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]{2}")  # Latin letters and digits as wide as Chinese ones
_EAST_ASIAN = re.compile("[\u2e80-\u9fff\uac00-\ud7af]")
_UTF_7 = re.compile(r"\+[A-Za-z0-9+/]{3,}-")
_SIGNS = frozenset("&\\%=<+")  # one of them stands in every damaged text of plain characters

CHECKS: Mapping[str, str] = {
    "old-in-prompt": "the old object stands in the fact prompt, so the answer is given away",
    "new-in-prompt": "the new object stands in the fact prompt",
    "objects-overlap": "one object contains the other as a word, so a first mention is ambiguous",
    "paraphrase-lacks-subject": "a paraphrase does not name the subject",
    "paraphrase-gives-away": "a paraphrase names the old or the new object",
    "neighbour-is-subject": "a neighbour prompt names the edited subject, so it should move",
    "neighbour-gives-away": "a neighbour prompt names the old object",
    "repeated-prompt": "the same prompt stands twice in one record",
    "leak-in-script-prompt": "a script prompt names its object before the cut",
    "damaged-text": "a replacement, control or invisible character, HTML, an escape code, misread UTF-8, UTF-7, two "
    "alphabets in a word, letters of full width",
    "stray-space": "white space at an end of a text, two spaces or a no-break space in it",
}
"""Kinds of problems that the checks report."""


def defects(path: Path, format: str | None = None) -> tuple[LoadResult, tuple[Problem, ...]]:
    """A file loaded, and everything that is wrong with it: the loader's problems, then those of the checks."""
    loaded = load(path, format or detect(path))
    return loaded, (*loaded.problems, *audit(loaded), *texts(path))


def against_earlier(
    earlier: dict[tuple[str, str], tuple[Path, Fact]], path: Path, loaded: LoadResult
) -> Iterator[Problem]:
    """Contradictions of a file's facts with those of the files before; temporal ones only follow each other.

    Args:
        earlier: The facts of the files before by subject and relation; those of this file are added at the end.
        path: The file.
        loaded: What it holds; what its facts say against each other the loader has said.
    """
    here: dict[tuple[str, str], tuple[Path, Fact]] = {}
    for fact in (fact for fact in loaded.facts if fact.change != "temporal"):
        pair = (fact.subject.text.casefold(), fact.relation.id)
        here.setdefault(pair, (path, fact))
        other, before = earlier.get(pair, (path, fact))
        if what := disagreement(f"'{before.key}' of {other}", _objects(before), _objects(fact)):
            yield Problem(loaded.places.get(fact.key, fact.key), "contradictory", what)
    earlier |= {**here, **earlier}


def _objects(fact: Fact) -> tuple[str, str | None]:
    return fact.old.text, fact.new.text if fact.new else None


def audit(loaded: LoadResult) -> Iterator[Problem]:
    """Problems of the facts and script prompts of a file, in their order."""
    for fact in loaded.facts:
        where = loaded.places.get(fact.key, fact.key)
        for kind, what in _of_fact(fact):
            yield Problem(where, kind, what)
    for record in loaded.records:
        if isinstance(record, ScriptPrompt) and holds(record.text, record.targets[0]):
            yield Problem(record.key, "leak-in-script-prompt", f"'{record.targets[0]}' stands before the cut")


def holds(text: str, name: str) -> bool:
    """Whether a name stands in a text from the beginning of a word on, case aside.

    Example:
        >>> holds("Mu Librae", "Libra"), holds("Romania", "Oman")
        (True, False)
    """
    folded, name = text.casefold(), name.casefold()
    at = folded.find(name)
    while at > 0 and folded[at - 1].isalnum():
        at = folded.find(name, at + 1)
    return at >= 0


def _of_fact(fact: Fact) -> Iterator[tuple[str, str]]:
    old, new, subject = fact.old.text, fact.new.text if fact.new else None, fact.subject.text
    if holds(fact.fact_prompt, old):
        yield "old-in-prompt", f"'{old}' in '{fact.fact_prompt}'"
    if new is not None:
        if holds(fact.fact_prompt, new):
            yield "new-in-prompt", f"'{new}' in '{fact.fact_prompt}'"
        if holds(old, new) or holds(new, old):
            yield "objects-overlap", f"'{old}' and '{new}'"
    for text in fact.paraphrases:
        if not holds(text, subject):
            yield "paraphrase-lacks-subject", f"'{subject}' is not in '{_shorten(text)}'"
        rest = text.casefold().replace(subject.casefold(), " ")
        given_away = [name for name in (old, new) if name and holds(rest, name)]
        if given_away:
            yield "paraphrase-gives-away", f"'{given_away[0]}' in '{_shorten(text)}'"
    for text in fact.neighbour_prompts:
        if holds(text, subject):
            yield "neighbour-is-subject", f"'{subject}' in '{_shorten(text)}'"
        if holds(text, old):
            yield "neighbour-gives-away", f"'{old}' in '{_shorten(text)}'"
    for name, many in (("paraphrases", fact.paraphrases), ("neighbour_prompts", fact.neighbour_prompts)):
        if twice := len(many) - len(set(many)):
            yield "repeated-prompt", f"{twice} of {len(many)} {name} stand there before"


def _shorten(text: str, length: int = 80) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."


def texts(path: Path) -> Iterator[Problem]:
    """Damaged texts and stray spaces anywhere in a file, one problem a field and kind for each record."""
    for row in rows(path):
        if isinstance(row, Row):
            seen = set()
            for place, text in _strings(row.data, ""):
                for kind, what in _of_text(text):
                    if (place, kind) not in seen and not (kind == "stray-space" and place.endswith("separator")):
                        seen.add((place, kind))
                        yield row.problem(kind, f"{what} in the field '{place}': '{_shorten(text, 50)}'")


def _of_text(text: str) -> Iterator[tuple[str, str]]:
    if text != text.strip():
        yield "stray-space", "white space at an end"
    elif "  " in text:
        yield "stray-space", "two spaces"
    elif "\u00a0" in text:
        yield "stray-space", "a no-break space"
    if text.isascii() and text.isprintable() and not _SIGNS.intersection(text):
        return
    for what, pattern in _DAMAGED:
        if pattern.search(text):
            yield "damaged-text", what
    if any(map(_is_utf_7, _UTF_7.findall(text))):
        yield "damaged-text", "UTF-7 read as plain text"
    if _WIDE.search(text) and not _EAST_ASIAN.search(text):
        yield "damaged-text", "letters of full width"


def _is_utf_7(run: str) -> bool:
    """Whether a run from "+" to "-" is a name's letters in UTF-7: Latin ones with marks, Greek or Cyrillic."""
    try:
        letters = run.encode("ascii").decode("utf-7")
    except UnicodeDecodeError:
        return False
    return all(char.isalpha() and "\u00c0" <= char < "\u0590" for char in letters)


def _strings(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _strings(inner, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner, place)
