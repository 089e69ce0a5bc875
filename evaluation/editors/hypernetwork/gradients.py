"""Gradients of single edits taken apart, and losses under a different low-rank change in every row.

Everything below the first edited layer is the same before and after an edit: rows are run up to it once, then every
pass starts there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.editors.hypernetwork.network import GradientPairs, WeightChange
from evaluation.inference.partial_forward import LayerInput, resume_at, run_until
from evaluation.inference.passes import logits_at
from evaluation.models.hooks import replace_output
from evaluation.models.language_model import LM
from evaluation.models.linear_maps import linear_shape


class GradientLine(NamedTuple):
    """A text as tokens; its target begins at ``first``."""

    ids: tuple[int, ...]
    first: int


class GradientBatch(NamedTuple):
    """Lines padded on the right, run up to the first edited layer.

    Attributes:
        ids: [rows, positions].
        mask: The same shape.
        rows: Row of each target token.
        places: Position before it.
        goals: The token itself.
    """

    ids: Tensor
    mask: Tensor
    rows: list[int]
    places: list[int]
    goals: Tensor
    layer_input: LayerInput

    def means(self, values: Tensor) -> Tensor:
        """Means over each row's target tokens: [target tokens] -> [rows]."""
        rows = torch.tensor(self.rows, device=values.device)
        sums = torch.zeros(len(self.ids), device=values.device, dtype=values.dtype).index_add(0, rows, values)
        return sums / torch.bincount(rows, minlength=len(self.ids))


def line(lm: LM, prompt: str, target: str, *, separator: str = " ") -> GradientLine | None:
    """A prompt with its target as tokens; None where the model cannot read it whole or nothing stands before it."""
    text = lm.encode(prompt, target, separator=separator)
    if text.first == 0 or (lm.limit and len(text.ids) > lm.limit):
        return None
    return GradientLine(text.ids, text.first)


class LowerLayerStates:
    """What the first edited layer reads of each line, computed once and kept on the CPU.

    Args:
        lm: The unedited model.
        layer: First edited layer.
        keep: Keep it; else every batch is run anew.
    """

    def __init__(self, lm: LM, layer: int, *, keep: bool = True) -> None:
        self._lm, self._layer, self._keep = lm, layer, keep
        self._known: dict[GradientLine, Tensor] = {}
        self._tuples = 0

    def layer_input(self, lines: Sequence[GradientLine], ids: Tensor, mask: Tensor) -> LayerInput:
        """The lines' hidden states, padded as ``ids`` and ``mask`` are."""
        if not self._keep:
            return run_until(self._lm, self._layer, ids, mask)
        if missing := [one for one in dict.fromkeys(lines) if one not in self._known]:
            read = run_until(self._lm, self._layer, *self._lm.pad([one.ids for one in missing]))
            self._tuples = read.tuples
            for one, state in zip(missing, read.hidden.cpu(), strict=True):
                self._known[one] = state[: len(one.ids)].clone()
        state = torch.nn.utils.rnn.pad_sequence([self._known[one] for one in lines], batch_first=True)
        return LayerInput(self._layer, state.to(self._lm.device), self._tuples)


def batch(lm: LM, below: LowerLayerStates, lines: Sequence[GradientLine]) -> GradientBatch:
    """Lines as a batch that starts at the first edited layer."""
    ids, mask = lm.pad([one.ids for one in lines])
    layer_input = below.layer_input(lines, ids, mask)
    rows = [r for r, one in enumerate(lines) for _ in range(one.first, len(one.ids))]
    places = [i - 1 for one in lines for i in range(one.first, len(one.ids))]
    goals = torch.tensor([t for one in lines for t in one.ids[one.first :]], device=lm.device)
    return GradientBatch(ids, mask, rows, places, goals, layer_input)


def logprobs(lm: LM, rows: GradientBatch) -> Tensor:
    """Log-probabilities at every target token, [target tokens, vocabulary]."""
    with resume_at(lm, rows.layer_input):
        return logits_at(lm, rows.ids, rows.mask, rows.rows, rows.places).log_softmax(-1)


def nll(log_probs: Tensor, rows: GradientBatch) -> Tensor:
    """Mean negative log-probability of each row's target, [rows]."""
    return rows.means(-log_probs.gather(1, rows.goals[:, None])[:, 0])


def gradients(
    lm: LM, maps: Sequence[str], lines: Sequence[GradientLine], below: LowerLayerStates
) -> dict[str, GradientPairs]:
    """Inputs and output gradients of linear maps, each row's loss being the mean NLL of its target.

    Args:
        lm: The unedited model.
        maps: Names of the maps' modules, none of them below the layer that ``below`` is for.
        lines: What the rows read.
        below: What the first edited layer reads.
    """
    rows = batch(lm, below, lines)
    sizes = map_shapes(lm, maps)
    added = {
        name: torch.zeros(*rows.ids.shape, outputs, device=lm.device, requires_grad=True)
        for name, (_, outputs) in zip(maps, sizes, strict=True)
    }
    keys: dict[str, Tensor] = {}
    with torch.enable_grad(), ExitStack() as hooks:
        for name in maps:

            def add(inside: Tensor, out: Tensor, name: str = name) -> Tensor:
                keys[name] = inside.detach().float()
                return (out.float() + added[name]).to(out.dtype)

            hooks.enter_context(replace_output(lm.module(name), add))
        loss = nll(logprobs(lm, rows), rows).sum()  # rows do not touch each other: each gets its own gradient
        slopes = torch.autograd.grad(loss, [added[name] for name in maps])
    return {
        name: GradientPairs(keys[name], d.float(), rows.mask.float() * (d.abs().sum(-1) > 0))
        for name, d in zip(maps, slopes, strict=True)
    }


def map_shapes(lm: LM, maps: Sequence[str]) -> list[tuple[int, int]]:
    """(inputs, outputs) of linear maps, by the names of their modules."""
    shapes = [linear_shape(lm.module(name)) for name in maps]
    return [(shape[1], shape[0]) for shape in shapes if shape is not None]


@contextmanager
def apply_changes(lm: LM, changes: Mapping[str, WeightChange], edit_of: Tensor) -> Iterator[None]:
    """Passes inside the block see in row i the change of edit ``edit_of[i]``; gradients flow into the changes.

    Args:
        lm: The unedited model.
        changes: By the names of the maps' modules, one a row of an edit.
        edit_of: The edit of each row of the passes.
    """
    with ExitStack() as hooks:
        for name, change in changes.items():
            left, right = change.left[edit_of], change.right[edit_of]

            def add(inside: Tensor, out: Tensor, left: Tensor = left, right: Tensor = right) -> Tensor:
                return (out.float() + (inside.float() @ right) @ left.transpose(1, 2)).to(out.dtype)

            hooks.enter_context(replace_output(lm.module(name), add))
        yield
