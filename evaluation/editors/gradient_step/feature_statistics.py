"""Running means and variances of features, added up exactly, whatever the order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from torch import Tensor

_LEAST_DEVIATION = 1e-12  # a feature that never varies is 0 after normalisation


class FeatureStatistics(NamedTuple):
    """What is known of rows seen so far.

    Attributes:
        n: Rows.
        mean: [features], float64.
        squares: [features], float64: sum of squared deviations from the mean.
    """

    n: int
    mean: Tensor
    squares: Tensor

    @classmethod
    def of(cls, rows: Tensor) -> FeatureStatistics:
        """Those of rows [n, features].

        Example:
            >>> import torch
            >>> known = FeatureStatistics.of(torch.tensor([[1.0], [2.0], [6.0]]))
            >>> known.n, float(known.mean), float(known.squares)
            (3, 3.0, 14.0)
        """
        exact = rows.double()
        mean = exact.mean(0)
        return cls(len(exact), mean, (exact - mean).square().sum(0))

    @classmethod
    def total(cls, parts: Iterable[FeatureStatistics]) -> FeatureStatistics:
        """Those of all rows of all parts (Chan, Golub and LeVeque 1979).

        Example:
            >>> import torch
            >>> a, b = FeatureStatistics.of(torch.tensor([[1.0], [2.0]])), FeatureStatistics.of(torch.tensor([[6.0]]))
            >>> float(FeatureStatistics.total([a, b]).squares)
            14.0
        """
        first, *rest = parts
        count, mean, squares = first
        for part in rest:
            gap, whole = part.mean - mean, count + part.n
            squares = squares + part.squares + gap.square() * (count * part.n / whole)
            mean, count = mean + gap * (part.n / whole), whole
        return cls(count, mean, squares)

    def normalise(self, rows: Tensor) -> Tensor:
        """z-scores of rows [n, features], float64, with the variance over ``n - 1``."""
        deviation = (self.squares / max(1, self.n - 1)).sqrt()
        steady = deviation <= _LEAST_DEVIATION
        scores = (rows.double() - self.mean) / deviation.masked_fill(steady, 1.0)
        return scores.masked_fill(steady, 0.0)
