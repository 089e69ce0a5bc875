"""Values of a sequence's state as JSON with tensors beside it, and back: exact, and nothing is run to read them.

Plain values, tuples, lists, mappings, tensors, data classes and named tuples are known. A class is only taken up where
its module is loaded already (the method that goes on has done that): a file cannot have one loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor

Tensors = dict[str, Tensor]


class NotStorable(Exception):
    """A value that is none of those that are known."""


def encode(value: Any, tensors: Tensors) -> Any:
    """A value as JSON; its tensors are added to ``tensors`` and named there.

    Raises:
        NotStorable: it holds something else, such as a function.

    Example:
        >>> tensors = {}
        >>> encode({"a": (1, torch.ones(2))}, tensors)
        {'map': [['a', {'tuple': [1, {'tensor': '0', 'device': 'cpu'}]}]]}
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Tensor):
        name = str(len(tensors))
        tensors[name] = value.detach().cpu().contiguous().clone()
        return {"tensor": name, "device": value.device.type}
    parts = _parts(value)
    if parts is not None:
        kind = type(value)
        return {"class": [kind.__module__, kind.__qualname__], "fields": {k: encode(v, tensors) for k, v in parts}}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [encode(v, tensors) for v in value]}
    if isinstance(value, Mapping):
        return {"map": [[_key(k), encode(v, tensors)] for k, v in value.items()]}
    raise NotStorable(f"{type(value).__name__} cannot be stored")


def decode(value: Any, tensors: Mapping[str, Tensor], device: torch.device) -> Any:
    """The value that ``encode`` wrote; tensors that were not on the CPU come to ``device``.

    Raises:
        ValueError: it is none, or of a class that is not loaded.
    """
    if isinstance(value, list):
        raise ValueError("a list without its kind")
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        tensor = tensors[value["tensor"]]
        return tensor if value["device"] == "cpu" else tensor.to(device)
    if "class" in value:
        kind = _loaded(*value["class"])
        return kind(**{k: decode(v, tensors, device) for k, v in value["fields"].items()})
    if "map" in value:
        return {k: decode(v, tensors, device) for k, v in value["map"]}
    for name, make in (("tuple", tuple), ("list", list)):
        if name in value:
            return make(decode(v, tensors, device) for v in value[name])
    raise ValueError("a value of no known kind")


def tensors_in(value: Any) -> Iterator[Tensor]:
    """All tensors of a value; of what ``encode`` does not know, none."""
    if isinstance(value, Tensor):
        yield value
        return
    parts = _parts(value)
    if parts is not None:
        values = [part for _, part in parts]
    else:
        values = list(
            value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
        )
    for part in values:
        yield from tensors_in(part)


def _parts(value: Any) -> Iterator[tuple[str, Any]] | None:
    """Fields of a data class or named tuple; None of anything else."""
    if is_dataclass(value) and not isinstance(value, type):
        return ((f.name, getattr(value, f.name)) for f in fields(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return zip(value._fields, value, strict=True)
    return None


def _key(key: Any) -> str | int:
    if isinstance(key, str | int) and not isinstance(key, bool):
        return key
    raise NotStorable(f"a key of type {type(key).__name__} cannot be stored")


def _loaded(module: str, name: str) -> Any:
    """A class of a loaded module."""
    kind: Any = sys.modules.get(module)
    for part in name.split("."):
        kind = getattr(kind, part, None)
    if not (isinstance(kind, type) and (is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields")))):
        raise ValueError(f"{module}:{name} is no class of values here")
    return kind
