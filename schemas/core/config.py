"""Configuration files: TOML in, validated options out, one sentence for every mistake."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from schemas.core.decoding import line_of, why_not_utf8
from schemas.core.errors import DataError, UserError
from schemas.core.registry import suggest


class Options(BaseModel):
    """Options of a component: immutable, unknown names refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


O = TypeVar("O", bound=BaseModel)  # noqa: E741


def explain(error: ValidationError, *, known: Sequence[str] = ()) -> str:
    """The first complaint of a pydantic error in one clause, with the number of further ones."""
    first, *rest = error.errors()
    place = ".".join(str(p) for p in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        near = suggest(str(first["loc"][-1]), list(known))
        message = "unknown field" + (f", did you mean '{near}'?" if near else "")
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
        raise DataError(explain(error, known=list(cls.model_fields)), where=where) from None


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
        name, found, raw = setting.partition("=")
        if not found or not name:
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
