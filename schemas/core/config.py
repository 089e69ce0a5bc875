"""Configuration files: TOML in, validated options out, one sentence for every mistake."""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from schemas.core.decoding import line_of, why_not_utf8
from schemas.core.errors import DataError, UserError
from schemas.core.registry import suggest


class Options(BaseModel):
    """Options of a component: immutable. Refused: unknown names, infinite numbers; texts and true or false for numbers.

    Example:
        >>> class Cut(Options):
        ...     length: int
        >>> validate(Cut, {"length": True}, where="cut.toml")
        Traceback (most recent call last):
        ...
        schemas.core.errors.DataError: cut.toml: length: Input should be a number, not true or false
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_what_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        """Pydantic reads true as 1 and "4" as 4: ``limit = true`` would be one case."""
        if not info.field_name:
            return value
        if _holds(bool, value) and _takes_numbers(cls, info.field_name, and_no=bool):
            raise ValueError("Input should be a number, not true or false")
        if _holds(str, value) and _takes_numbers(cls, info.field_name, and_no=str):
            raise ValueError("Input should be a number, not a text")
        return value


O = TypeVar("O", bound=BaseModel)  # noqa: E741
TOML_TYPES = {"tuple_type": "a list", "list_type": "a list", "model_type": "a table", "dict_type": "a table"}
"""Complaints of pydantic in Python's words, and what the value should be in TOML's."""


_BRANCH = re.compile(r"constrained-\w+|int|float|str|bool|none|(?:function|literal|tuple|list|dict|nullable)[-\[].*")
"""How pydantic names a branch of a union in the place of a complaint."""


def _holds(kind: type, value: Any) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else (value,)
    return any(isinstance(part, kind) for part in parts)


@functools.cache
def _takes_numbers(cls: type[BaseModel], field: str, *, and_no: type) -> bool:
    """Whether the values of a field are numbers and never of the type ``and_no`` (paths and dates are texts, too)."""
    kinds = set(_kinds(cls.model_fields[field].annotation))
    if and_no is str and kinds - {int, float, bool, type(None), ...}:
        return False
    return bool(kinds & {int, float}) and not kinds & {and_no, Any}


def _kinds(annotation: Any) -> Iterator[Any]:
    """The plain types that an annotation is made of: of a dictionary, those of its values, and so of a Literal."""
    if get_origin(annotation) is Literal:
        yield from map(type, get_args(annotation))
    elif get_origin(annotation) is dict:
        yield from _kinds(get_args(annotation)[1])
    elif get_origin(annotation) is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif parts := get_args(annotation):
        for part in parts:
            yield from _kinds(part)
    else:
        yield annotation


def _fields_at(cls: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    """Names of the fields at a place of a model: its own, or those of a model inside it."""
    for part in place:
        field = cls.model_fields.get(str(part))
        inside = [] if field is None else [k for k in _kinds(field.annotation) if isinstance(k, type)]
        cls = next((kind for kind in inside if issubclass(kind, BaseModel)), cls)
    return list(cls.model_fields)


def explain(
    error: ValidationError, *, model: type[BaseModel] | None = None, types: Mapping[str, str] | None = None
) -> str:
    """The first complaint of a pydantic error in one clause, with the number of further ones.

    Args:
        error: What pydantic raised.
        model: What was read: an unknown field may have meant one of its fields.
        types: What values should be, by type of complaint; pydantic's own words where it is silent. A model is told of
            its reply in pydantic's words, always: they are part of the request that asks for another one, and so of the
            key under which its reply is journaled.
    """
    first, *rest = error.errors()
    parts = [str(p) for p in first["loc"]]
    if types and any(_BRANCH.fullmatch(part) for part in parts[1:]):  # one of several types, none of which fits
        same = [e for e in rest if e["loc"][0] == first["loc"][0]]
        first, rest = max([first, *same], key=lambda e: len(e["loc"])), [e for e in rest if e not in same]
        parts = [str(p) for p in first["loc"]]
        parts = parts[:1] + [part for part in parts[1:] if not _BRANCH.fullmatch(part)]
    place = ".".join(parts)
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        *place_of_it, name = first["loc"]
        fields = [] if model is None else _fields_at(model, place_of_it)
        near = suggest(str(name), fields)
        allowed = f"; allowed: {', '.join(fields)}" if fields else ""
        message = "unknown field" + (f", did you mean '{near}'?" if near else allowed)
    elif types and first["type"] in types:
        message = f"Input should be {types[first['type']]}"
    text = f"{place}: {message}" if place else message
    return text + (f" (and {len(rest)} more)" if rest else "")


def validate(cls: type[O], data: Any, *, where: str) -> O:
    """Data as ``cls``.

    Raises:
        DataError: one sentence, naming the place and the field.
    """
    try:
        return cls.model_validate(data)
    except ValidationError as error:
        raise DataError(explain(error, model=cls, types=TOML_TYPES), where=where) from None


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dictionary, or a UserError that says what is wrong with it."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError("there is no such configuration file", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise DataError(why_not_utf8(error), where=f"{path}, line {line_of(error)}") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"not readable as TOML: {error}", where=str(path)) from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None


def override(data: dict[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """A copy of ``data`` with ``a.b=value`` settings applied; values are read as JSON or a TOML table, else as text.

    Example:
        >>> override({"editor": {"layer": 5}}, ["editor.layer=17"])
        {'editor': {'layer': 17}}
    """
    out: dict[str, Any] = json.loads(json.dumps(data, default=str))
    for setting in settings:
        name, equals, raw = setting.partition("=")
        if not equals or not name:
            raise UserError(f"--set takes name=value, got '{setting}'", fix="for example --set editor.layer=17")
        value = _value(raw)
        place = out
        *path, last = name.split(".")
        for part in path:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise UserError(f"--set {name}: '{part}' is a value, not a table")
        place[last] = value
    return out


def _value(raw: str) -> Any:
    try:
        return json.loads(raw)
    except json.JSONDecodeError:
        pass
    if raw.lstrip().startswith(("{", "[")):  # as in the file: regime={ name = "batch", size = 10 }
        try:
            return tomllib.loads(f"value = {raw}")["value"]
        except tomllib.TOMLDecodeError:
            pass
    return raw


def to_toml(data: Mapping[str, Any], *, table: str = "") -> str:
    """Plain values as TOML; None is left out.

    Example:
        >>> print(to_toml({"limit": 3, "editors": {"my rome": {"layer": 5}}, "feed": None}), end="")
        limit = 3
        [editors."my rome"]
        layer = 5
    """
    lines, tables = [], []
    for name, value in data.items():
        key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
        if isinstance(value, Mapping):
            path = f"{table}.{key}" if table else key
            inner = to_toml(value, table=path)
            tables.append(inner if inner.startswith(f"[{path}.") else f"[{path}]\n{inner}")
        elif value is not None:
            lines.append(f"{key} = {_toml_value(value)}\n")
    return "".join([*lines, *tables])


def _toml_value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{json.dumps(k)} = {_toml_value(v)}" for k, v in value.items() if v is not None)
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
