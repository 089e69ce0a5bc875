"""Read, change or stop a forward pass, for the time of a ``with`` block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn


class Seen:
    """What a module received and returned in its last forward pass, shape [batch, positions, width]."""

    input: Tensor
    output: Tensor


class _Stop(Exception):
    """Ends a forward pass that has served its purpose."""


def first_tensor(value: Any) -> Tensor:
    """The hidden state in a module's output: the tensor itself, or the first member of a tuple (older blocks)."""
    return value if isinstance(value, Tensor) else value[0]


@contextmanager
def reading(module: nn.Module) -> Iterator[Seen]:
    """Keep the module's input and output of the last pass through it."""
    seen = Seen()

    def hook(_: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        seen.input, seen.output = first_tensor(args), first_tensor(output)

    handle = module.register_forward_hook(hook)
    try:
        yield seen
    finally:
        handle.remove()


@contextmanager
def changing(module: nn.Module, change: Callable[[Tensor, Tensor], Tensor]) -> Iterator[None]:
    """Replace the module's output by ``change(input, output)``; other members of a tuple output stay."""

    def hook(_: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        new = change(first_tensor(args), first_tensor(output))
        return new if isinstance(output, Tensor) else (new, *output[1:])

    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def stopping_after(module: nn.Module) -> Iterator[None]:
    """End the block's forward pass as soon as ``module`` has run; a pass that never reaches it ends as usual."""

    def hook(_: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        raise _Stop

    handle = module.register_forward_hook(hook)
    try:
        yield
    except _Stop:
        pass
    finally:
        handle.remove()
