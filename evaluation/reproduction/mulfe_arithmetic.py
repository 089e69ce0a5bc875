"""MULFE's exact-match figures as whole numbers of probes.

A printed row gives EM by level and overall, each a count over a whole number of probes, and the overall count is the
sum of the three. So a row tells how many probes it is of: of the 40 rows of Tables 2, 3 and 7, 28 only fit the 2,300
probes of the published data (436, 910 and 954 by level), and 12 only fit 2,301 (955 of level 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

LEVELS: Mapping[int, tuple[int, int, int]] = {2300: (436, 910, 954), 2301: (436, 910, 955)}
"""Probes by level: of the published data, and of an earlier version of them."""
PUBLISHED = 2300
_LAST_PLACE = 0.005 + 1e-9


def counts(percent: float, number: int) -> tuple[int, ...]:
    """Whole numbers out of ``number`` that are this percentage, printed with two decimals.

    Example:
        >>> counts(6.49, 954), counts(6.49, 955)
        ((), (62,))
    """
    near = round(percent * number / 100)
    return tuple(n for n in (near - 1, near, near + 1) if abs(100 * n / number - percent) <= _LAST_PLACE)


def numbers_of_probes(levels: Sequence[float], overall: float) -> tuple[int, ...]:
    """Numbers of probes that a printed row can be of.

    Args:
        levels: EM of levels 1, 2 and 3 in percent.
        overall: EM of all probes.

    Example:
        >>> numbers_of_probes((8.49, 7.25, 6.49), 7.17), numbers_of_probes((76.15, 52.75, 39.0), 45.11)
        ((2301,), ())
    """
    fitting = []
    for total, probes in LEVELS.items():
        parts = [counts(percent, number) for percent, number in zip(levels, probes, strict=True)]
        if any(abs(100 * sum(part) / total - overall) <= _LAST_PLACE for part in product(*parts)):
            fitting.append(total)
    return tuple(fitting)


def probes_note(row: Mapping[str, float]) -> str:
    """What the arithmetic says against a printed row, by metric; empty where it is of the published probes."""
    fitting = numbers_of_probes([row[f"em_{level}"] for level in (1, 2, 3)], row["em"])
    if PUBLISHED in fitting:
        return ""
    return f"of {fitting[0]:,} probes, not {PUBLISHED:,}" if fitting else "no whole number of probes"
