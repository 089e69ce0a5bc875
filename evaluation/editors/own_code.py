"""Methods that were written in a notebook: what tells changed code from earlier code, and a changed model."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import nn

from schemas.core.ids import content_id


def code_digest(kind: type) -> str:
    """Digest of a class's code, with the functions, classes, texts and numbers of its own module that it uses.

    Comments and line numbers do not count. What comes from other modules is not looked at, nor what may change while it
    runs: lists, dictionaries, tensors.

    Example:
        >>> one, two = (type("Same", (), {"edit": lambda self: 1}) for _ in range(2))
        >>> code_digest(one) == code_digest(two) != code_digest(type("Same", (), {"edit": lambda self: 2}))
        True
    """
    return content_id("code", _described(kind, kind.__module__, set()))


def weight_sums(model: nn.Module) -> str:
    """Sums of all weights as a text: a quick way to see that a method changed the model itself."""
    return repr([weight.sum(dtype=torch.float64).item() for weight in model.parameters()])


def _described(value: Any, home: str, seen: set[int]) -> Any:
    """A value as JSON; functions and classes of the module ``home`` by their code, each once."""
    if isinstance(value, tuple):
        return [_described(one, home, seen) for one in value]
    if isinstance(value, frozenset):
        return sorted(repr(one) for one in value)
    if isinstance(value, CodeType):
        return [value.co_code.hex(), list(value.co_names), _described(value.co_consts, home, seen)]
    if isinstance(value, property):
        return _described((value.fget, value.fset), home, seen)
    found = inspect.unwrap(getattr(value, "__func__", value))
    if not isinstance(found, type | FunctionType):
        plain = isinstance(value, str | bytes | int | float | None)
        return repr(value) if plain else type(value).__qualname__
    if found.__module__ != home or id(found) in seen:
        return found.__qualname__
    seen.add(id(found))
    parts = _parts_of_class(found) if isinstance(found, type) else _parts_of_function(found)
    return _described(tuple(parts), home, seen)


def _parts_of_class(kind: type) -> Iterator[Any]:
    """Its bases, then what it defines; of what Python itself notes about a class, the methods alone."""
    yield kind.__bases__
    for name, value in vars(kind).items():
        if not name.startswith("__") or isinstance(value, FunctionType):
            yield name, value


def _parts_of_function(function: FunctionType) -> Iterator[Any]:
    """Its code, default values, what it takes from around it, and the globals that it reads."""
    yield function.__code__, function.__defaults__, tuple((function.__kwdefaults__ or {}).items())
    yield tuple(_content(cell) for cell in function.__closure__ or ())
    for name in sorted(_globals_of(function.__code__)):
        yield name, function.__globals__.get(name)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _globals_of(code: CodeType) -> set[str]:
    """Names of the globals that code reads, also in functions inside it."""
    found = {str(one.argval) for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"}
    return found.union(*(_globals_of(one) for one in code.co_consts if isinstance(one, CodeType)))
