"""A model, methods and metrics of the user's own, or by name, as the toolkit takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.core.errors import UserError

if TYPE_CHECKING:
    from evaluation.models.language_model import LM
    from schemas.core.registry import Registry


def language_model(model: Any, tokenizer: Any = None, **options: Any) -> LM:
    """The model ready for editing: put into eval mode, gradients of its weights off.

    Args:
        model: A causal language model of transformers, or a name: ``embedded``, a folder, a GGUF file, a hub name.
        tokenizer: Its fast tokenizer; left out with a name.
        options: For a name: ``device``, ``dtype`` ...

    Raises:
        UserError: no tokenizer beside a model, a tokenizer beside a name, or no such model.
    """
    if isinstance(model, str | Path) and tokenizer is not None:
        fix = "leave the tokenizer out, or give both in memory"
        raise UserError(f"'{model}' is read with its own tokenizer, and another one is given", fix=fix)
    from evaluation.models.language_model import LM

    if isinstance(model, LM):
        return model
    if isinstance(model, str | Path):
        return LM.load(model, **options)
    if tokenizer is None:
        fix = "give both, or the name alone"
        raise UserError("a model in memory needs its tokenizer beside it", fix=fix)
    head = getattr(model, "get_output_embeddings", None)
    if head is None or head() is None:
        fix = "load it with AutoModelForCausalLM, or give a name"
        raise UserError(f"a {type(model).__name__} is no causal language model of transformers", fix=fix)
    if any(weight.is_meta for weight in model.parameters()):
        fix = "load it without offloading, or give its name with device='map'"
        raise UserError("some weights of the model are on no device ('meta')", fix=fix)
    name = str(getattr(model, "name_or_path", "") or getattr(model.config, "model_type", "model"))
    lm = LM(model, tokenizer, name=name, revision="")
    lm.revision = lm.weights_digest()[:20]
    return lm


def several(given: Any, where: str) -> list[Any]:
    """One thing, or several."""
    if isinstance(given, str | type):
        return [given]
    if not isinstance(given, Iterable):
        raise UserError(f"a {type(given).__name__} is given", where=where, allowed="a list of names and classes")
    return list(given)


def named(component: Any, registry: Registry, base: type) -> Any:
    """A component's name, or its table; a class of the user's own is registered for this process.

    Raises:
        UserError: something else, or a class that lacks what such a component needs.
    """
    where, own = f"{registry.kind}s", f"evaluation.{base.__name__}"
    if isinstance(component, Mapping):
        return {**component, "name": named(component.get("name"), registry, base)}
    if isinstance(component, str):
        return component
    if not isinstance(component, type):
        raise UserError(
            f"a {type(component).__name__} is given", where=where, allowed=f"names, classes ({own}), tables"
        )
    needed = {name for name, kind in base.__annotations__.items() if "ClassVar" in str(kind)}
    needed |= {name for name in vars(base) if not name.startswith("_")}
    missing = sorted(name for name in needed if not hasattr(component, name))
    missing += sorted(getattr(component, "__abstractmethods__", ()))
    if missing:
        few = ", ".join(missing[:4]) + (" ..." if len(missing) > 4 else "")
        raise UserError(
            f"the class {component.__name__} lacks {few}", where=where, fix=f"derive it as help({own}) says"
        )
    name = str(getattr(component, "name", ""))
    registry.add(name, component)
    return name
