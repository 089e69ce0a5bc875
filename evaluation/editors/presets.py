"""Options of a method for a model: tuned values with their source, scaled ones for models nobody has tuned."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Collection, Mapping
from functools import cache as remember
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.files.artifact_cache import Cache
from curation.files.model_packages import cache_dir
from evaluation.editors import EDITORS
from evaluation.editors.base import Editor, FactFormat, layers_of
from schemas.core.config import Options, validate
from schemas.core.errors import ModelError, UserError

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)

STAND_IN_DEPTH = 32
"""Depth to scale options by where only their form is judged and the model's depth is not known."""


@remember
def _table() -> dict[str, Any]:
    return tomllib.loads((files("evaluation.editors") / "presets.toml").read_text(encoding="utf-8"))


def preset(method: str, model: LM | str, given: Collection[str] = ()) -> dict[str, Any]:
    """Options of ``method`` tuned for a model, or scaled by its depth where nobody has tuned them (logged as such).

    Args:
        method: Name in ``EDITORS``; methods without presets get no options.
        model: The model, or its name; scaling needs the model itself.
        given: Options that the user sets, which the log does not call scaled.

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
    if method not in _table()["scaled"]:
        return {}
    if isinstance(model, str):
        raise UserError(f"there is no preset of '{method}' for the model '{model}'", fix="set editor.params.layer")
    options = _scale_layers(method, model.layout.depth)
    if "layer" in given or "layers" in given:
        which = "options that you do not set"
    elif "layer" in options:
        which = f"layer {options['layer']} of {model.layout.depth} and other options"
    else:
        which = f"layers {options['layers'][0]}-{options['layers'][-1]} of {model.layout.depth} and other options"
    source = _table()["scaled"][method]["source"]
    log.warning("nobody has tuned '%s' for %s: %s are scaled defaults (%s)", method, model.name, which, source)
    return options


def _scale_layers(method: str, depth: int) -> dict[str, Any]:
    """Options of a method, its layers a share of a model's depth."""
    scaled = _table()["scaled"][method]
    layer = min(depth - 1, round(scaled["depth"] * depth))
    span = scaled.get("span")  # for methods that edit several layers: how many, up to this one
    where = {"layer": layer} if span is None else {"layers": list(range(max(0, layer - span + 1), layer + 1))}
    return {**where, **scaled["params"]}


def options(method: str, lm: LM, changes: Mapping[str, Any]) -> dict[str, Any]:
    """A method's preset for a model with the given options in place of the preset's, and of what they exclude.

    Raises:
        UserError: unknown method.
    """
    kind: type[Editor] = EDITORS.get(method)
    return _without_alternatives(kind, preset(method, lm, changes), changes)


def check_options(
    method: str,
    model: str,
    changes: Mapping[str, Any],
    *,
    where: str,
    depth: int | None = None,
    files_here: bool = True,
) -> Options:
    """Refuse a method's options without loading a model: unknown names, values of a wrong kind or out of range.

    Args:
        method: Name in ``EDITORS``.
        model: Name of the model, for the presets.
        changes: Options that differ from the preset.
        where: What the error names, such as ``editors.rome.params``.
        depth: The model's number of layers (``model_depth``), to which layer numbers are compared; None: not known yet.
        files_here: Whether files that the options name must be on this machine.

    Returns:
        All options of the method.

    Raises:
        UserError: unknown method, a layer that the model does not have, or a file that is not there.
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
        tuned = _scale_layers(method, depth or STAND_IN_DEPTH)
    wanted = _without_alternatives(kind, tuned, changes)
    params = validate(kind.Params, wanted, where=where)
    missing = [] if depth is None else [n for n in layers_of(params) if not 0 <= n < depth]
    if missing:
        raise UserError(f"the model has no layer {missing[0]}", where=where, allowed=f"0 to {(depth or 0) - 1}")
    for name in getattr(params, "files", ()) if files_here else ():
        if not Path(name).is_file():
            fix = f"name a file on this machine; '{method}' reads it"
            raise UserError(f"there is no file '{name}'", where=where, fix=fix)
    return params


def _without_alternatives(kind: type[Editor], tuned: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A preset with the given options in place of its own, and of what they exclude."""
    for names in kind.alternatives:
        if any(option in changes for option in names):
            tuned = {option: value for option, value in tuned.items() if option not in names}
    return {**tuned, **changes}


def make_without_model(name: str, cache: Cache, overrides: Mapping[str, Any]) -> Editor | None:
    """A method set up for its training, where that needs no language model; None where it does.

    Args:
        name: Name in ``EDITORS``.
        cache: Where it keeps what is expensive to compute.
        overrides: Options by name.

    Raises:
        UserError: unknown method, unknown option, value out of range.
    """
    kind: Any = EDITORS.get(name)
    if not kind.trains_without_model:
        return None
    editor: Editor = kind(validate(kind.Params, dict(overrides), where=f"options of '{name}'"), None, cache)
    return editor


def make_editor(name: str, lm: LM, cache: Cache | None = None, overrides: Mapping[str, Any] | None = None) -> Editor:
    """A method set up for a model: its preset, with the given options in place of the preset's.

    Args:
        name: Name in ``EDITORS``.
        lm: The model to edit.
        cache: Where it keeps what is expensive to compute; the user's cache folder where none is given.
        overrides: Options by name.

    Raises:
        UserError: unknown method, unknown option, value out of range.
        ModelError: the method cannot edit a model of this kind.
    """
    kind: type[Editor] = EDITORS.get(name)
    if kind.edits_mlp and lm.layout.experts:
        raise ModelError(
            f"'{name}' changes the MLP's output projection, and the blocks of this model are mixtures of experts, "
            "which have none",
            where=lm.name,
            fix="use lora or a method in context (prompt, ike ...)",
        )
    params = validate(kind.Params, options(name, lm, overrides or {}), where=f"options of '{name}'")
    in_chat = isinstance(params, FactFormat) and params.edit_format == "chat"
    editor = kind(params, lm.reading_in_chat() if in_chat else lm, cache or Cache(cache_dir()))
    for layer in editor.edited_layers:
        lm.layout.block(layer)  # refuses layers that the model has not
    return editor
