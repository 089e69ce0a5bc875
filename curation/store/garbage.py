"""Python's search for cycles of objects, held back while many records are made: they hold none."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

RARELY = 100_000
"""New objects after which Python searches; it does so after 700 (3.11) otherwise, a quarter of the time of a freeze."""


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Search for cycles more rarely within; the setting before comes back, whatever happens.

    Example:
        >>> before = gc.get_threshold()
        >>> with rare_collections():
        ...     inside = gc.get_threshold()
        >>> inside[0] >= RARELY, gc.get_threshold() == before
        (True, True)
    """
    first, *others = before = gc.get_threshold()
    if first:  # 0: somebody switched it off
        gc.set_threshold(max(first, RARELY), *others)
    try:
        yield
    finally:
        gc.set_threshold(*before)
