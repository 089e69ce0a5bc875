"""A model that workers hold, as the process that hands out work knows it: no second copy of the weights.

That process plans the run, names what its numbers depend on, and writes results. For this it needs a model's revision,
layout, configuration and tokenizer; the first worker says the former two, the latter are read from the model's files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evaluation.engines.protocols import EditLike, EditorLike
from evaluation.inference.answering import ModelScorer
from schemas.core.errors import ModelError

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


class RemoteScorer(ModelScorer):
    """A model's name, revision and device; it cannot be asked here.

    Args:
        model: What workers hold.
    """

    def __init__(self, model: RemoteModel) -> None:
        super().__init__(model.lm)
        self._device = str(model.environment["device"])

    @property
    def device(self) -> str:
        """Where the workers compute."""
        return self._device


class RemoteEditor(EditorLike):
    """A method's options and identity; workers prepare it and make its edits.

    Args:
        editor: The method, set up for a model without weights.
    """

    def __init__(self, editor: Any) -> None:
        self._editor = editor
        self.name, self.version, self.params = editor.name, editor.version, editor.params

    @property
    def components(self) -> Any:
        """See ``EditorLike``."""
        return self._editor.components

    def wants_support(self, options: Any) -> bool:
        """See ``EditorLike``."""
        return bool(self._editor.wants_support(options))

    def wants_split(self, options: Any) -> bool:
        """See ``EditorLike``."""
        return bool(self._editor.wants_split(options))

    def prepare(self, support: Sequence[Any]) -> None:
        """Nothing: every worker prepares its own."""

    def edit(self, requests: Sequence[Any]) -> EditLike:
        """Never.

        Raises:
            ModelError: always.
        """
        raise ModelError("this process has no weights: workers make the edits", where=str(self.name))

    edit_each = edit_after = edit  # type: ignore[assignment]


def remote_editor(lm: LM, cache: Cache, name: str, params: dict[str, Any]) -> RemoteEditor:
    """A method by name, with the options that it has for the model."""
    from evaluation.editors.presets import make_editor

    return RemoteEditor(make_editor(name, lm, cache, params))


def weightless(description: ModelDescription, *, dtype: str) -> LM:
    """A model with its configuration and tokenizer; its parameters have shapes and types, and take no memory.

    Its revision is that of this machine's files where the model is a folder, else the description's.

    Raises:
        ModelError: there is no such model here, or its tokenizer gives no character offsets.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from evaluation.models.language_model import LM
    from evaluation.models.loading import folder_revision, load_tokenizer, pick_dtype, source_of

    name = description.name
    tokenizer, source = load_tokenizer(name), source_of(name)
    config, revision = AutoConfig.from_pretrained(source), description.revision
    if revision and Path(source).is_dir():
        _, dash, layout = revision.partition("-")  # a layout that the run names is part of the revision
        revision = folder_revision(Path(source)) + dash + layout
    decoder: Any = AutoModelForCausalLM  # its factories have no types
    with torch.device("meta"):
        model = decoder.from_config(config, dtype=pick_dtype(dtype))
    lm = LM(model, tokenizer, name=name, revision=revision, layout=description.layout)
    lm.other_attention = description.other_attention
    return lm
