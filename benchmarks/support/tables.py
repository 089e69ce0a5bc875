"""Tables and shares for pages that benchmarks write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from curation.stats.intervals import wilson_interval


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def share(hits: int, n: int) -> str:
    """Hits, share and Wilson's interval in a cell."""
    if not n:
        return "not judged"
    interval, form = wilson_interval(hits, n), ".2f" if n < 1000 else ".3f"
    return f"{hits} of {n}: {interval.value:{form}} [{interval.low:{form}}, {interval.high:{form}}]"
