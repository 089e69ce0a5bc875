"""The token-level results that ScEdit printed (Table 2), and a check of what their intervals can be.

ES asks one prompt a case, so its values are 0 or 1 and the interval follows from the mean and the number of cases
alone: 1.96·sqrt(p(1 - p)/(n - 1)). For any other metric with values between 0 and 1 the same expression is the widest
interval that a mean can have. The figures are cited as data; the check is ours.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from curation.stats.intervals import Z95

SOURCE = "ScEdit: Script-based Assessment of Knowledge Editing, ACL 2025 Findings, arXiv 2505.23291, Tables 1 and 2"
CASES = {"ScEdit-CF": 1830, "ScEdit-T": 1762}
_COLUMNS = (
    ("ScEdit-CF", "ES"),
    ("ScEdit-CF", "S-ES"),
    ("ScEdit-CF", "S-NS"),
    ("ScEdit-T", "ES"),
    ("ScEdit-T", "S-ES"),
    ("ScEdit-T", "S-BO"),
)
# model, method, then value and half width for each column, in percent; ScEdit-T was not run on Llama-3
_PRINTED = """
GPT2-XL base   20.55 1.85  21.18 1.51  81.52 1.20  44.27 2.32  41.72 2.03  0.00 0.00
GPT2-XL FT     100.00 0.00 71.27 1.66  65.08 1.51  87.17 1.56  52.80 2.03  1.15 0.14
GPT2-XL FT+L   99.13 0.42  40.39 1.84  78.50 1.26  70.60 2.13  44.39 2.03  0.39 0.08
GPT2-XL MEND   92.84 1.18  32.89 1.71  74.33 1.34  98.64 0.54  74.24 1.77  0.47 0.12
GPT2-XL ROME   99.95 0.11  74.76 1.56  80.24 1.24  99.15 0.43  68.00 1.86  0.13 0.06
GPT2-XL MEMIT  93.72 1.11  58.11 1.86  81.16 1.21  81.44 1.82  52.13 2.04  0.03 0.01
GPT2-XL PROMPT 96.28 0.87  69.63 1.66  42.88 1.44  99.49 0.33  84.39 1.44  0.54 0.08
GPT-J   base   13.99 1.59  16.06 1.31  85.77 1.05  40.64 2.29  39.62 1.99  0.00 0.00
GPT-J   FT     100.00 0.00 83.94 1.30  25.81 1.26  99.60 0.29  97.90 0.56  5.47 0.38
GPT-J   FT+L   99.95 0.11  39.07 1.81  84.38 1.09  71.51 2.11  42.78 1.99  0.14 0.02
GPT-J   MEND   97.32 0.74  23.40 1.52  82.93 1.13  98.92 0.48  72.18 1.80  0.62 0.13
GPT-J   ROME   99.95 0.11  86.50 1.14  83.35 1.13  99.60 0.29  74.29 1.73  0.28 0.08
GPT-J   MEMIT  99.95 0.11  74.59 1.57  85.07 1.07  99.09 0.44  64.66 1.89  0.08 0.01
GPT-J   PROMPT 90.55 1.34  70.95 1.61  44.01 1.47  98.24 0.61  85.07 1.39  1.03 0.11
Llama-3 base   7.32 1.19   9.19 0.97   92.53 0.70
Llama-3 FT     100.00 0.00 98.82 0.31  8.37 0.86
Llama-3 ROME   99.95 0.11  90.24 1.00  75.71 1.28
Llama-3 MEMIT  98.63 1.19  58.86 1.83  92.13 0.71
Llama-3 PROMPT 92.30 1.22  77.02 1.46  56.48 1.30
"""


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
    out = []
    for line in _PRINTED.strip().splitlines():
        model, method, *texts = line.split()
        figures = [float(t) for t in texts]
        for (split, metric), value, half in zip(_COLUMNS, figures[::2], figures[1::2], strict=False):
            out.append(PrintedInterval(split, metric, model, method, value, half))
    return tuple(out)


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
