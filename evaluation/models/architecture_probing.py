"""What a decoder does, by a few short passes: looks ahead or not, how its blocks add up, what its head does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from evaluation.models.hooks import capture, first_tensor, replace_output, with_first
from schemas.core.errors import ModelError

LOUD = 1e3
"""Size of the logits at which the head is looked at: there a soft cap of any usual size shows."""


class Behaviour(NamedTuple):
    """What the passes showed; see ``evaluation.models.architecture.Layout`` for the words."""

    plain_head: bool
    norms: tuple[str, ...]
    mlp_norm: str | None
    additive: bool
    parallel: bool
    recurrent: bool
    flat: bool = False


@torch.no_grad()
def measure(
    model: Any,
    *,
    base: Any,
    head: nn.Module,
    block: nn.Module,
    projection: nn.Module | None,
    norms: Mapping[str, nn.Module],
    attention: nn.Module | None,
) -> Behaviour:
    """Run two rows of three tokens some times over; the model is left as it was.

    Args:
        model: A causal language model of transformers.
        base: Its part below the head.
        head: The module that makes logits.
        block: The block that is looked at.
        projection: Its MLP's output projection; None in a mixture of experts, of which nothing is asked then.
        norms: Its norms by name.
        attention: Its attention module.

    Raises:
        ModelError: the model cannot be run, or looks at later tokens.
    """
    vocabulary = int(model.get_output_embeddings().weight.shape[0])
    device = model.get_input_embeddings().weight.device
    ids = torch.tensor([[5, 6, 7], [5, 6, 8]], device=device) % vocabulary
    training = model.training
    model.eval()
    try:
        logits: Tensor = model(ids, use_cache=False).logits.float()
        _refuse_looking_ahead(model, logits)
        plain, recurrent = _plain_head(model, base, head, ids), _recurrent(base, ids)
        if projection is None:
            with _norm_order(norms) as order:
                base(ids, use_cache=False)
            return Behaviour(plain, tuple(order), None, additive=True, parallel=False, recurrent=recurrent)
        seen = _around_mlp(base, ids, block, projection, norms, attention)
        return seen._replace(plain_head=plain, recurrent=recurrent)
    except (TypeError, ValueError, AttributeError, RuntimeError, LookupError) as error:
        raise ModelError(f"{type(model).__name__} cannot be run as a decoder: {error}") from None
    finally:
        model.train(training)


def _around_mlp(
    base: Any,
    ids: Tensor,
    block: nn.Module,
    projection: nn.Module,
    norms: Mapping[str, nn.Module],
    attention: nn.Module | None,
) -> Behaviour:
    """What passes show of a block with an MLP; the head and the cache are not looked at."""
    with (
        _norm_order(norms) as order,
        capture(projection) as mlp,
        capture(block) as whole,
        ExitStack() as stack,
    ):
        inputs = {name: stack.enter_context(capture(module)) for name, module in norms.items()}
        base(ids, use_cache=False)
    after = next((name for name in order if _is_equal(inputs[name].input, mlp.output)), None)
    return Behaviour(
        plain_head=False,
        norms=tuple(order),
        mlp_norm=after,
        additive=_additive(base, ids, block, projection, before=whole.output),
        parallel=attention is not None and _parallel(base, ids, attention, projection, before=mlp.input),
        recurrent=False,
        flat=mlp.input.ndim == 2,
    )


def _refuse_looking_ahead(model: Any, logits: Tensor) -> None:
    """Two rows that differ in their last token only must agree before it."""
    same = logits[0, :2] - logits[1, :2]
    if logits.isfinite().all() and same.abs().max() > 1e-2 * logits[:, :2].abs().max():
        raise ModelError(f"{type(model).__name__} looks at later tokens: it is no decoder")


def outermost_called(model: Any, base: nn.Module, blocks: nn.Module) -> nn.Module:
    """The outermost module from ``base`` down that holds the blocks and is called when the model runs.

    Usually ``base`` itself. OPT and BART call the decoder inside it and leave the module around it aside.

    Args:
        model: A causal language model of transformers.
        base: Its part below the head, as it says itself.
        blocks: The list of blocks, somewhere in it.

    Raises:
        ModelError: the model cannot be run, or calls no such module.
    """
    around = [m for m in base.modules() if m is not blocks and any(inner is blocks for inner in m.modules())]
    device, training = model.get_input_embeddings().weight.device, model.training
    called: list[nn.Module] = []
    with ExitStack() as stack:
        for module in around:
            stack.callback(module.register_forward_pre_hook(lambda m, _: called.append(m)).remove)
        stack.callback(model.train, training)
        model.eval()
        try:
            with torch.no_grad():
                model(torch.tensor([[1, 0]], device=device), use_cache=False)
        except (TypeError, ValueError, AttributeError, RuntimeError, LookupError) as error:
            raise ModelError(f"{type(model).__name__} cannot be run as a decoder: {error}") from None
    if not called:
        raise ModelError(f"{type(model).__name__} is no decoder: its forward pass goes by its blocks")
    return called[0]


def _recurrent(base: Any, ids: Tensor) -> bool:
    """Whether some layer's cache is not keys and values by position: it cannot be continued from padded beginnings."""
    layers = getattr(getattr(base(ids, use_cache=True), "past_key_values", None), "layers", None)
    if not layers:
        return True
    tensors = [(getattr(layer, "keys", None), getattr(layer, "values", None)) for layer in layers]
    return not all(isinstance(k, Tensor) and isinstance(v, Tensor) and k.ndim == 4 for k, v in tensors)


@contextmanager
def _norm_order(norms: Mapping[str, nn.Module]) -> Iterator[list[str]]:
    """Names of the norms in the order in which they run."""
    order: list[str] = []
    with ExitStack() as stack:
        for name, module in norms.items():
            handle = module.register_forward_hook(lambda *_, name=name: order.append(name))
            stack.callback(handle.remove)
        yield order


def _is_equal(a: Tensor | None, b: Tensor) -> bool:
    return a is not None and a.shape == b.shape and torch.equal(a.to(b.device), b)


def _plain_head(model: Any, base: Any, head: nn.Module, ids: Tensor) -> bool:
    """Whether head(base(x)) gives the model's logits, also where they are large (a soft cap bends only those).

    The base's output is scaled up on its way to the head, so that caps and scalings show that small logits hide.
    """
    captured: dict[str, Tensor] = {}

    def louder(_: nn.Module, args: Any, output: Any) -> Any:
        hidden = output.last_hidden_state
        size = head(hidden).float().abs().max().clamp(min=1e-6)
        captured["hidden"] = hidden * (LOUD / size).to(hidden.dtype)
        output.last_hidden_state = captured["hidden"]
        return output

    handle = base.register_forward_hook(louder)
    try:
        logits: Tensor = model(ids, use_cache=False).logits.float()
    finally:
        handle.remove()
    plain = head(captured["hidden"]).float()
    return plain.shape == logits.shape and bool((plain - logits).abs().max() <= 1e-2 * LOUD)


def _additive(base: Any, ids: Tensor, block: nn.Module, projection: nn.Module, *, before: Tensor) -> bool:
    """Whether a vector added to the projection's output is what the block's output gains."""
    shift = _shift(before)

    def add(_: Tensor, out: Tensor) -> Tensor:
        return out + shift.to(out)

    with replace_output(projection, add), capture(block) as seen:
        base(ids, use_cache=False)
    gained = (first_tensor(seen.output) - before).float()
    return bool((gained - shift.float()).abs().max() <= 0.05 * shift.float().abs().max())


def _parallel(base: Any, ids: Tensor, attention: nn.Module, projection: nn.Module, *, before: Tensor) -> bool:
    """Whether the MLP's keys stay as they were when the attention's output changes."""

    def add(_: nn.Module, args: Any, output: Any) -> Any:  # attention is called by keywords: there is no input to see
        out = first_tensor(output)
        changed = out + _shift(out)
        return with_first(output, changed)

    handle = attention.register_forward_hook(add)
    try:
        with capture(projection) as seen:
            base(ids, use_cache=False)
    finally:
        handle.remove()
    moved = (seen.input - before).float().abs().max()
    return bool(moved <= 1e-3 * before.float().abs().max())


def _shift(like: Tensor) -> Tensor:
    """A fixed vector that no norm treats as a constant, as large as the hidden states themselves."""
    wave = torch.cos(torch.arange(like.shape[-1], device=like.device, dtype=torch.float32) * 1.7)
    return (wave * like.float().abs().max().clamp(min=1.0)).to(like.dtype)
