"""Log-probabilities of tokens after a few hidden states, for which a head's weight is read once, back and forth.

A training step of one short prompt waits for the head: a product reads its weight for the logits, another for their
slope. The slope of log Σ exp(w·x) with respect to x is the mean of the rows w by their probabilities, so one reading
gives both. The head's own product and PyTorch's log-softmax are the slow twin, which this equals but for rounding. It
needs numba (``pip install "scedit[cpu]"``); without it, and for more states, the products stay.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from evaluation.models.processor.compilation import compiled, has_compiler
from evaluation.models.processor.kernels.heads import sum_exponentials
from evaluation.models.processor.tiles import MapByTiles

FEW = 2
"""Most states for which one reading is faster than two products by tiles."""

THREADS = 4
"""Most threads that read at once: more wait for the same memory."""


def token_logprobs(head: Any, states: Tensor, at: Tensor, tokens: Tensor) -> Tensor:
    """Log-probabilities of tokens, float32 [tokens].

    Args:
        head: The module that turns states into logits.
        states: What it reads, [states, width].
        at: After which of the states each token is asked for, [tokens].
        tokens: Their ids, [tokens].
    """
    if not reads_once(head, states):
        logits: Tensor = head(states)
        return logits.to(at.device).float().log_softmax(-1)[at, tokens]
    weight: Tensor = head.weight.detach()
    total: Tensor = _LogSumExp.apply(states, weight)  # type: ignore[no-untyped-call]
    return (states[at] * weight[tokens]).sum(-1) - total[at]


def reads_once(head: Any, states: Tensor) -> bool:
    """Whether few enough states are read by a plain head of float32 weights on a CPU, and numba is there."""
    weight = head.weight if type(head) is nn.Linear and head.bias is None and len(states) <= FEW else None
    if weight is None or weight.requires_grad or head._forward_hooks or head._forward_pre_hooks:
        return False
    if "forward" in head.__dict__ and type(head.forward) is not MapByTiles:
        return False
    plain = all(one.dtype == torch.float32 and one.device.type == "cpu" for one in (states, weight))
    return plain and weight.is_contiguous() and has_compiler()


class _LogSumExp(torch.autograd.Function):
    """log Σ exp of the logits after each state, and its slope."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor) -> Tensor:
        total, mean = read_head(states.detach(), weight)
        ctx.save_for_backward(mean)
        return total

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        (mean,) = ctx.saved_tensors
        return slopes[0][:, None] * mean, None


def read_head(states: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Logarithm of Σ exp(w·x) over the rows w of a weight for each state x, [states], and its slope, [states, width].

    Args:
        states: float32 [states, width].
        weight: float32 [rows, width], contiguous.
    """
    kernel = compiled(sum_exponentials)
    assert kernel is not None
    count, width = states.shape
    given, rows = states.contiguous().numpy(), weight.numpy()
    threads = min(torch.get_num_threads(), THREADS, len(rows))
    largest, total = np.empty((threads, count), np.float32), np.empty((threads, count))
    mean = np.empty((threads, count, width))
    bounds = [len(rows) * n // threads for n in range(threads + 1)]

    def read(n: int) -> None:
        kernel(given, rows[bounds[n] : bounds[n + 1]], largest[n], total[n], mean[n])

    helpers = [threading.Thread(target=read, args=(n,)) for n in range(1, threads)]
    for helper in helpers:
        helper.start()
    read(0)
    for helper in helpers:
        helper.join()
    with np.errstate(invalid="ignore"):  # of states that are no numbers: nor is what they give
        top = largest.max(0)
        scale = np.exp(largest.astype(np.float64) - top)
        whole = (total * scale).sum(0)
        slope = (mean * scale[..., None]).sum(0) / whole[:, None]
        value = top + np.log(whole)
    return torch.from_numpy(value.astype(np.float32)), torch.from_numpy(slope.astype(np.float32))
