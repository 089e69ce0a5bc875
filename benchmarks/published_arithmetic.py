"""What printed figures can be, by arithmetic: the notes that ``evaluation/reproduction/published.csv`` has.

ScEdit's Table 2: ES asks one prompt a case, so its values are 0 or 1 and the interval follows from the mean and the
number of cases alone: 1.96·sqrt(p(1 - p)/(n - 1)). For any other metric with values between 0 and 1 the same expression
is the widest interval that a mean can have.

ELKEN: a share is a whole number of events, and an overall share is the mean of its parts by the shares of the data.

MULFE: a row gives EM by level and overall, each a count over a whole number of probes, and the overall count is the sum
of the three. So a row tells how many probes it is of: of the 40 rows of Tables 2, 3 and 7, 28 only fit the 2,300 probes
of the published data (436, 910 and 954 by level), and 12 only fit 2,301 (955 of level 3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Literal, NamedTuple

from curation.stats.intervals import Z95
from evaluation.reproduction.published import CASES, printed_figures, published_table

_ROUNDING = 0.11  # of a mean of two figures with one decimal, against a third one
UNKNOWN_SHARE = 0.367  # 797 of 2,171 questions in scope of ELKEN's released data
EVENTS: Mapping[str, tuple[int, ...]] = {
    "ev_fact_edit": (485,),
    "ev_choice_edit": (844,),
    "ev_open_edit": (843, 844),
    "ev_all_edit": (843, 844),
}
"""Events that a share of ELKEN's Table 2 can be of."""
LEVELS: Mapping[int, tuple[int, int, int]] = {2300: (436, 910, 954), 2301: (436, 910, 955)}
"""Probes by level: of the published data, and of an earlier version of them."""
PUBLISHED = 2300
_LAST_PLACE = 0.005 + 1e-9


class PrintedInterval(NamedTuple):
    """One printed entry; ``value`` and ``half`` (of the 95 % interval) in percent, with two decimals."""

    split: str
    metric: str
    model: str
    method: str
    value: float
    half: float


class RecomputedEntry(NamedTuple):
    """A printed entry beside what it can be.

    Attributes:
        printed: The entry.
        n: Cases of the split.
        hits: For ES, the whole number of cases whose share rounds to the printed value; None where there is none, and
            for other metrics.
        half: For ES, the half width that these hits give, in percent; None for other metrics.
        widest: The widest half width that any values between 0 and 1 with this mean can have, in percent.
        verdict: ``agrees`` (ES, to ±0.01), ``differs`` (ES, but possible), ``impossible`` (wider than ``widest``), or
            ``possible`` (other metrics).
    """

    printed: PrintedInterval
    n: int
    hits: int | None
    half: float | None
    widest: float
    verdict: Literal["agrees", "differs", "impossible", "possible"]


def table_2() -> tuple[PrintedInterval, ...]:
    """The entries of Table 2.

    Example:
        >>> len(table_2()), table_2()[0]
        (99, PrintedInterval(split='ScEdit-CF', metric='ES', model='GPT2-XL', method='base', value=20.55, half=1.85))
    """
    return tuple(
        PrintedInterval(figure.split, figure.metric, figure.model, figure.method, figure.value, figure.half)
        for figure in printed_figures(published_table("scedit-table2"))
        if figure.half is not None
    )


def half_width(share: float, n: int) -> float:
    """1.96·sqrt(p(1 - p)/(n - 1)), in percent: the half width for n values of 0 or 1 with mean ``share``.

    Example:
        >>> round(half_width(0.9863, 1830), 2)
        0.53
    """
    return 100 * Z95 * math.sqrt(share * (1 - share) / (n - 1))


def recompute(entry: PrintedInterval, *, tolerance: float = 0.01) -> RecomputedEntry:
    """What the interval of a printed entry can be, from its mean and the number of cases.

    Example:
        >>> wrong = PrintedInterval("ScEdit-CF", "ES", "Llama-3", "MEMIT", 98.63, 1.19)
        >>> found = recompute(wrong)
        >>> found.hits, round(found.half, 2), found.verdict
        (1805, 0.53, 'impossible')
    """
    n = CASES[entry.split]
    value = entry.value / 100
    # the unrounded mean lies within half a unit of the last printed place: take the one nearest to one half
    nearest = min(max(0.5, value - 0.00005), value + 0.00005)
    widest = half_width(min(max(nearest, 0.0), 1.0), n) + 0.005
    if entry.metric != "ES":
        return RecomputedEntry(entry, n, None, None, widest, "impossible" if entry.half > widest else "possible")
    hits = round(value * n)
    whole = hits if abs(100 * hits / n - entry.value) <= 0.005 + 1e-9 else None
    half = half_width(hits / n if whole is not None else value, n)
    if abs(half - entry.half) <= tolerance:
        return RecomputedEntry(entry, n, whole, half, widest, "agrees")
    return RecomputedEntry(entry, n, whole, half, widest, "impossible" if entry.half > widest else "differs")


def recompute_table_2() -> tuple[RecomputedEntry, ...]:
    """All entries of Table 2, checked."""
    return tuple(recompute(entry) for entry in table_2())


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


def share_notes(row: Mapping[str, float], *, overall: bool) -> dict[str, str]:
    """What the arithmetic says against ELKEN's row, by metric: shares that no whole number of events gives.

    Args:
        row: Shares in percent by metric.
        overall: Of Table 3, where ``ev_fact`` is the mean of unknown and known facts.
    """
    notes = {}
    for metric, value in row.items():
        if overall and metric == "ev_fact":
            mean = UNKNOWN_SHARE * row["ev_unknown"] + (1 - UNKNOWN_SHARE) * row["ev_known"]
            if abs(mean - value) > _ROUNDING:
                notes[metric] = f"{mean:.1f} by the shares of the released data"
        elif not overall and (numbers := EVENTS.get(metric)) and not any(_is_share_of(value, n) for n in numbers):
            notes[metric] = f"no whole number of {' or '.join(map(str, numbers))} events"
    return notes


def _is_share_of(percent: float, number: int) -> bool:
    """Whether a count out of ``number`` is this percentage, printed with one decimal."""
    return abs(100 * round(percent * number / 100) / number - percent) <= 0.05 + 1e-9
