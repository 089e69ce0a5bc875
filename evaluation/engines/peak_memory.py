"""The most memory held at once while something ran: of the device on CUDA, of the process on a CPU."""

from __future__ import annotations

import contextlib
import resource
import sys
from pathlib import Path

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


class PeakMemory:
    """Begins at its making; ``read`` gives the peak since then in bytes.

    The system keeps one peak, so a new count ends those before it.

    On CUDA it is what PyTorch allocated on the device, weights included; of several devices, the sum of their peaks.
    On Linux it is the resident set of the whole process, program and weights included. Elsewhere it is the one peak
    that the kernel keeps since the process began.

    Example:
        >>> PeakMemory("cpu").read() > 1_000_000
        True
    """

    def __init__(self, *devices: str) -> None:
        self._cards = [device for device in devices if device.startswith("cuda")]
        if self._cards:
            import torch

            for card in self._cards:
                torch.cuda.reset_peak_memory_stats(card)
            return
        with contextlib.suppress(OSError):
            _CLEAR.write_text("5")  # proc(5): sets the peak resident set to the present one

    def read(self) -> int:
        """Peak in bytes."""
        if self._cards:
            import torch

            for card in self._cards:
                torch.cuda.synchronize(card)
            return sum(int(torch.cuda.max_memory_allocated(card)) for card in self._cards)
        with contextlib.suppress(OSError):
            for line in _STATUS.read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
