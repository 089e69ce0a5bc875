"""Changes of weights as data, always in [out, in] orientation and in float32, and the modules that they change.

``evaluation.edits.delta_stack`` puts them on a model. Routed changes (``evaluation.edits.routed_deltas``) leave every
weight as it is and change its module's output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.models.layout import linear_shape
from schemas.core.errors import UserError


@dataclass(frozen=True, eq=False)
class LowRankDelta:
    """The change ``left @ right.T`` of one weight.

    Attributes:
        weight: Name of the weight parameter.
        left: [out, r].
        right: [in, r]. Both float32.
    """

    weight: str
    left: Tensor
    right: Tensor

    def __post_init__(self) -> None:
        if self.left.ndim != 2 or self.right.ndim != 2 or self.left.shape[1] != self.right.shape[1]:
            raise ValueError(f"left {tuple(self.left.shape)} and right {tuple(self.right.shape)} share no rank")

    @property
    def shape(self) -> tuple[int, int]:
        """(out, in)."""
        return self.left.shape[0], self.right.shape[0]

    def matrix(self) -> Tensor:
        """The change as [out, in]."""
        return self.left @ self.right.T

    def product(self, keys: Tensor) -> Tensor:
        """What the change adds to a linear module's output: [..., in] -> [..., out], float32."""
        return (keys.float() @ self.right) @ self.left.T

    def rows(self, ids: Tensor) -> Tensor:
        """What the change adds to an embedding's output: token ids [...] -> [..., width], float32."""
        return self.left[ids] @ self.right.T

    def norm(self) -> float:
        """Frobenius norm, from the two factors."""
        return float(self.squared_norm().sqrt())

    def squared_norm(self) -> Tensor:
        """Square of the norm where the factors lie: norms of many changes are fetched together."""
        return ((self.left.T @ self.left) * (self.right.T @ self.right)).sum().clamp(min=0)


@dataclass(frozen=True, eq=False)
class DenseDelta:
    """A change of every entry of one weight.

    Attributes:
        weight: Name of the weight parameter.
        value: [out, in], float32.
    """

    weight: str
    value: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """(out, in)."""
        return self.value.shape[0], self.value.shape[1]

    def matrix(self) -> Tensor:
        """The change as [out, in]."""
        return self.value

    def product(self, keys: Tensor) -> Tensor:
        """What the change adds to a linear module's output: [..., in] -> [..., out], float32."""
        return keys.float() @ self.value.T

    def rows(self, ids: Tensor) -> Tensor:
        """What the change adds to an embedding's output: token ids [...] -> [..., width], float32."""
        return self.value[ids]

    def norm(self) -> float:
        """Frobenius norm."""
        return float(self.value.norm())

    def squared_norm(self) -> Tensor:
        """Square of the norm where the change lies."""
        return self.value.square().sum()


WeightDelta = LowRankDelta | DenseDelta
"""A change of a weight itself."""

Delta = WeightDelta | RoutedDelta


def is_narrow(module: nn.Module) -> bool:
    """Whether a change of the weight would be rounded away in it."""
    return module.weight.dtype not in (torch.float32, torch.float64)


def joint(one: WeightDelta, other: WeightDelta) -> WeightDelta:
    """Two changes of one weight as one, of the form that takes less memory."""
    if isinstance(one, LowRankDelta) and isinstance(other, LowRankDelta):
        rank = one.left.shape[1] + other.left.shape[1]
        if rank * sum(one.shape) < one.shape[0] * one.shape[1]:
            left, right = torch.cat([one.left, other.left], 1), torch.cat([one.right, other.right], 1)
            return LowRankDelta(one.weight, left, right)
    return DenseDelta(one.weight, one.matrix() + other.matrix())


def restore(saved: dict[nn.Module, Tensor]) -> None:
    """Restore weights from their copies."""
    put_back([(module.weight, copy) for module, copy in saved.items()])  # type: ignore[misc]


def put_back(pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
    """Copy the second tensor of every pair into the first; an interrupt in between is raised when all are copied."""
    waiting, interrupt = list(pairs), None
    while waiting:
        try:
            with torch.no_grad():
                while waiting:
                    weight, copy = waiting[-1]
                    weight.copy_(copy)
                    waiting.pop()  # only now: a copy that was cut short is made again
        except (KeyboardInterrupt, SystemExit) as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


def adder(delta: WeightDelta, module: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    """The change of a module's output that stands for a delta of its weight."""
    product, scale = (delta.rows if isinstance(module, nn.Embedding) else delta.product), embedding_scale(module)

    def change(inputs: Tensor, out: Tensor) -> Tensor:
        return (out.float() + scale * product(inputs)).to(out.dtype)

    return change


_D = TypeVar("_D", bound=Delta)


def on(delta: _D, device: torch.device) -> _D:
    """The delta with its tensors on a device."""
    moved: Delta
    if isinstance(delta, RoutedDelta):
        moved = delta.on(device)
    elif isinstance(delta, LowRankDelta):
        moved = LowRankDelta(delta.weight, delta.left.to(device), delta.right.to(device))
    else:
        moved = DenseDelta(delta.weight, delta.value.to(device))
    return moved  # type: ignore[return-value]


def owners(model: nn.Module, delta: Delta) -> list[nn.Module]:
    """The modules that use the weight a delta changes: one, or token embedding and head where they share it.

    Raises:
        UserError: there is none, its weight is of another shape, or a routed change names embedding or head.
    """
    module = owner_of(model, delta.weight)
    shape = weight_shape(module)
    if shape != delta.shape:
        raise UserError(f"the change is {delta.shape}, the weight {shape}", where=delta.weight)
    modules = [module, *(m for m in model.modules() if m is not module and getattr(m, "weight", None) is module.weight)]
    if isinstance(delta, RoutedDelta) and not {id(m) for m in modules}.isdisjoint(map(id, _ends(model))):
        raise UserError(
            "a routed change of the token embedding or the head is not supported",
            where=delta.weight,
            fix="change a linear module inside a block",
        )
    return modules


def owner_of(model: nn.Module, weight: str) -> nn.Module:
    """The linear module or the token embedding that has this weight.

    Raises:
        UserError: there is none.
    """
    name, _, last = weight.rpartition(".")
    try:
        module = model.get_submodule(name)
    except AttributeError:
        raise UserError(f"the model has no weight '{weight}'") from None
    other_embedding = isinstance(module, nn.Embedding) and module not in _ends(model)
    if last != "weight" or weight_shape(module) is None or other_embedding:
        allowed = "the weight of a linear module or of the token embedding"
        raise UserError(f"'{weight}' cannot be changed by an edit", allowed=allowed)
    return module


def weight_shape(module: nn.Module) -> tuple[int, int] | None:
    """(out, in) of a linear module's weight; (vocabulary, width) of an embedding's; None for any other module."""
    return (module.num_embeddings, module.embedding_dim) if isinstance(module, nn.Embedding) else linear_shape(module)


def embedding_scale(module: nn.Module) -> float:
    """By what an embedding multiplies its rows (Gemma's, BART's); 1 for any other module."""
    return float(getattr(module, "embed_scale", 1.0)) if isinstance(module, nn.Embedding) else 1.0


def _ends(model: Any) -> list[nn.Module]:
    """Token embedding and head."""
    ends = [getattr(model, name, lambda: None)() for name in ("get_input_embeddings", "get_output_embeddings")]
    return [module for module in ends if module is not None]
