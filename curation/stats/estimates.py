"""What every statistic here returns: a value with its interval, or the reason why there is none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Estimate(NamedTuple):
    """A statistic, its interval, and what it rests on.

    Attributes:
        name: What it is, such as ``alpha (ordinal)``.
        value: The statistic, or None where it is undefined; never NaN.
        low: Lower end of the interval, or None where there is no interval.
        high: Upper end of the interval, or None.
        n: Units (or pairs of values) that it was computed from.
        cases: Independent cases that these belong to: what the interval resamples.
        method: How the interval was had, such as ``case bootstrap, 1000 resamples, 95 %``.
        p: Two-sided p value, where the statistic has a test.
        reason: Why the value is undefined; empty where it is defined.
        note: What a reader has to know of the interval or of p.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    cases: int = 0
    method: str = ""
    p: float | None = None
    reason: str = ""
    note: str = ""

    @property
    def defined(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    def text(self, digits: int = 3) -> str:
        """The estimate in words, as reports print it.

        Example:
            >>> Estimate("alpha", 0.5277, 0.41, 0.63, n=150, cases=50).text()
            '0.528 [0.410, 0.630]'
            >>> undefined("alpha", "there is one rater").text()
            'undefined, because there is one rater'
        """
        if self.value is None:
            return f"undefined, because {self.reason}"
        if self.low is None or self.high is None:
            return f"{self.value:.{digits}f}" + (f" [no interval: {self.note}]" if self.note else "")
        return f"{self.value:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


def undefined(name: str, reason: str, *, n: int = 0, cases: int = 0) -> Estimate:
    """An estimate without a value. ``reason`` is a clause that goes after "undefined, because"."""
    return Estimate(name, None, n=n, cases=cases, reason=reason)


class Groups(NamedTuple):
    """Rows numbered by the group they belong to: ``of`` (rows,) and ``names`` (groups,) in order of appearance."""

    of: Ints
    names: tuple[str, ...]


def number_groups(names: Sequence[str]) -> Groups:
    """Number the groups (cases, neighbours, raters) that rows belong to.

    Example:
        >>> number_groups(["b", "a", "b"])
        Groups(of=array([0, 1, 0]), names=('b', 'a'))
    """
    order: dict[str, int] = {}
    index = np.array([order.setdefault(name, len(order)) for name in names], dtype=np.int64)
    return Groups(index, tuple(order))


def sums_by(index: Ints, rows: Floats, groups: int) -> Floats:
    """Sum rows (rows, m) into groups: an array (groups, m)."""
    out = np.zeros((groups, *rows.shape[1:]))
    np.add.at(out, index, rows)
    return out


def harmonic_mean(values: Sequence[float]) -> float:
    """The harmonic mean of rates; 0 as soon as one of them is 0.

    Example:
        >>> round(harmonic_mean([1.0, 0.5, 0.5]), 3), harmonic_mean([1.0, 0.0])
        (0.6, 0.0)
    """
    return len(values) / sum(1 / v for v in values) if values and min(values) > 0 else 0.0


def components(size: int, first: Sequence[int] | Ints, second: Sequence[int] | Ints) -> Ints:
    """For each of so many items the smallest number that it is connected with by the pairs, directly or through others.

    Example:
        >>> components(4, [1, 2], [3, 1]).tolist()
        [0, 1, 1, 1]
    """
    from scipy import sparse  # type: ignore[import-untyped, unused-ignore]
    from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped, unused-ignore]

    graph = sparse.coo_matrix((np.ones(len(first), dtype=np.int8), (first, second)), shape=(size, size))
    label = connected_components(graph, directed=False)[1]
    head: Ints = np.full(size, size, dtype=np.int64)
    np.minimum.at(head, label, np.arange(size))
    return np.asarray(head[label])


def connected_groups(values: Mapping[str, Iterable[Hashable]]) -> list[list[str]]:
    """Groups of keys that share a value, directly or through others; groups and keys in the order of their names.

    Example:
        >>> connected_groups({"d": [], "a": ["x"], "b": ["x", "y"], "c": ["y"]})
        [['a', 'b', 'c'], ['d']]
    """
    keys, first = sorted(values), dict[Hashable, int]()
    pairs = [(n, first.setdefault(value, n)) for n, key in enumerate(keys) for value in values[key]]
    heads = components(len(keys), [n for n, _ in pairs], [n for _, n in pairs])
    groups: defaultdict[int, list[str]] = defaultdict(list)
    for key, head in zip(keys, heads.tolist(), strict=True):
        groups[head].append(key)
    return list(groups.values())
