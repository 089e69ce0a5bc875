"""Families of paired comparisons: right numbers, right correction, false alarms held down, real differences found."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from curation.stats.bootstrap import Resampling
from curation.stats.bounded import SHARE, PairedItem, difference_p
from curation.stats.intervals import TWO_WAY
from curation.stats.paired import holm, sign_flip, smallest_detectable
from evaluation.analysis.pairwise_tests import comparison_families

DRAWS = Resampling(2000)


def drawn(rng: np.random.Generator, cases: int, shifts: dict[str, float]) -> dict[str, dict[str, float]]:
    """Methods that share each case's difficulty."""
    hard = rng.normal(size=cases)
    return {m: {f"c{k}": float(hard[k] + s + 0.5 * rng.normal()) for k in range(cases)} for m, s in shifts.items()}


def test_numbers_are_those_of_the_pairs():
    values = drawn(np.random.default_rng(1), 30, {"none": 0.0, "a": 0.3, "b": 1.0, "c": 0.3})
    among, against = comparison_families("S-ES", values, baseline="none")
    assert [(c.first, c.second) for c in among.pairs] == list(itertools.combinations("abc", 2))
    assert [(c.first, c.second) for c in against.pairs] == [("a", "none"), ("b", "none"), ("c", "none")]
    for c in among.pairs:
        gaps = np.array([values[c.first][k] - values[c.second][k] for k in values["none"]])
        assert c.gap.mean == pytest.approx(gaps.mean())
        assert (c.wins, c.ties, c.losses) == ((gaps > 0).sum(), 0, (gaps < 0).sum())
        assert c.p == pytest.approx(stats.ttest_1samp(gaps, 0).pvalue, abs=0.03) and c.p <= c.p_holm
    p_values = holm({f"{c.first}{c.second}": c.p for c in among.pairs})
    assert [c.p_holm for c in among.pairs] == list(p_values.values())


def test_lower_is_better_turns_wins_and_verdict_not_the_difference():
    values = {"a": {f"c{k}": 0.1 for k in range(12)}, "b": {f"c{k}": 0.5 for k in range(12)}}
    (up,) = comparison_families("x", values, baseline=None)
    (down,) = comparison_families("x", values, baseline=None, higher=False)
    assert up.pairs[0].gap.mean == down.pairs[0].gap.mean == pytest.approx(-0.4)
    assert (up.pairs[0].verdict, up.pairs[0].wins, up.pairs[0].losses) == ("second", 0, 12)
    assert (down.pairs[0].verdict, down.pairs[0].wins, down.pairs[0].losses) == ("first", 12, 0)


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
    assert family.pairs[0].verdict == verdict


def test_cases_of_one_method_only_are_counted_and_left_out():
    (family,) = comparison_families("x", {"m": {"a": 1.0, "b": 1.0, "c": 0.0}, "n": {"a": 0.0}}, baseline=None)
    assert (family.pairs[0].gap.n, family.pairs[0].only_one) == (1, 2)


def test_error_of_the_family_is_held_and_power_is_as_promised():
    """With no difference anywhere 5 % of families may decide something; the detectable one is found in some 80 %."""
    rng = np.random.default_rng(7)
    false = sum(
        any(
            c.verdict in ("first", "second")
            for c in comparison_families("x", drawn(rng, 25, dict.fromkeys("abc", 0.0)), baseline=None)[0].pairs
        )
        for _ in range(60)
    )
    assert false <= 8, "3 expected of 60; more than 8 has a chance below 1 %"
    effect = smallest_detectable(sd=0.5 * 2**0.5, n=25)
    total = sum(
        comparison_families("x", drawn(rng, 25, {"a": effect, "b": 0.0}), baseline=None)[0].pairs[0].verdict == "first"
        for _ in range(40)
    )
    assert 24 <= total <= 39, "32 expected of 40"


def test_detectable_is_that_of_the_familys_hardest_step():
    values = drawn(np.random.default_rng(5), 30, dict.fromkeys("abc", 0.0))
    (family,) = comparison_families("x", values, baseline=None)
    for c in family.pairs:
        gaps = np.array([values[c.first][k] - values[c.second][k] for k in values["a"]])
        least = smallest_detectable(sd=gaps.std(ddof=1), n=30, family=3)
        assert least <= c.detectable < 1.3 * least, "and what the interval of skewed differences asks for"


@pytest.mark.slow
@pytest.mark.parametrize(("n", "methods"), [(6, 2), (12, 3), (40, 2)])
def test_what_is_called_detectable_is_found_in_four_of_five_samples(n, methods) -> None:
    """Values without a scale, normal differences: a t test alone would promise 61 % at six cases for 80."""
    rng, names = np.random.default_rng([n, methods]), "abc"[:methods]

    def pair(effect: float):
        """The pair of interest has the effect; the others fill the family."""
        values = drawn(rng, n, dict.fromkeys(names, 0.0) | {"a": effect})
        return next(iter(comparison_families("x", values, baseline=None)[0].pairs))

    seen = [one.detectable for one in (pair(1.0) for _ in range(60)) if one.detectable is not None]
    assert len(seen) == 60
    effect = float(np.sqrt(np.mean(np.square(seen))))  # what the true spread would give
    hits = sum(pair(effect).verdict == "first" for _ in range(300))
    assert hits >= 0.8 * 300 - 3 * (300 * 0.8 * 0.2) ** 0.5, (effect, hits)


def test_signs_that_decide_only_when_all_are_alike_need_a_larger_difference() -> None:
    values = drawn(np.random.default_rng(2), 6, {"a": 2.0, "b": 0.0})
    (pair,) = comparison_families("x", values, baseline=None, scale=(-9.0, 9.0))[0].pairs
    gaps = np.array([values["a"][k] - values["b"][k] for k in values["a"]])
    spread = gaps.std(ddof=1)
    assert stats.norm.cdf(pair.detectable / spread) ** 6 >= 0.8 - 1e-9
    assert pair.detectable > smallest_detectable(sd=spread, n=6)


def test_enough_draws_for_the_corrected_level():
    values = drawn(np.random.default_rng(2), 40, {m: float(n) for n, m in enumerate("abcdefgh")})
    (family,) = comparison_families("x", values, baseline=None)
    assert len(family.pairs) == 28
    assert family.draws * 0.05 / 28 >= 10
    assert all(c.verdict == "second" for c in family.pairs), "28 comparisons with large differences all decide"


def test_what_no_outcome_could_decide_is_said() -> None:
    """Six wins of six give p = 2/64; corrected for three comparisons that is above 0.05 whatever happens."""
    values = {m: {f"c{k}": float(m == "a") for k in range(6)} for m in "abc"}
    (family,) = comparison_families("x", values, baseline=None, scale=(0.0, 1.0))
    assert all(c.never and c.detectable is None for c in family.pairs)
    assert {c.verdict for c in family.pairs} == {"undecided", "equal"}
    (two,) = comparison_families("x", {m: values[m] for m in "ab"}, baseline=None, scale=(0.0, 1.0))
    assert not two.pairs[0].never and two.pairs[0].verdict == "first"


def test_agreement_everywhere_is_no_certainty() -> None:
    values = {m: {f"c{k}": 7.0 for k in range(9)} for m in "ab"}
    (family,) = comparison_families("Coh.", values, baseline=None, scale=(1.0, 7.0))
    (pair,) = family.pairs
    assert (pair.verdict, pair.p, pair.detectable) == ("equal", 1.0, None)
    assert pair.gap.high == -pair.gap.low == pytest.approx(6 * (1 - 0.025 ** (1 / 9)))


def test_differences_without_a_scale_need_their_interval_too() -> None:
    """Whatever they look like. Many small gains and three large losses, mean near zero: signs are no test of it."""
    first = {f"c{k}": (0.3 if k < 37 else -3.2) for k in range(40)}
    second = dict.fromkeys(first, 0.0)
    (pair,) = comparison_families("x", {"a": first, "b": second}, baseline=None)[0].pairs
    assert pair.test == "sign-flip and interval" and pair.p_holm == pair.p
    signs, other = sign_flip(np.array([*first.values()]), DRAWS), difference_p(first, second, scale=None)
    assert other is not None and pair.p == pytest.approx(max(signs, other), abs=0.03)
    (rate,) = comparison_families("ES", {"a": first, "b": second}, baseline=None, scale=(-4, 4))[0].pairs
    assert rate.test == "sign-flip and interval"
    (same,) = comparison_families("x", {"a": dict.fromkeys(first, 1.0), "b": second}, baseline=None)[0].pairs
    assert (same.test, same.verdict) == ("sign-flip", "first"), "forty equal differences: signs alone can say it"


def test_rare_large_losses_that_were_not_drawn_are_allowed_for() -> None:
    """Twenty cases that gain 0.05 each: on a scale from 0 to 1 one loss of 0.95 in twenty undoes them."""
    first = {f"c{k}": 1.0 for k in range(20)}
    second = dict.fromkeys(first, 0.95)
    (pair,) = comparison_families("ES", {"a": first, "b": second}, baseline=None, scale=SHARE)[0].pairs
    assert sign_flip(np.full(20, 0.05), DRAWS) < 1e-3 and pair.p_holm == pair.p > 0.3
    assert (pair.verdict, pair.test) == (
        "undecided",
        "sign-flip and interval",
    ) and pair.gap.low < 0 < pair.gap.high


def test_a_decided_comparison_has_an_interval_without_zero() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        hits = {m: {str(k): float(rng.binomial(5, p) / 5) for k in range(15)} for m, p in (("a", 0.85), ("b", 0.4))}
        (pair,) = comparison_families("ES", hits, baseline=None, scale=SHARE)[0].pairs
        excludes_zero = pair.gap.low > 1e-9 or pair.gap.high < -1e-9
        assert pair.p >= 0.05 or excludes_zero
        assert pair.verdict == ("first" if pair.p < 0.05 else "undecided")
        assert pair.p_holm == pair.p


def test_detectable_is_no_smaller_than_what_the_interval_excludes() -> None:
    """Differences that hardly vary: a t test alone would promise to see hundredths in twelve cases of a share."""
    first = {str(k): 0.5 + 0.001 * (k % 2) for k in range(12)}
    second = dict.fromkeys(first, 0.5)
    (pair,) = comparison_families("ES", {"a": first, "b": second}, baseline=None, scale=SHARE)[0].pairs
    (free,) = comparison_families("GE", {"a": first, "b": second}, baseline=None)[0].pairs
    assert free.detectable < 0.01 and pair.detectable > pair.gap.mean - pair.gap.low > 0.05


def test_recurring_neighbours_decide_two_way() -> None:
    """Forty cases share two neighbours, one of which is lost: by case it is 40 of 40, of neighbours 1 of 2."""
    cases = [f"c{k}" for k in range(40)]
    values = {"a": dict.fromkeys(cases, 0.5), "b": dict.fromkeys(cases, 0.0)}
    items = [PairedItem(c, n, float(n == "x"), 0.0) for c in cases for n in "xy"]
    (pair,) = comparison_families("S-NS", values, baseline=None, scale=SHARE, items=lambda *_: items)[0].pairs
    assert (
        pair.test == "two-way t and interval"
        and pair.verdict == "undecided"
        and pair.gap.low < 0
        and pair.gap.kind == TWO_WAY
    )
    (naive,) = comparison_families("S-NS", values, baseline=None, scale=SHARE)[0].pairs
    assert naive.verdict == "first" and naive.p < 1e-3
    same = [PairedItem(c, n, 1.0, 0.0) for c in cases for n in "xy"]
    (flat,) = comparison_families("S-NS", values, baseline=None, scale=SHARE, items=lambda *_: same)[0].pairs
    assert flat.p >= 0.5, "two neighbours that agree are two units that agree"


def test_a_control_method_makes_no_question_about_a_method_harder_to_decide() -> None:
    """Seven wins of seven have p 1/64: below 0.05 for three methods, not for three and a control."""
    values = {label: {f"c{k}": float(label != "none") for k in range(7)} for label in ("none", "boost", "a", "b", "c")}
    families = comparison_families("x", values, baseline="none", scale=SHARE, control_methods=["none", "boost"])
    against = next(f for f in families if f.kind == "against")
    assert {c.verdict for c in against.pairs} == {"first"} and not any(c.never for c in against.pairs)
    together = next(f for f in comparison_families("x", values, baseline="none", scale=SHARE) if f.kind == "against")
    assert {c.verdict for c in together.pairs} == {"undecided"} and all(c.never for c in together.pairs)


@pytest.mark.parametrize(("neighbours", "never"), [(2, True), (3, True), (4, False), (6, False)])
def test_few_neighbours_that_recur_could_never_decide_however_many_cases(neighbours: int, never: bool) -> None:
    """The interval allows for neighbours that were not drawn: two or three of them never exclude 0."""
    rng = np.random.default_rng(5)
    items = [PairedItem(f"c{k}", f"n{k % neighbours}", 1.0 - 0.1 * rng.random(), 0.0) for k in range(20)]
    first = {i.case: i.first for i in items}
    values = {"a": first, "b": dict.fromkeys(first, 0.0)}
    (pair,) = comparison_families("S-NS", values, baseline=None, scale=SHARE, items=lambda *_: items)[0].pairs
    assert pair.test == "two-way t and interval" and pair.never is never
    assert (pair.verdict == "undecided") is never and (pair.detectable is None) is never


def test_no_more_than_the_whole_scale_is_called_detectable() -> None:
    """Six cases of yes or no: "detectable: 135 percentage points" is more than any two methods can differ."""
    rng = np.random.default_rng(1)
    for n, width in ((6, 1.0), (8, 1.0), (7, 6.0)):
        for _ in range(20):
            values = {m: {str(k): width * float(rng.random() < 0.5) for k in range(n)} for m in "ab"}
            (family,) = comparison_families("x", values, baseline=None, scale=(0.0, width))
            (pair,) = family.pairs
            assert pair.detectable is None or 0 < pair.detectable <= width


def test_a_question_about_one_method_is_a_family_of_the_others_only() -> None:
    """Six wins of six decide among three comparisons, and never among ten."""
    values = {"none": {str(n): 0.0 for n in range(8)}}
    values |= {label: {str(n): float(k) + n / 100 for n in range(8)} for k, label in enumerate("abcd", 1)}
    family = comparison_families("x", values, baseline="none")[0]
    one, against = comparison_families("x", values, baseline="none", against="c")
    assert [(c.first, c.second) for c in one.pairs] == [("c", "a"), ("c", "b"), ("c", "d")]
    assert len(family.pairs) == 6
    assert [(c.first, c.second) for c in against.pairs] == [("c", "none")]
    among_all = next(c for c in family.pairs if (c.first, c.second) == ("a", "c"))
    pair = one.pairs[0]
    assert (pair.gap.mean, pair.p) == (-among_all.gap.mean, among_all.p) and pair.p_holm < among_all.p_holm
    assert comparison_families("x", values, baseline="none", against="nobody")[0] == family
