"""Numbers from the host to a device without a wait: through memory that the device reads while the host goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def send(values: Sequence[Any] | Tensor, device: torch.device) -> Tensor:
    """Whole numbers as a tensor on a device; on CUDA the host does not wait for the copy or for what runs before it.

    ``torch.tensor(values, device="cuda")`` and indexing by a list wait until everything in the stream is done.

    Args:
        values: Nested lists of whole numbers, or a CPU tensor (of any type).
        device: Where they are to lie.

    Example:
        >>> send([[1, 2], [3, 4]], torch.device("cpu")).shape
        torch.Size([2, 2])
    """
    host = values if isinstance(values, Tensor) else torch.from_numpy(np.array(values, dtype=np.int64))
    if device.type != "cuda":
        return host.to(device)
    return host.pin_memory().to(device, non_blocking=True)
