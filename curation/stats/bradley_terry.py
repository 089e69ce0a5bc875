"""Strengths from paired comparisons with ties: the Bradley-Terry model as Davidson (1970) extended it.

    P(i better than j) : P(j better than i) : P(tie)  =  exp(s_i) : exp(s_j) : exp(t + (s_i + s_j) / 2)

It is a multinomial logit that is linear in the strengths s and the tie parameter t, so its likelihood is concave and
SciPy finds the one maximum. Davidson, R. R. (1970), On extending the Bradley-Terry model to accommodate ties in paired
comparison experiments, JASA 65, 317-328. The intervals are Student's t with the sandwich variance over cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize  # type: ignore[import-untyped, unused-ignore]
from scipy.stats import t as student  # type: ignore[import-untyped, unused-ignore]

from curation.stats.estimates import Estimate, Floats, connected_groups, sums_by
from curation.stats.intervals import LEAST_CASES
from schemas.core.errors import UserError
from schemas.text.counting import counted

_WON = {1.0: 0, 0.0: 1, 0.5: 2}
METHOD = "Student's t, sandwich variance over cases, 95 %"


class PairedComparison(NamedTuple):
    """One comparison: ``outcome`` is 1 where ``first`` was better, 0 where ``second`` was, 0.5 for a tie."""

    first: str
    second: str
    outcome: float
    case: str


class Strengths(NamedTuple):
    """Strengths of methods.

    Attributes:
        methods: Log-strength by method, the best first; they sum to zero. A difference d means odds of exp(d) between
            the two in comparisons that are decided.
        tie: Log-odds of a tie between equals against one of them being better; undefined without a tie.
        comparisons, ties, cases: What they rest on.
    """

    methods: dict[str, Estimate]
    tie: Estimate
    comparisons: int
    ties: int
    cases: int


def bradley_terry(comparisons: Sequence[PairedComparison]) -> Strengths:
    """Strengths with 95 % intervals that take the comparisons of one case as dependent.

    Example:
        >>> rows = [PairedComparison("a", "b", x, f"c{n}") for n, x in enumerate([1, 1, 0, 0.5, 1, 0.5, 0, 1])]
        >>> round(bradley_terry(rows).methods["a"].value, 3)  # half of log(4 / 2)
        0.347

    Raises:
        UserError: there is nothing to compare, the comparisons do not connect all methods, or no finite strengths fit
            them because some methods never lost to others.
    """
    if not comparisons:
        raise UserError("there are no comparisons", fix="have some answered first")
    names = sorted({n for c in comparisons for n in (c.first, c.second)})
    _refuse_unconnected(names, comparisons)
    ties = sum(c.outcome == 0.5 for c in comparisons)
    if ties == len(comparisons):
        raise UserError(f"all of {counted(ties, 'comparison')} are ties: no strengths can be told", fix="collect more")
    utilities, won = _utilities(names, comparisons, ties=ties > 0)
    _refuse_unbounded(names, utilities, won)
    solution = minimize(_loss, np.zeros(utilities.shape[2]), (utilities, won), jac=True, method="BFGS",
                     options={"gtol": 1e-9, "maxiter": 1000})  # fmt: skip
    if float(np.abs(solution.jac).max()) > 1e-5 * len(comparisons):
        raise UserError("the strengths could not be fitted: the search did not end", fix="collect more comparisons")
    cases = [c.case for c in comparisons]
    spread = _sandwich(solution.x, utilities, won, cases)
    return _as_estimates(names, solution.x, spread, comparisons, ties)


def _contrasts(count: int) -> Floats:
    """A basis (count, count - 1) of vectors that sum to zero: strengths are known up to a constant only."""
    return np.linalg.svd(np.eye(count) - 1.0 / count)[0][:, : count - 1]


def _utilities(
    names: Sequence[str], comparisons: Sequence[PairedComparison], *, ties: bool
) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """What each outcome (first, second, tie) of each comparison is linear in, and which outcome there was.

    Returns:
        Array (comparisons, 3 or 2, parameters), and the outcomes (comparisons,).
    """
    at, basis = {n: k for k, n in enumerate(names)}, _contrasts(len(names))
    first = basis[[at[c.first] for c in comparisons]]
    second = basis[[at[c.second] for c in comparisons]]
    kinds = [first, second, (first + second) / 2] if ties else [first, second]
    strengths = np.stack(kinds, axis=1)
    won = np.array([_WON[c.outcome] for c in comparisons], dtype=np.intp)
    if not ties:
        return strengths, won
    tie = np.zeros((*strengths.shape[:2], 1))
    tie[:, 2] = 1.0
    return np.concatenate([strengths, tie], axis=2), won


def _chances(parameters: Floats, utilities: Floats) -> Floats:
    scores = utilities @ parameters
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def _pulls(parameters: Floats, utilities: Floats, won: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    """The gradient of each comparison's log-likelihood (comparisons, parameters)."""
    mean = np.einsum("nk,nkp->np", _chances(parameters, utilities), utilities)
    return np.asarray(utilities[np.arange(len(won)), won] - mean)


def _loss(
    parameters: Floats, utilities: Floats, won: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> tuple[float, Floats]:
    chances = _chances(parameters, utilities)[np.arange(len(won)), won]
    return -float(np.log(chances).sum()), -_pulls(parameters, utilities, won).sum(axis=0)


def _sandwich(
    parameters: Floats, utilities: Floats, won: np.ndarray[tuple[int], np.dtype[np.intp]], cases: Sequence[str]
) -> Floats | None:
    """Covariance of the parameters over cases; None for fewer than five."""
    order = {c: n for n, c in enumerate(dict.fromkeys(cases))}
    if len(order) < LEAST_CASES:
        return None
    chances = _chances(parameters, utilities)
    mean = np.einsum("nk,nkp->np", chances, utilities)
    information = np.einsum("nk,nkp,nkq->pq", chances, utilities, utilities) - mean.T @ mean
    by_case = sums_by(np.array([order[c] for c in cases]), _pulls(parameters, utilities, won), len(order))
    bread = np.linalg.inv(information)
    return np.asarray(bread @ (by_case.T @ by_case) @ bread * len(order) / (len(order) - 1))


def _as_estimates(
    names: Sequence[str], parameters: Floats, spread: Floats | None, comparisons: Sequence[PairedComparison], ties: int
) -> Strengths:
    basis = _contrasts(len(names))
    free = len(names) - 1
    cases = len({c.case for c in comparisons})
    values = basis @ parameters[:free]
    covariance = None if spread is None else basis @ spread[:free, :free] @ basis.T
    wide = float(student.ppf(0.975, max(cases - 1, 1)))

    def estimate(name: str, value: float, variance: float | None, n: int) -> Estimate:
        if variance is None or not variance > 0:
            why = f"n = {cases}: too few" if variance is None else "no case pulls another way"
            return Estimate(name, value, n=n, cases=cases, note=why)
        half = wide * float(np.sqrt(variance))
        return Estimate(name, value, value - half, value + half, n=n, cases=cases, method=METHOD)

    of = {n: sum(n in (c.first, c.second) for c in comparisons) for n in names}
    order = sorted(range(len(names)), key=lambda k: (-values[k], names[k]))
    methods = {
        names[k]: estimate(
            names[k], float(values[k]), None if covariance is None else float(covariance[k, k]), of[names[k]]
        )
        for k in order
    }
    if ties:
        tie = estimate("tie", float(parameters[-1]), None if spread is None else float(spread[-1, -1]), ties)
    else:
        tie = Estimate("tie", None, n=0, cases=cases, reason="there is no tie")
    return Strengths(methods, tie, len(comparisons), ties, cases)


def _refuse_unconnected(names: Sequence[str], comparisons: Sequence[PairedComparison]) -> None:
    """Strengths of methods that no chain of comparisons connects cannot be set beside each other.

    Raises:
        UserError: there are several such groups.
    """
    parts = connected_groups({n: [k for k, c in enumerate(comparisons) if n in (c.first, c.second)] for n in names})
    if len(parts) > 1:
        groups = "; ".join(", ".join(part) for part in parts)
        raise UserError(
            f"the comparisons fall into {len(parts)} groups that were never compared with each other: {groups}",
            fix="compare a method of one group with one of another",
        )


def _refuse_unbounded(names: Sequence[str], utilities: Floats, won: np.ndarray[tuple[int], np.dtype[np.intp]]) -> None:
    """Refuse comparisons that ever greater strengths fit ever better (Albert and Anderson's separation).

    A direction in which no observed outcome loses to another possible one, and some gain, is looked for by a linear
    programme.

    Raises:
        UserError: there is one; names the methods that lie on its two sides.
    """
    n, kinds, p = utilities.shape
    gains = utilities[np.arange(n), won][:, None, :] - utilities
    rows = np.unique(gains.reshape(n * kinds, p).round(12), axis=0)
    solution = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * p, method="highs")
    if solution.status != 0 or -solution.fun < 1e-7:
        return
    direction = _contrasts(len(names)) @ solution.x[: len(names) - 1]
    order = np.argsort(-direction, kind="stable")
    gap = int(np.argmax(-np.diff(direction[order])))
    high, low = ([names[k] for k in order[part]] for part in (slice(0, gap + 1), slice(gap + 1, None)))
    raise UserError(
        f"the strengths have no bound: in {counted(n, 'comparison')} none of {', '.join(sorted(low))} was better than "
        f"any of {', '.join(sorted(high))}",
        fix="collect more comparisons between them",
    )
