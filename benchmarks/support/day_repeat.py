"""Whether the same edits answer the same to the bit when made again: as it is, and with a fixed order of sums."""

from __future__ import annotations

import hashlib
import os
import struct
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar

from benchmarks.support.workload import timed
from evaluation.models.loading import WORKSPACE, fixed_order

E = TypeVar("E")
MODES = {"as_it_is": False, "fixed_order": True}


def repeated(
    methods: Sequence[str], make: Callable[[str], E], answers: Callable[[E], list[float] | str]
) -> dict[str, Any]:
    """Every method's answers of two editors made alike, in both modes.

    ``seconds`` are those of the second editor, when kernels are warm. Equal digests mean equal answers, of two
    processes as well.

    Args:
        methods: Their names.
        make: An editor that is ready.
        answers: Log-probabilities after its edits, or its error.
    """
    out: dict[str, Any] = {"cublas_variable_at_start": WORKSPACE in os.environ, **{mode: {} for mode in MODES}}
    unordered: set[str] = set()
    for name in methods:
        editors = make(name), make(name)
        for mode, wanted in MODES.items():
            with fixed_order() if wanted else nullcontext(), warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                first, (seconds, again) = answers(editors[0]), timed(lambda: answers(editors[1]))  # noqa: B023
            unordered |= {told_of for one in told if wanted and (told_of := _unordered(str(one.message)))}
            if isinstance(first, str) or isinstance(again, str):
                out["error"] = f"{name}: {first if isinstance(first, str) else again}"
            else:
                out[mode][name] = {**compared(first, again), "seconds": round(seconds, 3)}
    return {**out, "without_a_fixed_order": sorted(unordered)}


def compared(first: Sequence[float], again: Sequence[float]) -> dict[str, Any]:
    """Two lists of log-probabilities.

    Example:
        >>> compared([-1.0, -2.0], [-1.0, -2.5])["largest_gap_nats"], compared([-1.0], [-1.0])["equal"]
        (0.5, True)
    """
    pairs = list(zip(first, again, strict=True))
    differing = sum(struct.pack("<d", a) != struct.pack("<d", b) for a, b in pairs)
    gap = max(abs(a - b) if differing else 0.0 for a, b in pairs)
    rest = {"of": len(pairs), "largest_gap_nats": gap, "digest": _digest(first)}
    return {"equal": not differing, "differing": differing, **rest}


def _digest(numbers: Sequence[float]) -> str:
    return hashlib.sha256(struct.pack(f"<{len(numbers)}d", *numbers)).hexdigest()[:12]


def _unordered(warning: str) -> str | None:
    """What PyTorch says it cannot add in a fixed order: an operation's name; None: another warning."""
    if "deterministic" not in warning:
        return None
    return warning.partition(" does not have")[0] if " does not have" in warning else warning[:120]
