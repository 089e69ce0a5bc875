"""A model with an edit in its weights, made without anything of ours: what other ways of editing must equal."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from evaluation.edits.weight_deltas import Delta, LowRankDelta
from evaluation.models.language_model import LM


@torch.no_grad()
def add_to_weights(model: nn.Module, deltas: Sequence[Delta]) -> None:
    """Add every change to its weight; GPT-2's Conv1D holds weights the other way round."""
    for delta in deltas:
        change = torch.einsum("or,ir->oi", delta.left, delta.right) if isinstance(delta, LowRankDelta) else delta.value
        module: Any = model.get_submodule(delta.weight.rpartition(".")[0])
        module.weight.copy_(module.weight + (change.T if isinstance(module, Conv1D) else change))


def edited_copy(lm: LM, deltas: Sequence[Delta]) -> Any:
    """A copy of the model with the changes in its weights, in float32: small changes do not round away."""
    model = copy.deepcopy(lm.model).float()
    add_to_weights(model, deltas)
    return model
