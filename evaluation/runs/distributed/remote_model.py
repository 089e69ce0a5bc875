"""A model that workers hold, as the process that hands out work knows it: no second copy of the weights.

That process plans the run, names what its numbers depend on, and writes results. For this it needs a model's revision,
layout, configuration and tokenizer; the first worker says the former two, the latter are read from the model's files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evaluation.editors.base import Editor
from evaluation.inference.answering import ModelScorer

if TYPE_CHECKING:
    from curation.files.artifact_cache import Cache
    from evaluation.models.language_model import LM
    from evaluation.models.layout import Layout


class ModelDescription(NamedTuple):
    """What a worker says of its model.

    Attributes:
        name: The name it was asked for by.
        revision: What tells its weights from others.
        layout: Where its parts stand.
        environment: Of the worker: device, versions, attention (``evaluation.engines.environment``).
        other_attention: How it computes attention, where that is not as usual.
    """

    name: str
    revision: str
    layout: Layout
    environment: dict[str, Any]
    other_attention: str = ""


class RemoteModel(NamedTuple):
    """A model without weights, and the environment of the worker that holds it."""

    lm: LM
    environment: dict[str, Any]


def remote_scorer(model: RemoteModel) -> ModelScorer:
    """The model as a run knows it: name, revision, and the device of the workers. It cannot be asked here."""
    scorer = ModelScorer(model.lm)
    scorer.device = str(model.environment["device"])
    return scorer


def remote_editor(lm: LM, cache: Cache, name: str, params: dict[str, Any]) -> Editor:
    """A method's options and identity, set up for a model without weights; workers prepare it and make its edits."""
    from evaluation.editors.presets import make_editor

    editor = make_editor(name, lm, cache, params)
    editor.prepare = lambda support: None  # type: ignore[method-assign]
    return editor


def weightless(description: ModelDescription, *, dtype: str) -> LM:
    """A model with its configuration and tokenizer; its parameters have shapes and types, and take no memory.

    Its revision is that of this machine's files where the model is a folder, else the description's.

    Raises:
        ModelError: there is no such model here, or its tokenizer gives no character offsets.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from evaluation.models.language_model import LM
    from evaluation.models.loading import folder_revision, hub_options, load_tokenizer, pick_dtype, source_of

    name = description.name
    tokenizer, source = load_tokenizer(name), source_of(name)
    config, revision = AutoConfig.from_pretrained(source, **hub_options(source)), description.revision
    if revision and Path(source).is_dir():
        _, dash, layout = revision.partition("-")  # a layout that the run names is part of the revision
        revision = folder_revision(Path(source)) + dash + layout
    decoder: Any = AutoModelForCausalLM  # its factories have no types
    with torch.device("meta"):
        model = decoder.from_config(config, dtype=pick_dtype(dtype))
    lm = LM(model, tokenizer, name=name, revision=revision, layout=description.layout)
    lm.other_attention = description.other_attention
    return lm
