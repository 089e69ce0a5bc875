"""Panels of simulated raters whose true means are known: ratings of scripts by method, case, aspect and person."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from scipy.special import expit  # type: ignore[import-untyped]

from curation.stats.estimates import Floats
from curation.stats.severity_means import ScaleRating

CUTS = np.array([-3.0, -2.0, -1.0, 0.0, 1.0, 2.2])
"""Thresholds of the seven points, in logits."""


class Panel(NamedTuple):
    """Effects of methods (aspects, methods), severities (persons, aspects), spreads over cases, items and units."""

    effects: Floats
    severity: Floats
    spreads: tuple[float, float, float] = (0.8, 0.7, 0.0)

    @property
    def true_means(self) -> Floats:
        """Mean rating by aspect and method had every person rated every script that there could be."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(61)
        around = nodes * float(np.sqrt(sum(s**2 for s in self.spreads)))
        out = np.empty(self.effects.shape)
        for (a, m), effect in np.ndenumerate(self.effects):
            at = effect + around[:, None, None] - self.severity[None, :, a, None]
            out[a, m] = float((1 + expit(at - CUTS).sum(axis=2).mean(axis=1)) @ (weights / weights.sum()))
        return out


def panel(rng: np.random.Generator, *, persons: int, methods: int = 4, aspects: int = 1, apart: float = 1.6) -> Panel:
    """A world with people of drawn severity (sd 0.7 logits, and 0.3 on an aspect)."""
    effects = np.tile(np.linspace(-apart / 2, apart / 2, methods), (aspects, 1))
    severity = rng.normal(0, 0.7, (persons, 1)) + (rng.normal(0, 0.3, (persons, aspects)) if aspects > 1 else 0.0)
    return Panel(effects, severity, (0.8, 0.7, 0.5 if aspects > 1 else 0.0))


class Scripts:
    """Scripts of a world, every rating that a person could give of one fixed: the same question has one answer."""

    def __init__(self, world: Panel, rng: np.random.Generator, *, cases: int) -> None:
        self.world, self.cases = world, cases
        (aspects, methods), persons = world.effects.shape, len(world.severity)
        of_case, of_item, of_unit = world.spreads
        at = world.effects[None] + rng.normal(0, 1, (cases, 1, 1)) * of_case
        at = (
            at + rng.normal(0, 1, (cases, 1, methods)) * of_item + rng.normal(0, 1, (cases, aspects, methods)) * of_unit
        )
        liking = at[None] - world.severity[:, None, :, None] + rng.logistic(size=(persons, cases, aspects, methods))
        self.values = 1 + (liking[..., None] > CUTS).sum(axis=-1)

    @property
    def items(self) -> list[tuple[str, str, str]]:
        """Item, case and method of every script."""
        methods = self.world.effects.shape[1]
        return [(f"c{c:03}/m{m}", f"c{c:03}", f"m{m}") for c in range(self.cases) for m in range(methods)]

    def rated(self, pairs: Collection[tuple[str, str]]) -> list[ScaleRating]:
        """What people say of items, for pairs (person, item)."""
        out = []
        for person, item in pairs:
            values = self.values[int(person[1:]), int(item[1:4]), :, int(item[6:])]
            out += [ScaleRating(item, item[:4], item[5:], person, f"a{a}", int(v)) for a, v in enumerate(values)]
        return out

    def shared(self, rng: np.random.Generator, *, overlap: int) -> list[tuple[str, str]]:
        """Every item to so many people, drawn by chance, in an order drawn by chance."""
        persons = len(self.world.severity)
        pairs = [
            (f"p{p}", item)
            for item, *_ in self.items
            for p in rng.choice(persons, size=overlap, replace=False).tolist()
        ]
        return [pairs[n] for n in rng.permutation(len(pairs))]
