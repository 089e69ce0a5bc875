"""Loops of our own as machine code, where numba is installed (``pip install "scedit[cpu]"``)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

EXACT_ENOUGH = {"reassoc", "contract", "arcp", "nsz"}
"""What the compiler may assume: sums in any order, as in every product; infinities and NaN stay what they are."""


@cache
def compiled(function: Callable[..., None]) -> Callable[..., None] | None:
    """The function as machine code, kept between processes where there is a place to write to; None without numba.

    Functions of its own file that it calls are compiled with it: numba sees when the file has changed, and no other.
    """
    try:
        from numba import njit
        from numba.extending import register_jitable
    except ImportError:  # it is not installed, or not for this Python or NumPy
        return None
    options: dict[str, Any] = {"fastmath": EXACT_ENOUGH, "boundscheck": False, "error_model": "numpy", "nogil": True}
    made: Callable[..., None]
    for called in (function.__globals__.get(name) for name in function.__code__.co_names):
        if isinstance(called, FunctionType) and called.__module__ == function.__module__:
            register_jitable(fastmath=EXACT_ENOUGH, error_model="numpy")(called)
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
