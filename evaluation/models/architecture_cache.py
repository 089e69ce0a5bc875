"""Layouts on record: found once for a class, a configuration and a program, then only checked."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

from curation.files.atomic import write_json
from curation.files.model_packages import cache_dir
from evaluation.models.architecture import VERSION, Layout, check, discover
from schemas.core.errors import UserError
from schemas.core.ids import digest

log = logging.getLogger(__name__)

_LISTS = ("mlp_in", "block_norms")


def cached_architecture(model: Any, *, folder: Path | None = None) -> Layout:
    """A model's layout from the cache folder where it fits the model, else found and put there.

    Args:
        model: A causal language model of transformers.
        folder: Where layouts are kept; the program's cache folder where left out.

    Raises:
        ModelError: see ``evaluation.models.architecture.discover``.
    """
    path = (folder or cache_dir() / "layouts") / f"{identity(model)}.json"
    try:
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        fields |= {name: tuple(fields[name]) for name in _LISTS}
        layout = Layout(**fields)
        if check(layout, model):
            return layout
        log.warning("the remembered layout %s does not fit the model: it is found anew", path)
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        log.debug("no layout on record at %s", path)
    layout = discover(model)
    try:
        write_json(path, asdict(layout), indent=1, fsync=False)
    except UserError:
        log.debug("the layout cannot be kept at %s", path)
    return layout


def identity(model: Any) -> str:
    """What a layout depends on: class, configuration, names and shapes of parameters, versions. Never the weights."""
    import transformers

    config = {k: v for k, v in model.config.to_dict().items() if not k.startswith("_") and k != "torch_dtype"}
    shapes = [f"{name} {tuple(p.shape)}" for name, p in model.named_parameters()]
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    config_text = json.dumps(config, sort_keys=True, default=str)
    return digest([str(VERSION), transformers.__version__, kind, config_text, *shapes])[:24]
