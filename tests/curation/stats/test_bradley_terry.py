"""Bradley-Terry with ties: against an independent fit, by hand, and where there is nothing to estimate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from curation.stats.bradley_terry import PairedComparison, bradley_terry
from schemas.core.errors import UserError


def rows(*wins: tuple[str, str, float, int], cases: int = 10) -> list[PairedComparison]:
    """So many comparisons of each kind, spread over cases."""
    many = [(a, b, o) for a, b, o, n in wins for _ in range(n)]
    return [PairedComparison(a, b, o, f"c{k % cases}") for k, (a, b, o) in enumerate(many)]


def drawn(seed: int, strengths: dict[str, float], tie: float, cases: int, each: int = 1) -> list[PairedComparison]:
    rng, names, out = np.random.default_rng(seed), sorted(strengths), []
    for case in range(cases):
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                x, y = strengths[a], strengths[b]
                p = np.exp([x, y, tie + (x + y) / 2])
                for _ in range(each):
                    out.append(PairedComparison(a, b, (1.0, 0.0, 0.5)[rng.choice(3, p=p / p.sum())], f"c{case}"))
    return out


def likeliest(comparisons: list[PairedComparison]) -> tuple[dict[str, float], float]:
    """Strengths and tie parameter of the greatest likelihood, found without derivatives of our own."""
    names = sorted({n for c in comparisons for n in (c.first, c.second)})
    at = np.array([(names.index(c.first), names.index(c.second), 2 * c.outcome) for c in comparisons], dtype=int)

    def loss(free: np.ndarray) -> float:
        x, y = free[at[:, 0]], free[at[:, 1]]
        worths = np.array([y, free[-1] + (x + y) / 2, x])  # of outcomes 0, 0.5 and 1
        return float((logsumexp(worths, axis=0) - worths[at[:, 2], np.arange(len(at))]).sum() + free[:-1].sum() ** 2)

    found = minimize(loss, np.zeros(len(names) + 1), method="BFGS", options={"gtol": 1e-7}).x
    return dict(zip(names, found.tolist(), strict=False)), float(found[-1])


@pytest.mark.parametrize("tie", [-30.0, 0.0, 1.2])
def test_the_fit_is_that_of_the_greatest_likelihood(tie: float) -> None:
    data = drawn(3, {"a": 0.9, "b": 0.0, "c": -0.4, "d": -0.5}, tie, cases=40)
    fit = bradley_terry(data)
    strengths, tie_strength = likeliest(data)
    for name, e in fit.methods.items():
        assert e.value == pytest.approx(strengths[name], abs=1e-4)
    assert sum(e.value or 0.0 for e in fit.methods.values()) == pytest.approx(0, abs=1e-9)
    assert list(fit.methods) == sorted(strengths, key=lambda k: -strengths[k])
    assert (fit.comparisons, fit.ties, fit.cases) == (240, sum(c.outcome == 0.5 for c in data), 40)
    if fit.ties:
        assert fit.tie.value == pytest.approx(tie_strength, abs=1e-4)
    else:
        assert fit.tie.value is None and "no tie" in fit.tie.reason


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "there are no comparisons"),
        (rows(("a", "b", 1, 1)), "none of b was better than any of a"),
        (rows(("a", "b", 1, 20)), "none of b was better than any of a"),
        (rows(("a", "b", 1, 20), ("a", "b", 0.5, 5)), "none of b was better than any of a"),
        (rows(("a", "b", 0.5, 9)), "all of 9 comparisons are ties"),
        (rows(("a", "b", 1, 3), ("b", "a", 1, 2), ("c", "d", 1, 3), ("d", "c", 1, 2)), "2 groups that were never"),
        (
            rows(("a", "b", 1, 3), ("b", "a", 1, 2), ("a", "c", 1, 3), ("d", "c", 1, 3), ("c", "d", 1, 2)),
            "none of c, d was better than any of a, b",
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused_in_one_sentence(data: list[PairedComparison], message: str) -> None:
    with pytest.raises(UserError, match=message):
        bradley_terry(data)


def test_four_cases_have_values_and_no_intervals() -> None:
    strengths = bradley_terry(rows(("a", "b", 1, 4), ("b", "a", 1, 2), cases=4))
    e = strengths.methods["a"]
    assert e.value is not None and e.low is None and e.note == "n = 4: too few"


def test_many_comparisons_of_one_case_are_not_many_cases() -> None:
    few = rows(("a", "b", 1, 6), ("b", "a", 1, 4), cases=10)
    copied = [c for c in few for _ in range(30)]
    one, other = bradley_terry(few).methods["a"], bradley_terry(copied).methods["a"]
    assert one[1:4] == pytest.approx(other[1:4], abs=1e-6)


@pytest.mark.slow
def test_intervals_cover() -> None:
    true = {"a": 0.7, "b": 0.0, "c": -0.7}
    count = total = 0
    for seed in range(400):
        for name, e in bradley_terry(drawn(1000 + seed, true, 0.0, cases=40)).methods.items():
            assert e.low is not None and e.high is not None
            count += e.low <= true[name] <= e.high
            total += 1
    assert 0.93 <= count / total <= 0.975, count / total
