"""Families of paired comparisons: right numbers, right correction, false alarms held down, real differences found."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from curation.stats.bounded import SHARE, PairedItem
from curation.stats.intervals import TWO_WAY
from curation.stats.paired import holm, smallest_detectable
from evaluation.analysis.pairwise_tests import comparison_families


def drawn(rng: np.random.Generator, cases: int, shifts: dict[str, float]) -> dict[str, dict[str, float]]:
    """Methods that share each case's difficulty."""
    hard = rng.normal(size=cases)
    return {m: {f"c{k}": float(hard[k] + s + 0.5 * rng.normal()) for k in range(cases)} for m, s in shifts.items()}


def test_numbers_are_those_of_the_pairs():
    values = drawn(np.random.default_rng(1), 30, {"none": 0.0, "a": 0.3, "b": 1.0, "c": 0.3})
    among, against = comparison_families("S-ES", values, baseline="none")
    assert [(c.first, c.second) for c in among.contests] == list(itertools.combinations("abc", 2))
    assert [(c.first, c.second) for c in against.contests] == [("a", "none"), ("b", "none"), ("c", "none")]
    for c in among.contests:
        gaps = np.array([values[c.first][k] - values[c.second][k] for k in values["none"]])
        assert c.difference == pytest.approx(gaps.mean())
        assert (c.wins, c.ties, c.losses) == ((gaps > 0).sum(), 0, (gaps < 0).sum())
        assert c.p == pytest.approx(stats.ttest_1samp(gaps, 0).pvalue, abs=0.02)
    corrected = holm({f"{c.first}{c.second}": c.p for c in among.contests})
    assert [c.p_holm for c in among.contests] == list(corrected.values())


def test_lower_is_better_turns_wins_and_verdict_not_the_difference():
    values = {"a": {f"c{k}": 0.1 for k in range(12)}, "b": {f"c{k}": 0.5 for k in range(12)}}
    (up,) = comparison_families("x", values, baseline=None)
    (down,) = comparison_families("x", values, baseline=None, higher=False)
    assert up.contests[0].difference == down.contests[0].difference == pytest.approx(-0.4)
    assert (up.contests[0].verdict, up.contests[0].wins, up.contests[0].losses) == ("second", 0, 12)
    assert (down.contests[0].verdict, down.contests[0].wins, down.contests[0].losses) == ("first", 12, 0)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 0.0}, "equal"),
        ({"a": 1.0}, {"b": 1.0}, "undefined"),
        ({"a": 1.0, "b": 1.0}, {"a": 0.0, "b": 0.0}, "undecided"),
    ],
)
def test_what_cannot_be_decided_is_not(first, second, verdict):
    (family,) = comparison_families("x", {"m": first, "n": second}, baseline=None)
    assert family.contests[0].verdict == verdict


def test_cases_of_one_method_only_are_counted_and_left_out():
    (family,) = comparison_families("x", {"m": {"a": 1.0, "b": 1.0, "c": 0.0}, "n": {"a": 0.0}}, baseline=None)
    assert (family.contests[0].cases, family.contests[0].only_one) == (1, 2)


def test_error_of_the_family_is_held_and_power_is_as_promised():
    """With no difference anywhere 5 % of families may decide something; the detectable one is found in some 80 %."""
    rng = np.random.default_rng(7)
    false = sum(
        any(
            c.verdict in ("first", "second")
            for c in comparison_families("x", drawn(rng, 25, dict.fromkeys("abc", 0.0)), baseline=None)[0].contests
        )
        for _ in range(60)
    )
    assert false <= 8, "3 expected of 60; more than 8 has a chance below 1 %"
    effect = smallest_detectable(sd=0.5 * 2**0.5, n=25)
    found = sum(
        comparison_families("x", drawn(rng, 25, {"a": effect, "b": 0.0}), baseline=None)[0].contests[0].verdict
        == "first"
        for _ in range(40)
    )
    assert 24 <= found <= 39, "32 expected of 40"


def test_detectable_is_that_of_the_familys_hardest_step():
    values = drawn(np.random.default_rng(5), 30, dict.fromkeys("abc", 0.0))
    (family,) = comparison_families("x", values, baseline=None)
    for c in family.contests:
        gaps = np.array([values[c.first][k] - values[c.second][k] for k in values["a"]])
        assert c.detectable == pytest.approx(smallest_detectable(sd=gaps.std(ddof=1), n=30, family=3))


def test_enough_draws_for_the_corrected_level():
    values = drawn(np.random.default_rng(2), 40, {m: float(n) for n, m in enumerate("abcdefgh")})
    (family,) = comparison_families("x", values, baseline=None)
    assert len(family.contests) == 28
    assert family.draws * 0.05 / 28 >= 10
    assert all(c.verdict == "second" for c in family.contests), "28 comparisons with large differences all decide"


def test_what_no_outcome_could_decide_is_said() -> None:
    """Six wins of six give p = 2/64; corrected for three comparisons that is above 0.05 whatever happens."""
    values = {m: {f"c{k}": float(m == "a") for k in range(6)} for m in "abc"}
    (family,) = comparison_families("x", values, baseline=None, scale=(0.0, 1.0))
    assert all(c.never and c.detectable is None for c in family.contests)
    assert {c.verdict for c in family.contests} == {"undecided", "equal"}
    (two,) = comparison_families("x", {m: values[m] for m in "ab"}, baseline=None, scale=(0.0, 1.0))
    assert not two.contests[0].never and two.contests[0].verdict == "first"


def test_agreement_everywhere_is_no_certainty() -> None:
    values = {m: {f"c{k}": 7.0 for k in range(9)} for m in "ab"}
    (family,) = comparison_families("Coh.", values, baseline=None, scale=(1.0, 7.0))
    (found,) = family.contests
    assert (found.verdict, found.p, found.skewness, found.detectable) == ("equal", 1.0, None, None)
    assert found.high == -found.low == pytest.approx(6 * (1 - 0.025 ** (1 / 9)))
    assert not family.share and comparison_families("ES", values, baseline=None, scale=(0.0, 1.0))[0].share


def test_skewed_differences_need_the_studentised_test_too() -> None:
    """Many small gains and three large losses, mean near zero: signs alone are no test of the mean."""
    first = {f"c{k}": (0.3 if k < 37 else -3.2) for k in range(40)}
    second = dict.fromkeys(first, 0.0)
    (found,) = comparison_families("x", {"a": first, "b": second}, baseline=None)[0].contests
    assert found.test == "sign-flip and studentised" and found.skewness < -1
    assert found.studentised is not None and found.p_holm == max(found.p, found.studentised)
    (even,) = comparison_families("x", drawn(np.random.default_rng(1), 30, {"a": 0, "b": 0}), baseline=None)[0].contests
    assert (even.test, even.studentised) == ("sign-flip", None)


def test_rare_large_losses_that_were_not_drawn_are_allowed_for() -> None:
    """Twenty cases that gain 0.05 each: on a scale from 0 to 1 one loss of 0.95 in twenty undoes them."""
    first = {f"c{k}": 1.0 for k in range(20)}
    second = dict.fromkeys(first, 0.95)
    (found,) = comparison_families("ES", {"a": first, "b": second}, baseline=None, scale=SHARE)[0].contests
    assert found.p < 1e-3 and found.interval_p > 0.3 and found.p_holm == found.interval_p
    assert (found.verdict, found.test) == ("undecided", "sign-flip and interval") and found.low < 0 < found.high


def test_a_decided_comparison_has_an_interval_without_zero() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        hits = {m: {str(k): float(rng.binomial(5, p) / 5) for k in range(15)} for m, p in (("a", 0.85), ("b", 0.4))}
        (found,) = comparison_families("ES", hits, baseline=None, scale=SHARE)[0].contests
        outside = found.low > 1e-9 or found.high < -1e-9
        assert (found.interval_p < 0.05) == outside
        assert found.verdict == ("first" if outside and found.p < 0.05 else "undecided")
        assert found.p_holm == max(found.p, found.interval_p)


def test_detectable_is_no_smaller_than_what_the_interval_excludes() -> None:
    """Differences that hardly vary: a t test alone would promise to see hundredths in twelve cases of a share."""
    first = {str(k): 0.5 + 0.001 * (k % 2) for k in range(12)}
    second = dict.fromkeys(first, 0.5)
    (bounded,) = comparison_families("ES", {"a": first, "b": second}, baseline=None, scale=SHARE)[0].contests
    (free,) = comparison_families("GE", {"a": first, "b": second}, baseline=None)[0].contests
    assert free.detectable < 0.01 and bounded.detectable > bounded.difference - bounded.low > 0.05


def test_recurring_neighbours_decide_two_way() -> None:
    """Forty cases share two neighbours, one of which is lost: by case it is 40 of 40, of neighbours 1 of 2."""
    cases = [f"c{k}" for k in range(40)]
    values = {"a": dict.fromkeys(cases, 0.5), "b": dict.fromkeys(cases, 0.0)}
    items = [PairedItem(c, n, float(n == "x"), 0.0) for c in cases for n in "xy"]
    (found,) = comparison_families("S-NS", values, baseline=None, scale=SHARE, items=lambda *_: items)[0].contests
    assert (
        found.test == "two-way t and interval"
        and found.verdict == "undecided"
        and found.low < 0
        and found.kind == TWO_WAY
    )
    (naive,) = comparison_families("S-NS", values, baseline=None, scale=SHARE)[0].contests
    assert naive.verdict == "first" and naive.p < 1e-3
    same = [PairedItem(c, n, 1.0, 0.0) for c in cases for n in "xy"]
    (flat,) = comparison_families("S-NS", values, baseline=None, scale=SHARE, items=lambda *_: same)[0].contests
    assert flat.p == 0.5, "two neighbours that agree are two units that agree"


def test_null_methods_are_compared_with_no_edit_only() -> None:
    values = drawn(np.random.default_rng(3), 12, {"none": 0.0, "boost": 1.0, "a": 0.0, "b": 0.0})
    among, against = comparison_families("x", values, baseline="none", null_methods=["none", "boost"])
    assert [(c.first, c.second) for c in among.contests] == [("a", "b")]
    assert [c.first for c in against.contests] == ["boost", "a", "b"]


def test_a_question_about_one_method_is_a_family_of_the_others_only() -> None:
    """Six wins of six decide among three comparisons, and never among ten."""
    values = {"none": {str(n): 0.0 for n in range(8)}}
    values |= {label: {str(n): float(k) + n / 100 for n in range(8)} for k, label in enumerate("abcd", 1)}
    whole = comparison_families("x", values, baseline="none")[0]
    one, against = comparison_families("x", values, baseline="none", against="c")
    assert [(c.first, c.second) for c in one.contests] == [("c", "a"), ("c", "b"), ("c", "d")]
    assert len(whole.contests) == 6 and len(against.contests) == 4
    pair = next(c for c in whole.contests if (c.first, c.second) == ("a", "c"))
    mine = one.contests[0]
    assert (mine.difference, mine.p) == (-pair.difference, pair.p) and mine.p_holm < pair.p_holm
    assert comparison_families("x", values, baseline="none", against="nobody")[0] == whole
