"""Published figures beside ours, and how far ours may be off.

A figure of ours is compared only where model, data, methods, set-up and judge are the published ones.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from evaluation.reproduction.our_figures import OurFigure, OurResults, our_figures
from evaluation.reproduction.published import PrintedFigure, PublishedTable, printed_figures

Verdict = Literal["within", "undecided", "outside", "not comparable", "no figure"]
_LAST_PLACE = 0.01  # printed figures have two decimals


class FigureComparison(NamedTuple):
    """A printed figure and ours.

    Attributes:
        printed: What was printed.
        ours: Our value and half width, None where there is none.
        told: On what ours rests, or what keeps it from being compared.
        tolerance: How far ours may be off: half width of the difference as if the cases were not the same ones, at
            least the last printed place; None where nothing is compared.
        verdict: ``within`` even the paired tolerance, ``outside`` the other one, ``undecided`` between the two;
            ``not comparable`` where something is not as published.
        paired: How far ours may be off where the values of the same cases vary together as much as both half widths
            allow; equal to ``tolerance`` where the cases are not known to be the same, or no half width is printed.
    """

    printed: PrintedFigure
    ours: float | None
    half: float | None
    told: str
    tolerance: float | None
    verdict: Verdict
    paired: float | None = None


class Tolerance(NamedTuple):
    """How far a figure may be off: if the same cases agree as far as they can, and as if by other cases; and a note."""

    paired: float
    unpaired: float
    note: str = ""


def compare_figures(what: PublishedTable, ours: OurResults) -> list[FigureComparison]:
    """Every printed figure with ours: the one that is most like the published one."""
    out = []
    for entry in printed_figures(what):
        candidates = our_figures(what, entry, ours)
        if not candidates:
            out.append(FigureComparison(entry, None, None, "", None, "no figure"))
            continue
        best = candidates[0]
        if best.differs:
            basis = f"{best.basis}; {'; '.join(best.differs)}"
            out.append(FigureComparison(entry, best.value, best.half, basis, None, "not comparable"))
        else:
            others = sum(not figure.differs for figure in candidates[1:])
            note = f"; {others} more of ours may be compared" if others else ""
            best = best._replace(basis=best.basis + note)
            out.append(_compared(entry, best, same_cases="cases" not in what.data))
    return out


def _compared(entry: PrintedFigure, best: OurFigure, *, same_cases: bool) -> FigureComparison:
    allowed = tolerance(entry.half, best.half, same_cases=same_cases)
    off = abs(best.value - entry.value) - 1e-9
    verdict: Verdict = "within" if off <= allowed.paired else "outside" if off > allowed.unpaired else "undecided"
    basis = best.basis + (f"; {allowed.note}" if allowed.note else "")
    return FigureComparison(entry, best.value, best.half, basis, allowed.unpaired, verdict, allowed.paired)


def tolerance(printed: float | None, ours: float | None, *, same_cases: bool) -> Tolerance:
    """How far two means may differ, from their half widths.

    The half width of a difference is √(h₁² + h₂² - 2·r·h₁·h₂), with r the correlation of both by case. Published values
    by case are not known, so r lies between 0 (as if by other cases) and 1 (the same cases under the same model vary
    together as much as they can), where it is |h₁ - h₂|.

    Args:
        printed: Half width as printed, None where none is.
        ours: Half width of ours, None where there is none.
        same_cases: Both are known to be of the same cases.

    Example:
        >>> tolerance(3.0, 4.0, same_cases=True)
        Tolerance(paired=1.0, unpaired=5.0, note='')
        >>> tolerance(None, 4.0, same_cases=False)[:2]
        (4.0, 4.0)
    """
    unpaired = max(_LAST_PLACE, math.hypot(printed or 0.0, ours or 0.0))
    if printed is None:
        return Tolerance(
            unpaired, unpaired, "no interval is printed, so only ours counts and the tolerance is too narrow"
        )
    if ours is None:
        return Tolerance(unpaired, unpaired, "ours has no interval, so only the printed one counts")
    if not same_cases:
        return Tolerance(unpaired, unpaired)
    return Tolerance(max(_LAST_PLACE, abs(printed - ours)), unpaired)
