"""Rows of judges calibrated to people: who was rated, with which probability, and how near the ceiling."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from annotation_ui.campaigns.campaign import CampaignOptions, draw_sample
from annotation_ui.tasks.base import TaskItem
from benchmarks.coverage.rows import LIKERT, Array, Outcome, Rng, Row, covers
from curation.stats.prediction_powered import Unit, calibrate, difference

Sampled = Callable[[Rng, Array, int], dict[int, float]]


def _ratings(rng: Rng, cases: int, usage: str) -> tuple[Array, Array]:
    """What people and a judge say, who is a little too kind and right in 60 %."""
    chance = np.array(LIKERT[usage]) / sum(LIKERT[usage])
    human = 1.0 + rng.choice(7, cases, p=chance)
    judge = np.clip(human + rng.choice([-1, 0, 1], cases, p=[0.1, 0.6, 0.3]), 1, 7)
    return np.asarray(human), np.asarray(judge)


def equal_chances(rng: Rng, judge: Array, rated: int) -> dict[int, float]:
    """A plain random sample."""
    return {int(k): rated / len(judge) for k in rng.permutation(len(judge))[:rated]}


def unequal_chances(rng: Rng, judge: Array, rated: int) -> dict[int, float]:
    """What the judge rates low is drawn three times as often."""
    weight = np.where(judge < np.median(judge), 3.0, 1.0)
    chance = np.minimum(1.0, weight * rated / weight.sum())
    return {int(k): float(chance[k]) for k in np.flatnonzero(rng.random(len(judge)) < chance)}


def two_strata(rng: Rng, judge: Array, rated: int) -> dict[int, float]:
    """A sample as ``scedit annotate new`` draws it, of strata of two sizes."""
    items = [TaskItem(id=str(k), case=str(k), stratum="ab"[k % 3 == 0], shown={}) for k in range(len(judge))]
    drawn = draw_sample(items, CampaignOptions(number=rated), name=str(rng.integers(2**40)))
    return {int(c.item.id): float(c.probability or 0) for c in drawn}


def _row(design: str, sample: Sampled, usage: str = "middling", *, of: int = 2) -> Row:
    chance = np.array(LIKERT[usage]) / sum(LIKERT[usage])
    truth = float(chance @ np.arange(1, 8))

    def once(rng: Rng, n: int) -> Outcome:
        human, judge = _ratings(rng, of * n, usage)
        chances = sample(rng, judge, n)
        units = [
            Unit(str(k), float(judge[k]), float(human[k]) if k in chances else None, chances.get(k, 1.0))
            for k in range(of * n)
        ]
        estimate = calibrate(units).powered
        return covers((estimate.low, estimate.high), truth)

    return Row("calibration", design, "calibrated mean", once, 0.93)


def _scripts(rng: Rng, n: int) -> Outcome:
    """Three scripts a case that share their quality; one script of each of n cases is rated, of 2n cases."""
    quality = rng.normal(size=2 * n)
    human = np.clip(np.round(4 + quality[:, None] + 0.7 * rng.normal(size=(2 * n, 3))), 1, 7)
    judge = np.clip(human + rng.choice([-1, 0, 1], (2 * n, 3), p=[0.1, 0.6, 0.3]), 1, 7)
    rated = {int(c): int(rng.integers(3)) for c in rng.permutation(2 * n)[:n]}
    units = [
        Unit(str(c), float(judge[c, k]), float(human[c, k]) if rated.get(c) == k else None, 1 / 6)
        for c in range(2 * n)
        for k in range(3)
    ]
    estimate = calibrate(units).powered
    return covers((estimate.low, estimate.high), 4.0)


def _paired(rng: Rng, n: int) -> Outcome:
    """Two methods on the same 2n cases, of which people rated the same n; the one is half a point better."""
    quality = rng.normal(size=2 * n)
    human = [np.round(4 + shift + quality + 0.7 * rng.normal(size=2 * n)) for shift in (0.5, 0.0)]
    rated = set(rng.permutation(2 * n)[:n].tolist())
    one, two = (
        [
            Unit(str(k), float(side[k] + rng.choice([-1, 0, 1])), float(side[k]) if k in rated else None, 0.5)
            for k in range(2 * n)
        ]
        for side in human
    )
    estimate = difference(one, two)
    return covers((estimate.low, estimate.high), 0.5)


def calibration_rows() -> list[Row]:
    """Every design of a sample of people's ratings; n is the number of rated scripts."""
    return [
        _row("half of the cases rated", equal_chances),
        _row("a fifth of the cases rated", equal_chances, of=5),
        _row("half rated, 80 % sevens", equal_chances, "80 % sevens"),
        _row("half rated, 94 % sevens", equal_chances, "94 % sevens"),
        _row("unequal probabilities (low ones three times as often), a third rated", unequal_chances, of=3),
        _row("unequal probabilities, 80 % sevens", unequal_chances, "80 % sevens", of=3),
        _row("a stratified sample, strata of two sizes", two_strata, of=4),
        Row("calibration", "one of three scripts rated in half of the cases", "calibrated mean", _scripts, 0.93),
        Row("calibration", "two methods, the same cases rated", "calibrated difference", _paired, 0.93),
    ]
