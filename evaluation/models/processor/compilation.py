"""Loops of our own as machine code, where numba is installed (``pip install "scedit[cpu]"``)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

EXACT_ENOUGH = {"reassoc", "contract", "arcp", "nsz"}
"""What the compiler may assume: sums in any order, as in every product; infinities and NaN stay what they are."""


@cache
def compiled(function: Callable[..., None]) -> Callable[..., None] | None:
    """The function as machine code, kept between processes where there is a place to write to; None without numba."""
    try:
        from numba import njit
    except ImportError:  # it is not installed, or not for this Python or NumPy
        return None
    options: dict[str, Any] = {"fastmath": EXACT_ENOUGH, "boundscheck": False, "error_model": "numpy", "nogil": True}
    made: Callable[..., None]
    try:
        made = njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no folder to keep it in
        made = njit(**options)(function)
    return made


def has_compiler() -> bool:
    """Whether numba is there."""
    return compiled(_nothing) is not None


def _nothing() -> None:
    """What is compiled to see whether anything can be; never called."""
