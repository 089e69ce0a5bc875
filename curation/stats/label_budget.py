"""How many labels of people a wanted interval takes, with the judge and without."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from curation.stats.intervals import LEAST_CASES, skew_shift
from curation.stats.prediction_powered import Contributions, Unit, agree, agreement_note, check, contributions
from schemas.text.counting import counted


class LabelBudget(NamedTuple):
    """Labels for a wanted width.

    Attributes:
        scripts: Scripts with a human rating in all; None where no number of these scripts will do, or it is not known.
        more: Of them still to be rated.
        alone: How many people alone would need in all; None where all scripts are too few.
        reason: Why there is no number.
    """

    scripts: int | None
    more: int | None
    alone: int | None
    reason: str = ""


def scripts_needed(units: Sequence[Unit], half_width: float, *, confidence: float = 0.95) -> LabelBudget:
    """How many scripts people have to rate until the interval is twice ``half_width`` wide, the judge being as now.

    With n rated scripts the variance is a part that stays plus a part that falls as 1/n; both are read off the present
    sample, so the answer is as rough as that is.

    Args:
        units: As ``calibrate`` takes them.
        half_width: Wanted, in points of the scale.
        confidence: Of the interval.
    """
    if half_width <= 0:
        raise ValueError("a half width is above 0")
    check(units)
    labelled = len({u.case for u in units if u.human is not None})
    if labelled < LEAST_CASES:
        return LabelBudget(
            None, None, None, f"people rated {counted(labelled, 'case')}, fewer than {LEAST_CASES}: no spread is known"
        )
    parts, people = contributions(units), contributions(units, fixed=0.0)
    if agree(parts):
        return LabelBudget(None, None, None, f"{agreement_note(parts)}: how many ratings are enough is not known")
    if parts.refused:
        return LabelBudget(None, None, None, f"{parts.refused}: how many ratings are enough is not known")
    scripts = _smallest_number(half_width, parts, len(units), confidence)
    alone = _smallest_number(half_width, people, len(units), confidence)
    if scripts is None:
        return LabelBudget(None, None, alone, f"not even with all {len(units)} scripts rated: more cases are needed")
    return LabelBudget(scripts, max(0, scripts - parts.units), alone)


def _smallest_number(half: float, contributions: Contributions, scripts: int, confidence: float) -> int | None:
    """The smallest number of rated scripts that is enough, or None."""
    from scipy import stats  # type: ignore[import-untyped]

    third = float((contributions.influence**3).sum()) / len(contributions.cases) ** 3
    for n in range(LEAST_CASES, scripts + 1):
        cases = min(len(contributions.cases), max(2, round(n * contributions.labelled / contributions.units)))
        quantile = float(stats.t.ppf((1 + confidence) / 2, cases - 1))
        spread = (contributions.steady + contributions.sampling * contributions.units / n) * cases / (cases - 1)
        shift = skew_shift(third * (contributions.units / n) ** 2, math.sqrt(spread), quantile) if spread > 0 else 0.0
        if quantile * math.sqrt(spread) + abs(shift) / 2 <= half:
            return n
    return None
