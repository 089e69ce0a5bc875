"""Records as JSON text: as stores hold it, and the canonical text, by a writer that is made once for each class.

``model_dump`` and ``json.dumps`` define the canonical text: a writer gives the same byte for byte. Where a class or a
value is not of the plain kind that a writer knows (another serialiser, a subclass, a number that is no number), the
text is made as defined.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from json.encoder import encode_basestring  # type: ignore[attr-defined, unused-ignore]
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

Writer = Callable[[Any], str]

_STORED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


class _Unusual(Exception):
    """A value that is not of the type its field has: the writer gives up."""


class _NoWriter(Exception):
    """A type that no writer is known for."""


def stored_text(value: BaseModel) -> str:
    """A value's JSON text in the order of its fields, as stores hold it.

    Example:
        >>> from schemas.facts import Entity
        >>> stored_text(Entity(text="Peru"))
        '{"text":"Peru","aliases":[],"wikidata":null}'
    """
    try:
        return value.model_dump_json()
    except ValueError:  # half of a surrogate pair: whoever stores the text says where it is
        return _STORED.encode(value.model_dump(mode="json"))


def canonical_text(value: BaseModel) -> str:
    """A value's canonical JSON text, with sorted names: what ids and digests are made of.

    Example:
        >>> from schemas.facts import Entity
        >>> canonical_text(Entity(text="Peru"))
        '{"aliases":[],"text":"Peru","wikidata":null}'
    """
    if (writer := writer_of(type(value))) is not None:
        try:
            return writer(value)
        except (_Unusual, KeyError, TypeError):
            pass
    return _CANONICAL.encode(value.model_dump(mode="json"))


@cache
def writer_of(cls: type[BaseModel]) -> Writer | None:
    """The writer of a class, its names sorted; None where it needs ``model_dump``."""
    try:
        return _model(cls)
    except _NoWriter:
        return None


def _model(cls: type[BaseModel]) -> Writer:
    decorated, config = cls.__pydantic_decorators__, cls.model_config
    special = (decorated.field_serializers, decorated.model_serializers, decorated.computed_fields)
    if (
        any(special)
        or config.get("serialize_by_alias")
        or config.get("extra") == "allow"
        or cls.__pydantic_root_model__
    ):
        raise _NoWriter
    if "model_dump" in {name for c in cls.__mro__ if c not in BaseModel.__mro__ for name in vars(c)}:
        raise _NoWriter
    names = sorted(cls.model_fields)
    if not names:
        raise _NoWriter
    known: dict[str, Any] = {"cls": cls, "unusual": _Unusual, "nothing": ()}
    fields, parts = [], []
    for name in names:
        field, label = cls.model_fields[name], f"{encode_basestring(name)}:"
        expression = _field(field, f"held[{name!r}]", known)
        if field.exclude_if is not None:  # written with its name and comma, or not at all
            if name == names[-1]:
                raise _NoWriter
            known[f"leave_out_{name}"] = field.exclude_if
            expression = f"('' if leave_out_{name}(held[{name!r}]) else {label!r} + {expression} + ',')"
            label = ""
        fields.append(expression)
        parts.append(f"{label}%s{',' if label else ''}")
    form = "{" + "".join(parts).removesuffix(",") + "}"
    exec(_FUNCTION.format(form=form, fields=", ".join(fields)), known)
    return cast(Writer, known["write"])


_FUNCTION = """
def write(value):
    if type(value) is not cls:
        raise unusual
    held = value.__dict__
    return {form!r} % ({fields},)
"""
"""A writer's text: one expression for all fields takes half the time of a loop over them. It holds names alone."""


def _field(field: FieldInfo, value: str, known: dict[str, Any]) -> str:
    if field.exclude or not all(map(_keeps_form, field.metadata)):
        raise _NoWriter
    return _expression(field.annotation, value, known)


def _expression(kind: Any, value: str, known: dict[str, Any]) -> str:
    """Python for the text of a value of a type; the writers that it calls are entered among the known names."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated and all(map(_keeps_form, inner[1:])):
        return _expression(inner[0], value, known)
    if (optional := _optional(kind)) is not None:
        return f"('null' if {value} is None else {_expression(optional, value, known)})"
    name = f"write_{len(known)}"
    known[name] = _writer_of(kind)
    return f"('[]' if {value} is nothing else {name}({value}))" if origin is tuple else f"{name}({value})"


def _optional(kind: Any) -> Any:
    """The type that may be absent; None where a type is no such one."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType) and len(inner) == 2 and NoneType in inner:
        return next(a for a in inner if a is not NoneType)
    return None


def _keeps_form(metadata: object) -> bool:
    """Whether what is said beside a type leaves alone how it is written, as pydantic's validators and bounds do."""
    return (
        not hasattr(metadata, "__get_pydantic_core_schema__")
        or type(metadata).__module__ == "pydantic.functional_validators"
    )


def _writer_of(kind: Any) -> Writer:
    """The writer of a type."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        if not all(map(_keeps_form, inner[1:])):
            raise _NoWriter
        return _writer_of(inner[0])
    if (optional := _optional(kind)) is not None:
        return _optional_writer(_writer_of(optional))
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        return _tuple(_writer_of(inner[0]))
    if kind is str or (origin is Literal and all(type(a) is str for a in inner)):
        return cast(Writer, encode_basestring)  # a TypeError for anything but text
    if kind in (bool, int, float):
        return {bool: _bool, int: _int, float: _float}[kind]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _model(kind)
    raise _NoWriter


def _bool(value: Any) -> str:
    if type(value) is not bool:
        raise _Unusual
    return "true" if value else "false"


def _int(value: Any) -> str:
    if type(value) is not int:
        raise _Unusual
    return int.__repr__(value)


def _float(value: Any) -> str:
    if type(value) is not float or not math.isfinite(value):
        raise _Unusual
    return float.__repr__(value)


def _optional_writer(inner: Writer) -> Writer:
    return lambda value: "null" if value is None else inner(value)


def _tuple(inner: Writer) -> Writer:
    def write(value: Any) -> str:
        if type(value) is not tuple:
            raise _Unusual
        return "[" + ",".join(map(inner, value)) + "]"

    return write
