"""Fields of source records as parts of ours: templates, names, strings, and what is left over."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from schemas.core.ids import digest, slug
from schemas.extras import Extra


def template(prompt: str, subject: str) -> str:
    """A filled-in prompt whose first occurrence of the subject as a word is replaced by ``{}``.

    Where words are written without spaces between them (Chinese, Japanese, Thai ...), any occurrence counts.

    Raises:
        ValueError: the subject is not in the prompt, only inside a word, or the prompt holds ``{}`` already.

    Example:
        >>> template("The Alban hills were first climbed by Al, born in", "Al")
        'The Alban hills were first climbed by {}, born in'
    """
    if "{}" in prompt.replace(subject, ""):
        raise ValueError(f"the prompt {prompt!r} holds {{}}, which stands for the subject")
    if subject not in prompt:
        raise ValueError(f"the subject {subject!r} is not in the prompt {prompt!r}")
    for match in re.finditer(re.escape(subject), prompt):
        if not (_joined(prompt, match.start()) or _joined(prompt, match.end())):
            return prompt[: match.start()] + "{}" + prompt[match.end() :]
    raise ValueError(f"the subject {subject!r} stands only inside a word of the prompt {prompt!r}")


_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff66-\uff9f]")
"""Thai, Lao, Burmese, Khmer, Chinese and Japanese letters."""


def _joined(text: str, place: int) -> bool:
    """Whether the characters before and after a place belong to one word."""
    before, after = text[max(0, place - 1) : place], text[place : place + 1]
    letters = all(char.isalnum() or unicodedata.combining(char) for char in (before, after) if char)
    return bool(before and after) and letters and not _SPACELESS.search(before + after)


def relation_of(prompt: str) -> str:
    """A relation's id where the source names none: its template.

    Example:
        >>> relation_of("The capital of {} is")
        'template:the-capital-of-x-is'
    """
    return f"template:{slug(prompt.replace('{}', ' x '), length=80)}"


def unique_key_part(*parts: str) -> str:
    """A readable key piece that stays unique: a slug, then six digits of a hash over the parts.

    Example:
        >>> unique_key_part("Côte d'Ivoire", "P36")
        'cote-d-ivoire-75ef5c'
    """
    return f"{slug(parts[0], length=40)}-{digest(parts)[:6]}"


def strings(values: Any) -> Iterator[str]:
    """The non-empty strings of a list, stripped; one string counts as a list of one, null as none.

    Raises:
        FieldValueError: an object or a list stands where a string belongs: left out, nobody would miss it.
    """
    if isinstance(values, dict):
        raise FieldValueError("", f"must be a text, it is {kind_of(values)}")
    for value in [values] if isinstance(values, str) else values or ():
        if isinstance(value, dict | list):
            raise FieldValueError("", f"must be a text, it is {kind_of(value)}")
        if isinstance(value, str) and value.strip():
            yield value.strip()


class FieldValueError(ValueError):
    """A field with a value that it cannot have: its innermost name ("": one item of a list), and what is wrong."""

    def __init__(self, name: str, what: str) -> None:
        self.name, self.what = name, what
        super().__init__(f"the field '{name}' {what}" if name else f"an item of a list {what}")


def kind_of(value: Any) -> str:
    """The kind of a JSON value in words.

    Example:
        >>> kind_of(None), kind_of([1]), kind_of({}), kind_of("a"), kind_of(True), kind_of(2.5)
        ('null', 'a list', 'an object', 'a text', 'true or false', 'a number')
    """
    kinds = ((bool, "true or false"), (str, "a text"), (dict, "an object"), (list, "a list"), (int | float, "a number"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def text_of(data: Mapping[str, Any], name: str) -> str:
    """A field that must be a text with something in it, stripped.

    Raises:
        KeyError: it is absent.
        ValueError: it is no string, or empty.
    """
    value = data[name]
    if not isinstance(value, str) or not value.strip():
        what = "empty" if isinstance(value, str) else kind_of(value)
        quoted = f': write "{value}"' if kind_of(value) == "a number" else ""
        raise FieldValueError(name, f"must be a text with something in it, it is {what}{quoted}")
    return value.strip()


def id_of(data: Mapping[str, Any], name: str) -> str:
    """A field that must be an id: a text with something in it, or a whole number.

    Raises:
        KeyError: it is absent.
        ValueError: it is something else (null, 3.0, true).
    """
    value = data[name]
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip():
        what = "empty" if isinstance(value, str) else kind_of(value) if not isinstance(value, float) else value
        raise FieldValueError(name, f"must be an id (a whole number or a text), it is {what}")
    return str(value)


def wikidata(value: Any, letter: str = "Q") -> str | None:
    """A Wikidata id of that letter, or None."""
    return value if isinstance(value, str) and re.fullmatch(letter + r"\d+", value) else None


def rest(key: str, data: Mapping[str, Any], carried: Iterable[str], *, name: str = "fields") -> Iterator[Extra]:
    """An extra with the fields of a source record that its fact does not carry; none where all are carried."""
    left = {k: v for k, v in data.items() if k not in set(carried) and v not in (None, "", [], {})}
    if left:
        yield Extra.holding(f"{key}/extra/{slug(name)}", left, subject_key=key, name=name)
