"""The clustered heat map of correlations (as ScEdit's Figure 5), in picture coordinates."""

from __future__ import annotations

from collections import Counter
from math import cos, radians, sin
from typing import NamedTuple

from evaluation.analysis.correlations import Correlations
from schemas.text.counting import counted

CELL = 58
_LEFT, _TREE, _NAMES = 96, 56, 26
_CHARACTER, _FITS, _SLANT = 7.6, 8, 40  # width of a character; characters above a column; degrees of longer names
_STEPS = 5  # shades on each side of 0


class HeatMapCell(NamedTuple):
    """One cell: its place, its number as shown, its shade (-5 to 5; 0 also where undefined), what it is in words.

    A cell without a value has no words: why there is none stands once, in ``HeatMap.absent``.
    """

    x: float
    y: float
    text: str
    shade: int
    decided: bool
    description: str


class HeatMap(NamedTuple):
    """The picture: names with their places, squares, the tree's lines as SVG paths, why values are absent.

    ``slant`` is the angle of the names above the columns: 0 where all are short enough to stand side by side.
    """

    names: tuple[tuple[str, float, float], ...]
    squares: tuple[HeatMapCell, ...]
    tree: tuple[str, ...]
    width: int
    height: int
    absent: str
    left: int = _LEFT
    top: int = _TREE + _NAMES
    cell: int = CELL
    slant: int = 0


def heat_map(correlations: Correlations) -> HeatMap | None:
    """The picture of one view; None with fewer than two metrics, or where no pair has a value."""
    names = correlations.order
    pairs = [correlations.between(a, b) for n, a in enumerate(names) for b in names[:n]]
    if all(pair is None or pair.correlation.value is None for pair in pairs):
        return None
    longest = max(map(len, names))
    slant = _SLANT if longest > _FITS else 0
    left = max(_LEFT, round(longest * _CHARACTER) + 12)
    top = _TREE + (round(longest * _CHARACTER * sin(radians(slant))) + 18 if slant else _NAMES)
    squares, absent = [], Counter[str]()
    for i, first in enumerate(names):
        for j, second in enumerate(names):
            x, y = left + j * CELL, top + i * CELL
            if i == j:
                squares.append(HeatMapCell(x, y, "1", _STEPS, False, f"{first} with itself"))
                continue
            pair = correlations.between(first, second)
            value = None if pair is None else pair.correlation.value
            if pair is None or value is None:
                absent["no pair" if pair is None else pair.correlation.reason] += i < j
                squares.append(HeatMapCell(x, y, "–", 0, False, ""))
                continue
            p = "no p" if pair.p_holm is None else f"corrected p {pair.p_holm:.3g}"
            label = f"{first} and {second}: rho {value:.2f}, {p}, n {pair.correlation.n}"
            shade = round(value * _STEPS)
            squares.append(HeatMapCell(x, y, _signed_text(value), shade, pair.decided, label))
    farthest = max((j[4] for j in correlations.joins), default=1.0) or 1.0
    lines = []
    for x1, y1, x2, y2, height in correlations.joins:
        a, b = left + (x1 + 0.5) * CELL, left + (x2 + 0.5) * CELL
        at, one, two = (round(_TREE - 4 - h / farthest * (_TREE - 10), 1) for h in (height, y1, y2))
        lines.append(f"M{a} {one}V{at}H{b}V{two}")
    places = tuple((n, left + (k + 0.5) * CELL, top + (k + 0.5) * CELL) for k, n in enumerate(names))
    size = len(names) * CELL
    why = "; ".join(f"{reason} ({counted(n, 'pair')})" for reason, n in absent.most_common())
    beside = round(longest * _CHARACTER * cos(radians(slant))) - CELL // 2 if slant else 0  # the last name leans out
    width = left + size + 8 + max(0, beside)
    return HeatMap(places, tuple(squares), tuple(lines), width, top + size + 8, why, left, top, slant=slant)


def _signed_text(value: float) -> str:
    text = f"{value:.2f}".replace("0.", ".", 1).replace("-", "\N{MINUS SIGN}")
    return "0" if text.strip("\N{MINUS SIGN}") in (".00",) else text
