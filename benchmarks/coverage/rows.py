"""A row of the coverage page: a design under a method, its simulation, and what it promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

SIZES = (5, 12, 40, 100)
PROMISED_FROM = 5  # cases
SEED = 15
ENOUGH = 30  # intervals that were given, below which a share of them says nothing
LIKERT = {
    "middling": [5, 10, 20, 30, 20, 10, 5],
    "80 % sevens": [2, 1, 1, 2, 4, 10, 80],
    "94 % sevens": [1, 0, 0, 1, 1, 3, 94],
}
Rng = np.random.Generator
Array = npt.NDArray[np.float64]
IntervalEnds = tuple[float | None, float | None]
Outcome = bool | None
Part = Literal["means", "agreement", "calibration", "tests"]


class Row(NamedTuple):
    """A design under a method.

    Attributes:
        part: The table it belongs to.
        design: How the data came about. ``method``: what is judged.
        once: One run with n cases: whether the interval holds the truth (or the test rejects); None: it is refused.
        promise: Least coverage of the intervals that are given (or most rejections); None: a warning, no promise.
        printed: Of a row without a promise: what tables print beside such an interval; empty where no table has it.
        why: Of a row without a promise: why it holds less, and what stands in its place.
    """

    part: Part
    design: str
    method: str
    once: Callable[[Rng, int], Outcome]
    promise: float | None
    printed: str = ""
    why: str = ""

    @property
    def name(self) -> str:
        """Design and method."""
        return f"{self.design}: {self.method}"


class Cell(NamedTuple):
    """A row at one number of cases: runs whose interval held the truth (or whose test rejected), of those given."""

    cases: int
    held: int
    given: int
    runs: int

    @property
    def share(self) -> float:
        """Of those given; 1 where none was."""
        return self.held / self.given if self.given else 1.0

    @property
    def text(self) -> str:
        """For the page: the percentage, and in brackets that of the runs which gave an interval, where not all did."""
        known = f"{100 * self.share:.0f}" if self.given >= ENOUGH else "-"
        return known if self.given == self.runs else f"{known} ({100 * self.given / self.runs:.0f})"


def covers(ends: IntervalEnds, truth: float) -> Outcome:
    """Whether an interval holds the truth; None where there is no interval."""
    low, high = ends
    return None if low is None or high is None else low - 1e-9 <= truth <= high + 1e-9


def cell(row: Row, cases: int, *, runs: int) -> Cell:
    """Simulate one number of cases."""
    rng = np.random.default_rng([cases, SEED])
    outcomes = [row.once(rng, cases) for _ in range(runs)]
    decided = [one for one in outcomes if one is not None]
    return Cell(cases, sum(decided), len(decided), runs)


def keeps_promise(row: Row, simulated: Cell) -> bool:
    """Whether a cell keeps the promise of its row, three standard errors of the simulation allowed."""
    if row.promise is None or simulated.cases < PROMISED_FROM or simulated.given < ENOUGH:
        return True
    slack = 3 * (row.promise * (1 - row.promise) / simulated.given) ** 0.5
    if row.part == "tests":
        return bool(simulated.share <= row.promise + slack)
    return bool(simulated.share >= row.promise - slack)
