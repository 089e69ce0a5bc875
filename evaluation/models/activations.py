"""Activations of several operations, run as one on a CUDA device.

The modules of GPT-2 and its kin write the tanh form of GELU (Hendrycks & Gimpel 2016, §4) as eight operations, each of
which reads and writes the widest tensor of a block, and another dozen on the way back. PyTorch has it as one. The
module's own forward is the slow twin, which this equals but for rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import gelu
from transformers.activations import FastGELUActivation, NewGELUActivation

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

TANH_FORMS = (NewGELUActivation, FastGELUActivation)


@contextmanager
def fused_activations(lm: LM) -> Iterator[None]:
    """Such activations are one operation in the block, in float32 on CUDA devices.

    Narrow types keep the modules' way: it rounds after each of its operations, which one operation does not.
    """
    wanted = lm.dtype == torch.float32 and any(device.type == "cuda" for device in lm.devices)
    placed = []
    try:
        for module in lm.model.modules() if wanted else ():
            if type(module) in TANH_FORMS and "forward" not in module.__dict__:  # what others put there stays
                module.forward = partial(gelu, approximate="tanh")
                placed.append(module)
        yield
    finally:
        for module in placed:
            module.__dict__.pop("forward", None)
