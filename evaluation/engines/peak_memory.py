"""The most memory held at once while something ran: of the device on CUDA, of the process on a CPU."""

from __future__ import annotations

import contextlib
import resource
import sys
import weakref
from pathlib import Path

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")

_COUNTING: weakref.WeakSet[PeakMemory] = weakref.WeakSet()


class PeakMemory:
    """Begins at its making; ``read`` gives the peak since then in bytes.

    Counts may be nested or overlap: the system keeps one peak, so each new count first hands the peak so far to those
    that are running.

    On CUDA it is what PyTorch allocated on the device, weights included; of several devices, the sum of their peaks.
    On Linux it is the resident set of the whole process, program and weights included. Elsewhere it is the one peak
    that the kernel keeps since the process began.

    Example:
        >>> PeakMemory("cpu").read() > 1_000_000
        True
    """

    def __init__(self, *devices: str) -> None:
        self._cards, self._before = [d for d in devices if d.startswith("cuda")], 0
        for running in list(_COUNTING):
            running._before = running.read()
        _COUNTING.add(self)
        if self._cards:
            import torch

            for card in self._cards:
                torch.cuda.reset_peak_memory_stats(card)
            return
        with contextlib.suppress(OSError):
            _CLEAR.write_text("5")  # proc(5): sets the peak resident set to the present one

    def read(self) -> int:
        """Peak in bytes."""
        return max(self._before, self._since_reset())

    def _since_reset(self) -> int:
        """What the system says: the peak since any count began last."""
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
