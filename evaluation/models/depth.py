"""How many layers a model has, read from its configuration: no weights are loaded and nothing is downloaded."""

from __future__ import annotations

import logging
import struct
from pathlib import Path
from typing import BinaryIO

from curation.files.local_models import model_file
from schemas.core.errors import UserError

log = logging.getLogger(__name__)

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of the number types of GGUF, by their number there."""
_STRING, _ARRAY = 8, 9
_INTEGERS = {4: "<I", 5: "<i", 10: "<Q", 11: "<q"}


def model_depth(name: str) -> int | None:
    """Number of layers (blocks) of a model, or None where its configuration is not on this machine or says nothing.

    Args:
        name: ``embedded``, ``local``, ``gguf:PATH``, a folder, a GGUF file, or a hub name that was downloaded before.

    Example:
        >>> model_depth("a-model-that-nobody-has") is None
        True
    """
    try:
        file = model_file(name)
        return _gguf_depth(file) if file else _config_depth(name, Path(name).expanduser())
    except (OSError, ValueError, KeyError, ImportError, AttributeError, struct.error, UserError) as error:
        log.debug("the depth of %s is not known before it is loaded: %s", name, error)
        return None


def refuse_missing_layers(layers: tuple[int, ...], depth: int | None, *, where: str) -> None:
    """Refuse layer numbers that a model does not have; layers are counted from 0.

    Args:
        layers: The numbers.
        depth: Number of layers of the model; None where it is not known, and nothing is refused.
        where: What the error names, such as ``editors.rome.params``.

    Raises:
        UserError: a number is beyond the last layer.
    """
    if depth is None:
        return
    missing = [n for n in layers if not 0 <= n < depth]
    if missing:
        raise UserError(f"the model has no layer {missing[0]}", where=where, allowed=f"0 to {depth - 1}")


def _config_depth(name: str, path: Path) -> int | None:
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(str(path) if path.exists() else name, local_files_only=True)
    depth = config.get_text_config().num_hidden_layers
    return depth if isinstance(depth, int) and depth > 0 else None


def _gguf_depth(path: Path) -> int | None:
    """The field ``*.block_count`` of a GGUF file; it stands before the vocabulary, so that little is read."""
    with path.open("rb") as file:
        magic, version, _, fields = struct.unpack("<4sIQQ", file.read(24))
        if magic != b"GGUF" or version < 2:
            raise ValueError("no GGUF file of version 2 or later")
        for _ in range(fields):
            key = file.read(_count(file)).decode("utf-8")
            (kind,) = struct.unpack("<I", file.read(4))
            if key.endswith(".block_count") and kind in _INTEGERS:
                return int(struct.unpack(_INTEGERS[kind], file.read(_SIZES[kind]))[0])
            _pass_over(file, kind)
    return None


def _count(file: BinaryIO) -> int:
    return int(struct.unpack("<Q", file.read(8))[0])


def _pass_over(file: BinaryIO, kind: int) -> None:
    """Skip a value of a type."""
    if kind == _STRING:
        file.seek(_count(file), 1)
    elif kind == _ARRAY:
        (inside,) = struct.unpack("<I", file.read(4))
        count = _count(file)
        if inside in _SIZES:
            file.seek(count * _SIZES[inside], 1)
            return
        for _ in range(count):
            _pass_over(file, inside)
    else:
        file.seek(_SIZES[kind], 1)
