"""A different edit in every row of a batch: weights stay as they are, each row's change is added to module outputs.

All rows' low-rank changes of a linear module are one batched product; dense ones, and those of the token embedding, are
one product for each edit; routed ones come last, each row sent on by its own prompt. ``applied`` in
``evaluation.edits.delta_stack`` is the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from evaluation.edits.routed_deltas import RoutedDelta, prompts_of_pass, route_groups
from evaluation.edits.weight_deltas import Delta, LowRankDelta, WeightDelta, embedding_scale, on, owners
from evaluation.models.hooks import home_of, replace_output


class _LowRank(NamedTuple):
    """Factors of every edit, zero-padded to one rank: [edits, out, rank] and [edits, in, rank]."""

    left: Tensor
    right: Tensor


class PerRow:
    """Edits ready to be used in batches; stacking their factors is done once.

    Args:
        model: The model.
        edits: The deltas of every edit; an edit without any leaves its rows alone.

    Raises:
        UserError: a delta names a weight that cannot differ by row, or is of another shape.
    """

    def __init__(self, model: nn.Module, edits: Sequence[Sequence[Delta]]) -> None:
        self.model, self.count = model, len(edits)
        self._modules: dict[str, list[nn.Module]] = {}
        low: dict[str, dict[int, list[LowRankDelta]]] = {}
        self._single: dict[str, dict[int, list[WeightDelta]]] = {}
        self._routed: dict[str, dict[int, RoutedDelta]] = {}
        for n, deltas in enumerate(edits):
            for delta in deltas:
                name = delta.weight
                self._modules[name] = owners(model, delta)
                embedded = any(isinstance(module, nn.Embedding) for module in self._modules[name])
                if isinstance(delta, RoutedDelta):  # of several the newest holds
                    self._routed.setdefault(name, {})[n] = delta.on(self._device(name))
                elif isinstance(delta, LowRankDelta) and not embedded:
                    low.setdefault(name, {}).setdefault(n, []).append(delta)
                else:
                    self._single.setdefault(name, {}).setdefault(n, []).append(on(delta, self._device(name)))
        self._low = {name: self._stack(name, by_edit) for name, by_edit in low.items()}

    def _device(self, name: str) -> torch.device:
        return home_of(self._modules[name][0])

    def _stack(self, name: str, deltas: dict[int, list[LowRankDelta]]) -> _LowRank:
        rank = max(sum(d.left.shape[1] for d in deltas_of_edit) for deltas_of_edit in deltas.values())
        out, inner = next(iter(deltas.values()))[0].shape
        left = torch.zeros(self.count, out, rank, device=self._device(name))
        right = torch.zeros(self.count, inner, rank, device=self._device(name))
        for n, deltas_of_edit in deltas.items():
            width = sum(d.left.shape[1] for d in deltas_of_edit)
            left[n, :, :width] = torch.cat([d.left for d in deltas_of_edit], 1)
            right[n, :, :width] = torch.cat([d.right for d in deltas_of_edit], 1)
        return _LowRank(left, right)

    @contextmanager
    def on(self, rows: Sequence[int], *, only: nn.Module | None = None) -> Iterator[None]:
        """Passes inside the block have, in row i, the edit ``rows[i]`` active; none if that is negative.

        Args:
            rows: Number of the edit of every row.
            only: Change this module alone: the head, which runs on chosen states ([states, width], a row each) after
                the pass.
        """
        with ExitStack() as hooks:
            for name, modules in self._modules.items():
                for module in modules:
                    if only is None or module is only:
                        for change in self._changes(name, module, list(rows)):
                            hooks.enter_context(replace_output(module, change))
            yield

    @property
    def is_routed(self) -> bool:
        """Whether an edit routes: passes must then say where their prompts end (``tell_prompts``)."""
        return bool(self._routed)

    def _changes(self, name: str, module: nn.Module, rows: list[int]) -> Iterator[Callable[[Tensor, Tensor], Tensor]]:
        """What changes the output of a module that has the weight ``name``."""
        products: list[Callable[[Tensor], Tensor]] = []
        if name in self._low:
            index = torch.tensor(rows, dtype=torch.long, device=self._device(name))
            products.append(_low_rank(self._low[name], index))
        if name in self._single:
            products.append(_one_by_one(self._single[name], rows, embedding=isinstance(module, nn.Embedding)))
        if products:
            yield _adder(products, embedding_scale(module))
        if any(row in self._routed.get(name, ()) for row in rows):
            yield self._router(name, rows)

    def _router(self, name: str, rows: list[int]) -> Callable[[Tensor, Tensor], Tensor]:
        def change(keys: Tensor, out: Tensor) -> Tensor:
            prompts = prompts_of_pass(self.model, name)
            return out if prompts is None else route_groups(self._routed[name], rows, keys, out, prompts, (self, name))

        return change


def _adder(products: list[Callable[[Tensor], Tensor]], scale: float) -> Callable[[Tensor, Tensor], Tensor]:
    """Add products of what a module reads to its output, in float32; inputs may be one vector a row, [rows, in]."""

    def change(inputs: Tensor, out: Tensor) -> Tensor:
        rows = inputs[:, None] if inputs.is_floating_point() and inputs.ndim == 2 else inputs
        total = out.float()
        for product in products:
            total = total + scale * product(rows).reshape(out.shape)
        return total.to(out.dtype)

    return change


def _low_rank(stack: _LowRank, index: Tensor) -> Callable[[Tensor], Tensor]:
    """[rows, positions, in] -> [rows, positions, out]."""
    left, right = stack.left[index.clamp(min=0)], stack.right[index.clamp(min=0)]
    left[index < 0] = 0.0
    return lambda keys: torch.bmm(torch.bmm(keys.float(), right), left.transpose(1, 2))


def _one_by_one(
    deltas: dict[int, list[WeightDelta]], rows: list[int], *, embedding: bool
) -> Callable[[Tensor], Tensor]:
    """What each edit adds in its rows: [rows, positions, in], or token ids, to [rows, positions, out].

    Rows of one edit stand side by side, so that its matrix is read once and never copied for a row.
    """
    groups = {n: [r for r, edit in enumerate(rows) if edit == n] for n in dict.fromkeys(rows) if n in deltas}
    out_and_in = next(iter(deltas.values()))[0].shape

    def product(inputs: Tensor) -> Tensor:
        added = torch.zeros(*inputs.shape[:2], out_and_in[embedding], device=inputs.device)
        for n, places in groups.items():
            for delta in deltas[n]:
                added[places] += delta.rows(inputs[places]) if embedding else delta.product(inputs[places])
        return added

    return product
