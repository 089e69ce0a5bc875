"""Second moments and keys, drawn."""

from __future__ import annotations

import torch
from torch import Tensor

from evaluation.covariance.covariance import KeyCovariance

CPU = torch.device("cpu")

SIZE = 24


def moments(tokens: int = 500, *, seed: int = 0) -> KeyCovariance:
    generator = torch.Generator().manual_seed(seed)
    scales = torch.logspace(0, -3, SIZE)  # as real keys: some directions are common, most are rare
    keys = torch.randn(tokens, SIZE, generator=generator) * scales
    return KeyCovariance(keys.T @ keys / tokens, tokens)


def some_keys(edits: int, count: int) -> Tensor:
    return torch.randn(edits, count, SIZE, generator=torch.Generator().manual_seed(1))
