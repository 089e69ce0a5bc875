"""A model of the user's own, or by name, as the toolkit takes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.core.errors import UserError

if TYPE_CHECKING:
    from evaluation.models.language_model import LM


def language_model(model: Any, tokenizer: Any = None, **options: Any) -> LM:
    """The model ready for editing.

    Args:
        model: A causal language model of transformers, or a name: ``embedded``, a folder, a GGUF file, a hub name.
        tokenizer: Its fast tokenizer; left out with a name.
        options: For a name: ``device``, ``dtype`` ...

    Raises:
        UserError: no tokenizer beside a model, or no such model.
    """
    from evaluation.models.language_model import LM

    if isinstance(model, LM):
        return model
    if isinstance(model, str | Path):
        return LM.load(model, **options)
    if tokenizer is None:
        fix = "give both, or the name alone"
        raise UserError("a model in memory needs its tokenizer beside it", fix=fix)
    name = str(getattr(model, "name_or_path", "") or getattr(model.config, "model_type", "model"))
    lm = LM(model, tokenizer, name=name, revision="")
    lm.revision = lm.weights_digest()[:20]
    return lm
