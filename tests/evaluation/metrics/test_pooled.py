"""Metrics pooled over questions: values, intervals and differences by case; each against a plain, slow version."""

from __future__ import annotations

import numpy as np
import pytest

from curation.stats.bootstrap import Resampling, draw_counts
from curation.stats.intervals import NO_SPREAD
from evaluation.metrics.pooled import (
    POOLED,
    POOLED_STUDENT,
    RATIO,
    PooledMean,
    PooledPerplexity,
    common_questions,
    contributions,
    exponential,
    pooled_difference,
    pooled_interval,
)
from schemas.answers import CaseScores, ItemScore


class Right(PooledMean):
    """A metric by that name."""

    name = "right"


def scored(case: str, *values: float | None) -> CaseScores:
    items = tuple(ItemScore(probe=f"{case}/{n}", item="i", value=v) for n, v in enumerate(values))
    return CaseScores(case=case, metric="right", items=items)


def table(**cases: tuple[float | None, ...]) -> dict[str, CaseScores]:
    return {case: scored(case, *values) for case, values in cases.items()}


ONE = table(a=(1, 1, 1, 0), b=(0,), c=(1, None), d=(), e=(None,), g=(1, 0), h=(0, 0))


def slow_draws(rows: list[list[tuple[float, ...]]], resampling: Resampling) -> np.ndarray:
    """Ratios of whole cases put together again, question by question: rows are cases of questions' values."""
    out = []
    for counts in np.concatenate(list(draw_counts(len(rows), resampling))):
        questions = [q for row, count in zip(rows, counts, strict=True) for _ in range(int(count)) for q in row]
        out.append(np.mean(questions, axis=0))
    return np.array(out)


def test_every_question_counts_once_and_cases_without_one_are_in_no_mean() -> None:
    value = Right().summarise(list(ONE.values()))
    assert (value.mean, value.items, value.cases, value.unscored) == (5 / 10, 10, 5, 2)
    assert (value.level, value.kind) == ("question", POOLED)
    none = Right().summarise([scored("d"), scored("e", None)])
    assert (none.mean, none.half, none.cases, none.items, none.unscored) == (None, None, 0, 0, 1)
    assert Right().summarise([]).mean is None


def test_the_interval_has_the_variance_of_cases_drawn_anew() -> None:
    resampling = Resampling(300, seed=5)
    draws = slow_draws([[(1,), (1,), (1,), (0,)], [(0,)], [(1,)], [(1,), (0,)], [(0,), (0,)]], resampling)[:, 0]
    fast = pooled_interval([(3, 4), (0, 1), (1, 1), (1, 2), (0, 2)], resampling=resampling)
    assert fast.half == pytest.approx(1.96 * np.sqrt(draws.var() * 5 / 4), rel=1e-9)
    assert fast.ends is not None and 0 < fast.ends[0] < 0.5 < fast.ends[1] <= 1


@pytest.mark.parametrize(
    ("sums", "mean", "low"),
    [([(3.0, 3.0)] * 12, 1.0, 0.735), ([(2.0, 2.0), (5.0, 5.0), (1.0, 1.0)] * 2, 1.0, 0.541)],
    ids=["twelve", "six"],
)
def test_cases_that_all_agree_have_the_exact_interval_of_as_many_cases(
    sums: list[tuple[float, float]], mean: float, low: float
) -> None:
    """Not of as many questions: those of one case may all stand or fall together."""
    interval = pooled_interval(sums)
    assert interval.mean == mean and interval.ends == (pytest.approx(low, abs=1e-3), 1.0)


def test_fewer_than_five_cases_have_no_interval_and_values_without_a_scale_have_students() -> None:
    assert pooled_interval([(1.0, 3.0)])[:4] == (1 / 3, None, 1, None)
    assert pooled_interval([(1.0, 2.0)] * 4)[:4] == (0.5, None, 4, None)
    spread = pooled_interval([(9.0, 3.0), (4.0, 2.0), (30.0, 6.0), (9.0, 3.0), (4.0, 2.0)], None)
    assert spread.kind == POOLED_STUDENT and spread.ends is not None and spread.ends[1] > 5
    assert pooled_interval([(6.0, 3.0), (4.0, 2.0)] * 3, None).kind == NO_SPREAD


TWO = table(a=(0, 1, 0, 0), b=(1,), c=(1, 1), d=(1,), f=(1,), g=(1, 1), h=(0, 1))


def test_a_difference_is_over_the_questions_that_both_scored() -> None:
    assert {k: tuple(v) for k, v in common_questions(ONE, TWO).items()} == {
        "a": (3, 1, 4),
        "b": (0, 1, 1),
        "c": (1, 1, 1),
        "g": (1, 2, 2),
        "h": (0, 1, 2),
    }
    resampling = Resampling(300, seed=2)
    interval = pooled_difference(ONE, TWO, resampling=resampling)
    rows = [[(1, 0), (1, 1), (1, 0), (0, 0)], [(0, 1)], [(1, 1)], [(1, 1), (0, 1)], [(0, 0), (0, 1)]]
    draws = slow_draws(rows, resampling)
    assert interval.mean == pytest.approx((5 - 6) / 10) and interval.n == 5
    assert interval.half == pytest.approx(1.96 * np.sqrt((draws[:, 0] - draws[:, 1]).var() * 5 / 4), rel=1e-9)
    back = pooled_difference(TWO, ONE, resampling=resampling)
    assert (
        interval.low is not None
        and interval.low == pytest.approx(-back.high)
        and interval.high == pytest.approx(-back.low)
    )  # type: ignore[operator]
    assert pooled_difference(ONE, {}).mean is None and pooled_difference(ONE, table(a=(1,))).n == 1


def test_a_question_that_all_cases_differ_in_excludes_no_difference_and_equal_sides_do_not() -> None:
    many = {f"k{n}": scored(f"k{n}", 1, 1) for n in range(12)}
    none = {f"k{n}": scored(f"k{n}", 0, 0) for n in range(12)}
    interval, same = pooled_difference(many, none), pooled_difference(many, many)
    assert interval.low is not None and interval.low > 0.4 and interval.high == 1.0
    assert same.mean == 0 and same.low is not None and same.low < 0 < (same.high or 0)


def test_contributions_have_the_pooled_value_as_their_plain_mean() -> None:
    shares = contributions({"one": ONE, "two": TWO, "nothing": table(a=(None,))})
    assert set(shares) == {"one", "two"} and set(shares["one"]) == set(shares["two"]) == set("abcgh")
    assert np.mean(list(shares["one"].values())) == pytest.approx(5 / 10)
    assert np.mean(list(shares["two"].values())) == pytest.approx(6 / 10)
    gap = [shares["one"][k] - shares["two"][k] for k in "abcgh"]
    assert np.mean(gap) == pytest.approx(pooled_difference(ONE, TWO).mean or 0)
    assert contributions({}) == {}


def weighted(case: str, *items: tuple[float, float]) -> CaseScores:
    scores = [ItemScore(probe=f"{case}{n}", item=f"{case}{n}", value=v, weight=w) for n, (v, w) in enumerate(items)]
    return CaseScores(case=case, metric="m", items=tuple(scores))


NATS = {"a": weighted("a", (0.5, 4), (3.0, 1)), "b": weighted("b", (1.0, 2)), "c": weighted("c", (2.0, 1), (1.0, 2))}
NATS |= {"d": weighted("d", (1.5, 2)), "e": weighted("e", (0.5, 2))}


class Perplexity(PooledPerplexity):
    """Items as they are."""

    name = "perplexity"


def test_a_perplexity_is_pooled_over_tokens_and_its_interval_stands_on_the_log_scale() -> None:
    """(0.5·4 + 3 + 1·2 + 2 + 1·2 + 1.5·2 + 0.5·2) nats over 14 tokens."""
    value = Perplexity().summarise(list(NATS.values())).interval
    logs = pooled_interval([(5.0, 5.0), (2.0, 2.0), (4.0, 3.0), (3.0, 2.0), (1.0, 2.0)], None)
    assert value.mean == pytest.approx(np.exp(15 / 14)) and value.unit == "perplexity" and value.half is None
    assert value.ends == pytest.approx(tuple(np.exp(logs.ends)))  # type: ignore[arg-type]
    assert NATS["a"].mean == pytest.approx(1.0)


def test_two_perplexities_differ_by_their_ratio_on_the_same_tokens() -> None:
    halved = {k: weighted(k, *((i.value - np.log(2), i.weight) for i in s.items)) for k, s in NATS.items()}
    gap = exponential(pooled_difference(halved, NATS, None), RATIO)
    assert gap.mean == pytest.approx(0.5) and gap.unit == RATIO and gap.n == 5 and gap.ends is None
    mixed = {**halved, "c": NATS["c"]}
    gap = exponential(pooled_difference(mixed, NATS, None), RATIO)
    assert gap.mean == pytest.approx(np.exp(-np.log(2) * 11 / 14)) and gap.ends is not None
    assert gap.ends[0] < gap.mean < gap.ends[1]


def test_contributions_of_weighted_items_have_the_pooled_logarithm_as_their_plain_mean() -> None:
    shares = contributions({"x": NATS, "y": {"a": NATS["a"], "b": NATS["b"]}})
    assert np.mean(list(shares["x"].values())) == pytest.approx(7 / 7) and set(shares["y"]) == {"a", "b"}


def test_a_hopeless_perplexity_is_infinite_and_no_fault() -> None:
    summary = Perplexity().summarise([weighted("a", (800.0, 2)), weighted("b", (900.0, 2))])
    assert summary.mean == np.inf
