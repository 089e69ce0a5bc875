"""Published records as pydantic models, and parts of ours made of their fields: templates, names, what is left over."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from schemas.core.ids import digest, slug
from schemas.extras import Extra
from schemas.facts import Object


class Shape(BaseModel):
    """A published record, or an object inside one: the fields that are read; others pass."""

    model_config = ConfigDict(frozen=True, extra="allow")

    @classmethod
    def of(cls, data: Any) -> Self:
        """The record of plain JSON values.

        Raises:
            ValueError: the first field that cannot be read, with its whole path.

        Example:
            >>> Rewrite.of({"subject": "Peru", "relation_id": "P36", "prompt": "x", "target_true": {"str": 5}})
            Traceback (most recent call last):
            ...
            ValueError: the field 'target_true.str' must be a text with something in it, it is a number: write "5"
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise ValueError(explain_field(error)) from None

    @property
    def others(self) -> dict[str, Any]:
        """The fields that the model does not name, as they are."""
        return self.model_extra or {}


JSON_TYPES = {"model_type": "an object", "dict_type": "an object", "list_type": "a list", "tuple_type": "a list"}
"""What a value should be, by pydantic's type of complaint."""
JSON_TYPES |= {"string_type": "a text", "float_type": "a number"}


def explain_field(error: ValidationError) -> str:
    """The first complaint of a pydantic error in a clause, with the whole path of the field."""
    first = error.errors()[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    if first["type"] == "missing":
        return f"the field '{place}' is missing"
    if first["type"] in JSON_TYPES:
        return f"the field '{place}' must be {JSON_TYPES[first['type']]}, it is {kind_of(first['input'])}"
    if first["type"] == "extra_forbidden":
        return f"the field '{place}' is unknown"
    what = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    return f"the field '{place}' {what}" if place else what


def kind_of(value: Any) -> str:
    """The kind of a JSON value in words.

    Example:
        >>> kind_of(None), kind_of([1]), kind_of({}), kind_of("a"), kind_of(True), kind_of(2.5)
        ('null', 'a list', 'an object', 'a text', 'true or false', 'a number')
    """
    kinds = ((bool, "true or false"), (str, "a text"), (dict, "an object"), (list, "a list"), (int | float, "a number"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


# ---- kinds of fields --------------------------------------------------------------------------------------------


def text_with_content(value: Any) -> str:
    """A text with something in it, as it is.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(value, str) and value.strip():
        return value
    what = "empty" if isinstance(value, str) else kind_of(value)
    quoted = f': write "{value}"' if what == "a number" else ""
    raise ValueError(f"must be a text with something in it, it is {what}{quoted}")


def _id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip():
        what = "empty" if isinstance(value, str) else value if isinstance(value, float) else kind_of(value)
        raise ValueError(f"must be an id (a whole number or a text), it is {what}")
    return str(value)


def _texts(value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(listed, list):
        raise ValueError(f"must be a text, it is {kind_of(value)}")
    for place, item in enumerate(listed):
        if isinstance(item, dict | list):
            raise ValueError(f"must hold texts, its item [{place}] is {kind_of(item)}")
    return tuple(text for item in listed if isinstance(item, str) and (text := item.strip()))


def flat_strings(value: Any) -> Iterator[str]:
    """Texts of nested lists and of objects with ``value`` and ``aliases``, in order.

    Example:
        >>> list(flat_strings([["Berlin", "Berlin, Germany"], {"value": "no", "aliases": ["not"]}, " "]))
        ['Berlin', 'Berlin, Germany', 'no', 'not']
    """
    if isinstance(value, dict):
        yield from flat_strings(value.get("value"))
        yield from flat_strings(value.get("aliases"))
    elif isinstance(value, list):
        for item in value:
            yield from flat_strings(item)
    elif value is not None and not isinstance(value, bool) and str(value).strip():
        yield str(value).strip()


def wikidata(value: Any, letter: str = "Q") -> str | None:
    """A Wikidata id of that letter, or None."""
    return value if isinstance(value, str) and re.fullmatch(letter + r"\d+", value) else None


RawText = Annotated[str, BeforeValidator(text_with_content)]
"""A text with something in it."""
Text = Annotated[str, BeforeValidator(lambda value: text_with_content(value).strip())]
"""The same without white space at its ends."""
Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]
"""The texts of a list, or one text; null is none."""
Names = Annotated[tuple[str, ...], BeforeValidator(lambda value: tuple(dict.fromkeys(flat_strings(value))))]
"""The texts of nested lists, each once."""
Id = Annotated[str, BeforeValidator(_id)]
"""A text or a whole number."""
WikidataId = Annotated[str | None, BeforeValidator(wikidata)]
"""A Wikidata item; other values are none."""
OrEmpty = BeforeValidator(lambda value: {} if value is None else value)
"""An object, or null for an empty one."""
OrNone = BeforeValidator(lambda value: value or None)
"""An object, or none where it is empty."""
Listed = BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else () if value is None else value)
"""A list, or null for an empty one."""


class Target(Shape):
    """An object of CounterFact and MQuAKE: its name, and its Wikidata id where that is given."""

    str: Text
    id: WikidataId = None

    @property
    def object(self) -> Object:
        """The object of a fact."""
        return Object(text=self.str, wikidata=self.id)


class Rewrite(Shape):
    """An edit of CounterFact and MQuAKE."""

    subject: Text
    relation_id: Id
    prompt: Text
    target_true: Target
    target_new: Target


# ---- parts of our records ---------------------------------------------------------------------------------------


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
    if (match := word_match(subject, prompt)) is None:
        raise ValueError(f"the subject {subject!r} stands only inside a word of the prompt {prompt!r}")
    return f"{prompt[: match.start()]}{{}}{prompt[match.end() :]}"


def word_match(name: str, text: str, *, flags: int = 0) -> re.Match[str] | None:
    """The first occurrence of a name in a text that is no part of a longer word."""
    matches = re.finditer(re.escape(name), text, flags)
    return next((m for m in matches if not (_joined(text, m.start()) or _joined(text, m.end()))), None)


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


def rest(key: str, data: Mapping[str, Any], carried: Iterable[str] = (), *, name: str = "fields") -> Iterator[Extra]:
    """An extra with the fields of a source record that its fact does not carry; none where all are carried."""
    left = {k: v for k, v in data.items() if k not in set(carried) and v not in (None, "", [], {})}
    if left:
        yield Extra.holding(f"{key}/extra/{slug(name)}", left, subject_key=key, name=name)
