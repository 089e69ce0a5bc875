"""A different edit in every row of a batch: weights stay as they are, each row's change is added to module outputs.

All rows' low-rank changes of a module are one batched product; dense ones are one batched product over rows grouped by
their edit; routed ones come last, each row sent on by its own prompt. ``applied`` in
``evaluation.edits.weight_deltas`` is the slow twin that this equals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from evaluation.edits.routed_deltas import RoutedDelta, prompts_of_pass, route_groups
from evaluation.edits.weight_deltas import Delta, DenseDelta, LowRankDelta, owner
from evaluation.models.hooks import home_of, replace_output

Change = Callable[[Tensor], Tensor]


class _LowRank(NamedTuple):
    """Factors of every edit, zero-padded to one rank: [edits, out, rank] and [edits, in, rank]."""

    left: Tensor
    right: Tensor


class PerRow:
    """Edits ready to be put on batches; stacking their factors is done once.

    Args:
        model: The model.
        edits: The deltas of every edit; an edit without any leaves its rows alone.

    Raises:
        UserError: a delta names no linear module's weight, or is of another shape.
    """

    def __init__(self, model: nn.Module, edits: Sequence[Sequence[Delta]]) -> None:
        self.model, self.count = model, len(edits)
        self._modules: dict[str, nn.Module] = {}
        low: dict[str, dict[int, list[LowRankDelta]]] = {}
        dense: dict[str, dict[int, list[DenseDelta]]] = {}
        self._routed: dict[str, dict[int, RoutedDelta]] = {}
        for n, deltas in enumerate(edits):
            for delta in deltas:
                self._modules[delta.weight] = owner(model, delta)
                if isinstance(delta, RoutedDelta):  # of several the newest holds
                    self._routed.setdefault(delta.weight, {})[n] = delta.on(self._device(delta.weight))
                elif isinstance(delta, LowRankDelta):
                    low.setdefault(delta.weight, {}).setdefault(n, []).append(delta)
                else:
                    dense.setdefault(delta.weight, {}).setdefault(n, []).append(delta)
        self._low = {name: self._stack(name, by_edit) for name, by_edit in low.items()}
        self._dense = {
            name: {n: _sum(deltas_of_edit).to(self._device(name)) for n, deltas_of_edit in by_edit.items()}
            for name, by_edit in dense.items()
        }

    def _device(self, name: str) -> torch.device:
        return home_of(self._modules[name])

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
    def on(self, rows: Sequence[int], *, without: str | None = None) -> Iterator[None]:
        """Passes inside the block have, in row i, the edit ``rows[i]`` in force; none where that is negative.

        What is ``without``, a weight by name, stays as it is.
        """
        with ExitStack() as hooks:
            for name, module in self._modules.items():
                if name == without:
                    continue
                if changes := self._changes(name, rows):
                    hooks.enter_context(replace_output(module, _adder(changes)))
                if any(row in self._routed.get(name, ()) for row in rows):
                    hooks.enter_context(replace_output(module, self._router(name, list(rows))))
            yield

    def change_output(self, name: str, rows: Sequence[int], keys: Tensor, out: Tensor) -> Tensor:
        """An output of weight ``name``, or what holds it as a sum, under the edits of the rows; none may be routed.

        Args:
            name: The weight.
            rows: Number of the edit of every row.
            keys: What its module reads, [rows, positions, in].
            out: [rows, positions, out].
        """
        return _adder(self._changes(name, rows))(keys, out)

    def _changes(self, name: str, rows: Sequence[int]) -> list[Change]:
        changes: list[Change] = []
        if name in self._low:
            index = torch.tensor(list(rows), dtype=torch.long, device=self._device(name))
            changes.append(_low_rank(self._low[name], index))
        if name in self._dense:
            changes.append(_dense(self._dense[name], list(rows)))
        return changes

    @property
    def is_routed(self) -> bool:
        """Whether an edit routes: passes must then say where their prompts end (``tell_prompts``)."""
        return bool(self._routed)

    def _router(self, name: str, rows: list[int]) -> Callable[[Tensor, Tensor], Tensor]:
        def change(keys: Tensor, out: Tensor) -> Tensor:
            prompts = prompts_of_pass(self.model, name)
            return out if prompts is None else route_groups(self._routed[name], rows, keys, out, prompts, (self, name))

        return change


def _sum(deltas: list[DenseDelta]) -> Tensor:
    return deltas[0].value if len(deltas) == 1 else torch.stack([d.value for d in deltas]).sum(0)


def _adder(changes: list[Change]) -> Callable[[Tensor, Tensor], Tensor]:
    def change(keys: Tensor, out: Tensor) -> Tensor:
        total = out.float()
        for one in changes:
            total = total + one(keys.float())
        return total.to(out.dtype)

    return change


def _low_rank(stack: _LowRank, index: Tensor) -> Change:
    """[rows, positions, in] -> [rows, positions, out]."""
    none = index < 0
    left, right = stack.left[index.clamp(min=0)], stack.right[index.clamp(min=0)]
    left[none] = 0.0

    def product(keys: Tensor) -> Tensor:
        return torch.bmm(torch.bmm(keys, right), left.transpose(1, 2))

    return product


def _dense(values: dict[int, Tensor], rows: list[int]) -> Change:
    """Rows of one edit side by side, so that its matrix is read once and never copied for a row."""
    groups = {n: [r for r, edit_rows in enumerate(rows) if edit_rows == n] for n in dict.fromkeys(rows) if n in values}

    def product(keys: Tensor) -> Tensor:
        out = keys.new_zeros(*keys.shape[:2], next(iter(values.values())).shape[0])
        for n, edit_rows in groups.items():
            out[edit_rows] = keys[edit_rows] @ values[n].T
        return out

    return product
