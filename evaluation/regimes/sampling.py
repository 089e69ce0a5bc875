"""Which cases of a sequence are asked at a length, and in which order the cases of a run come."""

from __future__ import annotations

from collections.abc import Sequence

from curation.case_sources.choosing import has_scripts
from schemas.cases import AnyCase
from schemas.core.ids import seed


def sampled_positions(cases: Sequence[AnyCase], length: int, sample: int | None) -> list[int]:
    """Positions, from 1, of the cases that are asked when ``length`` edits stand in the model.

    Cases with scripts come first, others by a draw from their keys: what is asked at one length is asked at longer ones
    too, as far as there is room.

    Args:
        cases: All cases of the sequence, in order.
        length: Edits in the model.
        sample: Most cases; None: all.
    """
    positions = list(range(1, length + 1))
    if sample is None or length <= sample:
        return positions
    ranked = sorted(positions, key=lambda n: _rank(cases[n - 1]))
    return sorted(ranked[:sample])


def lengths_reached(cases: Sequence[object], sizes: Sequence[int]) -> set[int]:
    """Lengths that there are cases for; all cases, where there are fewer than the smallest length."""
    return {n for n in sizes if n <= len(cases)} or {len(cases)}


def asked_positions(cases: Sequence[AnyCase], sizes: Sequence[int], sample: int | None) -> set[int]:
    """Positions, from 1, of the cases that are asked at one length or more."""
    return {p for n in lengths_reached(cases, sizes) for p in sampled_positions(cases, n, sample)}


def _rank(case: AnyCase) -> tuple[bool, int, str]:
    return not has_scripts(case), seed(case.key, "asked"), case.key
