"""A gated product of many tokens by seven products of half the size in place of eight.

Gate and up are one product of states with two weights side by side. Cut into halves three ways (tokens, width, gate
from up) it is eight products of an eighth of the arithmetic each; Strassen makes it of seven, and of sums (Gaussian
elimination is not optimal, 1969). Those of the weights are kept, those of the states are made in one reading, and those
of the products where the gate reads them anyway. Sums bring a token's rounding errors to its partner in the other half,
so values differ from those of one product in their last digits, by about 1.6 times as much as that one's do from exact
ones; where an entry is no finite number, which a partner would get, too, there is one product. That is the slow twin.
"""

from __future__ import annotations

import torch
from torch import Tensor

from evaluation.models.processor.compiled_steps import gate_by_seven, operands_of_seven
from evaluation.models.processor.fused_steps import gated
from evaluation.models.processor.tiles import JointMap

ROWS = 256
"""Tokens from which on the seven products and their sums take less time than one product."""


def gated_product(joint: JointMap, states: Tensor) -> Tensor:
    """silu(a)·b, [..., inner], of what a gate's map and another give of states, [..., width]; no slope is kept."""
    out = _by_seven(joint, states.detach().reshape(-1, states.shape[-1]))
    return gated(joint.product(states)) if out is None else out.view(*states.shape[:-1], -1)


def _by_seven(joint: JointMap, states: Tensor) -> Tensor | None:
    """The same for [tokens, width]; None where one product is faster, or an entry is not finite."""
    if len(states) < ROWS or torch.get_num_threads() > 1 or not joint.has_seven:
        return None
    left = operands_of_seven(states)
    return None if left is None else gate_by_seven(joint.seven(left), len(states))
