"""Gradients of single edits taken apart, and losses under a different low-rank change in every row.

Everything below the first edited layer is the same before and after an edit: rows are run up to it once, then every
pass starts there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor

from evaluation.editors.hypernetwork.network import GradientPairs, WeightChange
from evaluation.editors.target_texts import TargetBatch, TargetText
from evaluation.inference.passes import LayerInput, run_until
from evaluation.models.hooks import replace_output
from evaluation.models.language_model import LM
from evaluation.models.layout import linear_shape

ALL = torch.zeros(1, dtype=torch.long)
"""``edit_of`` of passes whose rows all see the one change."""


class LowerLayerStates:
    """What the first edited layer reads of each text, computed once and kept on the CPU.

    Args:
        lm: The unedited model.
        layer: First edited layer.
    """

    def __init__(self, lm: LM, layer: int) -> None:
        self._lm, self._layer = lm, layer
        self._known: dict[TargetText, Tensor] = {}
        self._tuples = 0

    def batch(self, texts: Sequence[TargetText]) -> TargetBatch:
        """Texts as a batch that starts at the layer."""
        if missing := [text for text in dict.fromkeys(texts) if text not in self._known]:
            read = run_until(self._lm, self._layer, *self._lm.pad([text.ids for text in missing]))
            self._tuples = read.tuples
            for text, state in zip(missing, read.hidden.cpu(), strict=True):
                self._known[text] = state[: len(text.ids)].clone()
        hidden = torch.nn.utils.rnn.pad_sequence([self._known[text] for text in texts], batch_first=True)
        start = LayerInput(self._layer, hidden.to(self._lm.device), self._tuples)
        return TargetBatch(self._lm, texts, self._layer, start=start)


def gradients(maps: Sequence[str], rows: TargetBatch, *, answers: bool = False) -> dict[str, GradientPairs]:
    """Inputs and output gradients of linear maps, each text's loss being the mean NLL of its goals.

    Args:
        maps: Names of the maps' modules, none of them below the layer where the batch starts.
        rows: The texts, of the unedited model.
        answers: Only tokens after which a goal is predicted count.
    """
    lm, sizes = rows.lm, map_shapes(rows.lm, maps)
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
        loss = rows.nll().sum()  # rows do not touch each other: each gets its own gradient
        slopes = torch.autograd.grad(loss, [added[name] for name in maps])
    read = rows.mask.float()
    if answers:
        read = torch.zeros_like(read).index_put((rows.rows, rows.positions), torch.ones((), device=read.device))
    return {
        name: GradientPairs(keys[name], d.float(), read * (d.abs().sum(-1) > 0))
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
