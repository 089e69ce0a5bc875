"""Units with a judge's ratings and some of people, drawn with a known truth."""

from __future__ import annotations

import numpy as np

from curation.stats.prediction_powered import Unit


def draw(
    rng: np.random.Generator,
    *,
    cases: int = 200,
    scripts: int = 2,
    share: float = 0.2,
    level: float = 4.2,
    noise: float = 0.8,
    shift: float = 1.5,
    hard: np.ndarray | None = None,
    uneven: bool = False,
) -> list[Unit]:
    """Scripts of a method on the 7-point scale: the judge follows people, with noise, and is too kind by ``shift``.

    Args:
        rng: Draws everything.
        cases: Number of cases, each with so many ``scripts``.
        share: Of the scripts that people rate, drawn without replacement; ``uneven``: with two probabilities.
        level: Where people's ratings lie. ``noise``: the judge's. ``hard``: effects of the cases (drawn if not given).
    """
    effects = rng.normal(0, 1.0, cases) if hard is None else hard
    real = level + np.repeat(effects, scripts) + rng.normal(0, 0.9, cases * scripts)
    human = np.clip(np.round(real * 3) / 3, 1, 7)  # the mean of three people
    judge = np.clip(np.round(0.8 * human + shift + rng.normal(0, noise, human.size)), 1, 7)
    p = np.full(human.size, share)
    if uneven:
        p = np.where(judge > 5, share / 2, share * 1.5)  # easy scripts are looked at less often
    if uneven:
        selection = rng.random(human.size) < p
    else:
        selection = np.zeros(human.size, dtype=bool)
        selection[rng.choice(human.size, round(share * human.size), replace=False)] = True
    return [
        Unit(f"c{k // scripts:04d}", float(judge[k]), float(human[k]) if selection[k] else None, float(p[k]))
        for k in range(human.size)
    ]
