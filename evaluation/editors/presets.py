"""Options of a method for a model: tuned values with their source, scaled ones for models nobody has tuned."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Mapping
from functools import cache as remember
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from curation.files.artifact_cache import Cache
from curation.files.model_packages import cache_dir
from evaluation.editors import EDITORS
from evaluation.editors.base import Editor
from schemas.core.config import validate
from schemas.core.errors import UserError

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)


@remember
def _table() -> dict[str, Any]:
    return tomllib.loads((files("evaluation.editors") / "presets.toml").read_text(encoding="utf-8"))


def preset(method: str, model: LM | str) -> dict[str, Any]:
    """Options of ``method`` tuned for a model, or scaled by its depth where nobody has tuned them (logged as such).

    Args:
        method: Name in ``EDITORS``; methods without presets get no options.
        model: The model, or its name; scaling needs the model itself.

    Raises:
        UserError: only a name is given and there is no preset for it.

    Example:
        >>> preset("rome", "gpt2-xl")["layer"]
        17
    """
    name = (model if isinstance(model, str) else model.name).rstrip("/").rsplit("/", 1)[-1].lower()
    for entry in _table()["preset"]:
        if entry["method"] == method and any(part in name for part in entry["match"]):
            return dict(entry["params"])
    scaled = _table()["scaled"].get(method)
    if scaled is None:
        return {}
    if isinstance(model, str):
        raise UserError(f"there is no preset of '{method}' for the model '{model}'", fix="set editor.params.layer")
    depth = model.layout.depth
    layer = min(depth - 1, round(scaled["depth"] * depth))
    span = scaled.get("span")  # for methods that edit several layers: how many, up to this one
    told = layer if span is None else f"s {max(0, layer - span + 1)}-{layer}"
    log.warning(
        "nobody has tuned '%s' for %s: layer%s of %d and other options are scaled defaults (%s)",
        method, model.name, f" {told}" if span is None else told, depth, scaled["source"],
    )  # fmt: skip
    where = {"layer": layer} if span is None else {"layers": list(range(max(0, layer - span + 1), layer + 1))}
    return {**where, **scaled["params"]}


def options(method: str, lm: LM, given: Mapping[str, Any]) -> dict[str, Any]:
    """A method's preset for a model with the given options in place of the preset's, and of what they exclude.

    Raises:
        UserError: unknown method.
    """
    kind: type[Editor] = EDITORS.get(method)
    return _without_alternatives(kind, preset(method, lm), given)


def check_options(method: str, model: str, given: Mapping[str, Any], *, where: str) -> None:
    """Refuse a method's options without loading a model: unknown names, values of a wrong kind or out of range.

    Layers that a preset takes from the model's depth stand in as the first ones, so that only what is given is judged.

    Args:
        method: Name in ``EDITORS``.
        model: Name of the model, for the presets.
        given: Options that differ from the preset.
        where: What the error names, such as ``editors.rome.params``.

    Raises:
        UserError: unknown method.
        DataError: an option is refused; one sentence with the nearest name.

    Example:
        >>> check_options("rome", "gpt2-xl", {"layers": [3]}, where="editors.rome.params")
        Traceback (most recent call last):
        schemas.core.errors.DataError: editors.rome.params: layers: unknown field, did you mean 'layer'?
    """
    kind: type[Editor] = EDITORS.get(method)
    try:
        tuned = preset(method, model)
    except UserError:
        scaled = _table()["scaled"][method]
        span = scaled.get("span")
        tuned = {**({"layer": 0} if span is None else {"layers": list(range(span))}), **scaled["params"]}
    validate(kind.Params, _without_alternatives(kind, tuned, given), where=where)


def _without_alternatives(kind: type[Editor], tuned: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A preset with the given options in place of its own, and of what they exclude."""
    for names in kind.alternatives:
        if any(option in given for option in names):
            tuned = {option: value for option, value in tuned.items() if option not in names}
    return {**tuned, **given}


def make_editor(name: str, lm: LM, cache: Cache | None = None, overrides: Mapping[str, Any] | None = None) -> Editor:
    """A method set up for a model: its preset, with the given options in place of the preset's.

    Args:
        name: Name in ``EDITORS``.
        lm: The model to edit.
        cache: Where it keeps what is expensive to compute; the user's cache folder where none is given.
        overrides: Options by name.

    Raises:
        UserError: unknown method, unknown option, value out of range.
    """
    kind: type[Editor] = EDITORS.get(name)
    params = validate(kind.Params, options(name, lm, overrides or {}), where=f"options of '{name}'")
    editor = kind(params, lm, cache or Cache(cache_dir()))
    for layer in editor.edited_layers:
        lm.layout.block(layer)  # refuses layers that the model has not
    return editor
