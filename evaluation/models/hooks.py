"""Read, change or stop a forward pass, for the time of a ``with`` block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

_ROWS = "_rows_and_positions"
_HOMES: WeakKeyDictionary[nn.Module, torch.device] = WeakKeyDictionary()


def set_home(model: nn.Module, device: torch.device) -> None:
    """Say of a model that is spread over devices where what is read from it and put into it lies: on one of them.

    Blocks compute where their weights lie; the module that changes or reads a pass has its tensors in one place.
    """
    for module in model.modules():
        _HOMES[module] = device


def home_of(module: nn.Module) -> torch.device:
    """Where tensors lie that are put beside a linear module's output: by ``set_home``, else where its weight does."""
    weight = module.weight
    assert isinstance(weight, Tensor)
    return _HOMES.get(module, weight.device)


def _brought(module: nn.Module, tensor: Tensor) -> Tensor:
    """A tensor of a pass where our own lie: itself, unless the model is spread over devices."""
    home = _HOMES.get(module)
    return tensor if home is None else tensor.to(home)


def with_first(output: Any, new: Tensor) -> Any:
    """What a module returned with another first member; a tensor alone is replaced."""
    if isinstance(output, Tensor):
        return new
    return [new, *output[1:]] if isinstance(output, list) else (new, *output[1:])


def members(output: Any) -> int:
    """Members of the tuple or list that a module returned; 0 where it returned a tensor."""
    return len(output) if isinstance(output, (tuple, list)) else 0


class ModuleActivations:
    """What a module received and returned in its last forward pass, shape [batch, positions, width]."""

    input: Tensor
    output: Tensor
    tuples: int
    """Members of the tuple that the module returned, of which ``output`` is the first; 0 where it was none."""


class _Stop(Exception):
    """Ends a forward pass that has served its purpose."""


def first_tensor(value: Any) -> Tensor:
    """The hidden state in a module's output: the tensor itself, or the first member of a tuple (older blocks)."""
    return value if isinstance(value, Tensor) else value[0]


def note_rows(blocks: Sequence[nn.Module], inside: Sequence[str]) -> None:
    """Have blocks note how many rows and positions they read, for modules in them that get both as one axis.

    From then on ``reading`` and ``changing`` see [rows, positions, width] at these modules, as at all others.

    Args:
        blocks: The decoder's blocks; each keeps a hook.
        inside: Names of the modules in a block.
    """
    for block in blocks:
        block.register_forward_pre_hook(partial(_note_rows, tuple(inside)), with_kwargs=True)


def _note_rows(inside: tuple[str, ...], block: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    hidden = first_tensor(args) if args else kwargs["hidden_states"]
    for name in inside:
        block.get_submodule(name).__dict__[_ROWS] = tuple(hidden.shape[:2])


def _in_rows(module: nn.Module, flat: Tensor) -> Tensor:
    """A pass's tensor where our own lie, as [rows, positions, width] also where the module has both on one axis."""
    brought, rows = _brought(module, flat), module.__dict__.get(_ROWS)
    return brought.reshape(*rows, brought.shape[-1]) if rows is not None and brought.ndim == 2 else brought


@contextmanager
def capture(module: nn.Module) -> Iterator[ModuleActivations]:
    """Keep the module's input and output of the last pass through it."""
    seen = ModuleActivations()

    def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        hidden = first_tensor(args) if args else kwargs["hidden_states"]
        seen.input, seen.output = _in_rows(module, hidden), _in_rows(module, first_tensor(output))
        seen.tuples = members(output)

    with module.register_forward_hook(hook, with_kwargs=True):
        yield seen


@contextmanager
def replace_output(module: nn.Module, change: Callable[[Tensor, Tensor], Tensor]) -> Iterator[None]:
    """Replace the module's output by ``change(input, output)``; other members of a tuple output stay."""

    def hook(_: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        old = first_tensor(output)
        new = change(_in_rows(module, first_tensor(args)), _in_rows(module, old)).to(old.device).reshape(old.shape)
        return with_first(output, new)

    with module.register_forward_hook(hook):
        yield


@contextmanager
def stopping_after(module: nn.Module) -> Iterator[None]:
    """End the block's forward pass as soon as ``module`` has run; a pass that never reaches it ends as usual."""

    def hook(_: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        raise _Stop

    with suppress(_Stop), module.register_forward_hook(hook):
        yield


@contextmanager
def stopping_before(module: nn.Module) -> Iterator[ModuleActivations]:
    """End the block's forward pass when ``module`` is about to run, keeping what it was to read as ``input``."""
    seen = ModuleActivations()

    def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        seen.input = _brought(module, first_tensor(args) if args else kwargs["hidden_states"])
        raise _Stop

    with suppress(_Stop), module.register_forward_pre_hook(hook, with_kwargs=True):
        yield seen


@contextmanager
def passing_over(blocks: Sequence[nn.Module], then: nn.Module, hidden: Tensor, *, tuples: int) -> Iterator[None]:
    """Forward passes do nothing in ``blocks``; the module after them, ``then``, reads ``hidden`` instead.

    Args:
        blocks: The decoder's blocks before ``then``.
        then: The block to start at.
        hidden: What it reads, [rows, positions, width]; the pass's own ids must be of that shape.
        tuples: Members of the tuple that a block returns, hidden state first (some classes still do); 0 for none.
    """

    def idle(*args: Any, **kwargs: Any) -> Any:
        state = args[0] if args else kwargs["hidden_states"]
        return (state, *[None] * (tuples - 1)) if tuples else state

    def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args:
            return (hidden, *args[1:]), kwargs
        return args, {**kwargs, "hidden_states": hidden}

    forwards = [(block, block.__dict__.get("forward")) for block in blocks]
    try:
        for block in blocks:
            block.forward = idle
        with then.register_forward_pre_hook(hook, with_kwargs=True):
            yield
    finally:
        for block, forward in forwards:
            if forward is None:
                block.__dict__.pop("forward", None)
            else:
                block.forward = forward
