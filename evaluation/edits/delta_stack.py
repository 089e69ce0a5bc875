"""Changes of weights applied one after the other, until all are undone bit for bit, whatever happens inside.

Float32 weights are changed in place and copied back. Weights of a narrower type stay untouched: the product with the
delta is added in float32 to the module's output, so that changes smaller than the type's rounding do not vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from evaluation.edits.routed_deltas import RoutedDelta, apply_routed
from evaluation.edits.weight_deltas import (
    Delta,
    WeightDelta,
    adder,
    is_narrow,
    joint,
    on,
    owner_of,
    owners,
    restore,
)
from evaluation.models.hooks import home_of, replace_output
from evaluation.models.layout import is_transposed
from schemas.core.errors import UserError


class StackState(NamedTuple):
    """What a ``DeltaStack`` applied to a model, by name of the weight.

    Attributes:
        weights: Weights as they stand, in the module's own orientation.
        beside: Changes that stand beside narrow weights.
        routed: Routed changes.
    """

    weights: Mapping[str, Tensor]
    beside: Mapping[str, WeightDelta]
    routed: Mapping[str, RoutedDelta]


class ChangeNorm(NamedTuple):
    """How far a weight is from what it was.

    Attributes:
        weight: Name of the weight parameter.
        norm: Frobenius norm of the change; of a routed change, of all its numbers.
        ratio: The same over the weight's own norm before.
        routed: Whether the weight stays and a gate switches the change on.
    """

    weight: str
    norm: float
    ratio: float
    routed: bool


class DeltaStack:
    """Deltas that come into force one after the other and stay, all undone at the block's end.

    Every changed weight is copied once, however many deltas it gets. Beside a narrow weight, which is not changed, its
    deltas are kept as one: factors side by side while these are smaller than the weight, else their sum. Of routed
    changes of one module the newest holds.

    Example:
        >>> from evaluation.edits.weight_deltas import DenseDelta
        >>> model = nn.Sequential(nn.Linear(2, 2, bias=False))
        >>> before = model[0].weight.clone()
        >>> with DeltaStack(model) as weights:
        ...     weights.add([DenseDelta("0.weight", torch.ones(2, 2))])
        ...     weights.add([DenseDelta("0.weight", torch.ones(2, 2))])
        ...     bool(torch.allclose(model[0].weight, before + 2))
        True
        >>> torch.equal(model[0].weight, before)
        True
    """

    def __init__(self, model: nn.Module) -> None:
        self._model, self._hooks = model, ExitStack()
        self._names: dict[nn.Module, str] = {}
        self._saved: dict[nn.Module, Tensor] = {}
        self._beside: dict[nn.Module, WeightDelta] = {}
        self._routed: dict[nn.Module, list[RoutedDelta]] = {}

    def __enter__(self) -> DeltaStack:
        return self

    def add(self, deltas: Sequence[Delta]) -> None:
        """Put further deltas on the model.

        Raises:
            UserError: a delta names no weight that can be changed, or is of another shape; then none is added.
        """
        for delta, modules in [(delta, owners(self._model, delta)) for delta in deltas]:
            module = modules[0]
            self._names[module] = delta.weight
            if isinstance(delta, RoutedDelta):
                self._route(delta, module)
            elif not is_narrow(module):
                self._change(delta, module)
            elif module in self._beside:
                self._beside[module] = joint(self._beside[module], on(delta, home_of(module)))
            else:
                self._put_beside(delta, modules)

    def state(self) -> StackState:
        """What stands in the model now, for ``load`` of another stack; tensors are those of the model, not copies."""
        return StackState(
            {self._names[module]: module.weight.detach() for module in self._saved},  # type: ignore[operator]
            {self._names[module]: delta for module, delta in self._beside.items()},
            {self._names[module]: deltas[0] for module, deltas in self._routed.items()},
        )

    def load(self, state: StackState) -> None:
        """Apply to an unedited model what ``state`` said of another stack's, bit for bit.

        Raises:
            UserError: a weight is not there, or of another shape; then nothing is applied.
        """
        named = {name: owner_of(self._model, name) for name in (*state.weights, *state.beside, *state.routed)}
        for name, weight in state.weights.items():
            if named[name].weight.shape != weight.shape:
                raise UserError(f"the stored weight is {tuple(weight.shape)}", where=name)
        self._names |= {module: name for name, module in named.items()}
        for name, weight in state.weights.items():
            module, own = named[name], named[name].weight
            assert isinstance(own, Tensor)
            self._saved[module] = own.detach().clone()
            with torch.no_grad():
                own.copy_(weight)
        for beside in state.beside.values():
            self._put_beside(beside, owners(self._model, beside))
        for name, routed in state.routed.items():
            self._route(routed, named[name])

    def norms(self) -> list[ChangeNorm]:
        """How far every changed weight is from what it was, in the order in which they were changed first."""
        out = []
        for module, name in self._names.items():
            size = float(module.weight.detach().float().norm())  # type: ignore[operator]
            if module in self._saved:
                before = self._saved[module].float()
                size = float(before.norm())
                change = float((module.weight.detach().float() - before).norm())  # type: ignore[operator]
            else:
                change = self._routed[module][0].norm() if module in self._routed else self._beside[module].norm()
            out.append(ChangeNorm(name, change, change / size if size else 0.0, module in self._routed))
        return out

    def _change(self, delta: WeightDelta, module: nn.Module) -> None:
        """Change a weight in place, after saving a copy."""
        weight = module.weight
        assert isinstance(weight, Tensor)
        if module not in self._saved:
            self._saved[module] = weight.detach().clone()
        change = delta.matrix().to(device=weight.device, dtype=weight.dtype)
        with torch.no_grad():
            weight.add_(change.T if is_transposed(module) else change)

    def _put_beside(self, delta: WeightDelta, modules: Sequence[nn.Module]) -> None:
        """Add the first change of a narrow weight to the outputs of the modules that use it."""
        self._beside[modules[0]] = on(delta, home_of(modules[0]))
        for module in modules:
            self._hooks.enter_context(replace_output(module, self._adding(modules[0], module)))

    def _route(self, delta: RoutedDelta, module: nn.Module) -> None:
        """Put a routed change in the place of the module's earlier one."""
        if module in self._routed:
            self._routed[module][0] = on(delta, home_of(module))
        else:
            self._routed[module] = [on(delta, home_of(module))]
            self._hooks.enter_context(apply_routed(self._model, module, self._routed[module]))

    def _adding(self, first: nn.Module, module: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
        return lambda inputs, out: adder(self._beside[first], module)(inputs, out)

    def __exit__(self, *error: object) -> None:
        try:
            self._hooks.close()
        finally:
            self._beside.clear()
            self._routed.clear()
            restore(self._saved)


@contextmanager
def applied(model: nn.Module, deltas: Sequence[Delta]) -> Iterator[None]:
    """Run the block with all deltas active; several of one weight add up.

    Raises:
        UserError: a delta names no weight that can be changed, or is of another shape.
    """
    with DeltaStack(model) as stack:
        stack.add(deltas)
        yield
