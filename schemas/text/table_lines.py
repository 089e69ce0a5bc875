"""A table as lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """Rows of cells as lines, at least two spaces between columns.

    Args:
        rows: Of one length.
        left: Columns that are aligned to the left; the others are to the right.

    Example:
        >>> aligned([["method", "mean"], ["rome", "0.5"]])
        ['method  mean', 'rome     0.5']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for cells in rows:
        padded = [c.ljust(w) if n < left else c.rjust(w) for n, (c, w) in enumerate(zip(cells, widths, strict=True))]
        lines.append("  ".join(padded).rstrip())
    return lines
