"""Agreement reports: by hand, by the statistics they rest on, and equal live and from the store."""

from __future__ import annotations

import random

import numpy as np
import pytest

from annotation_ui.agreement.report import (
    Judgement,
    agreement_report,
    disagreements,
    jaccard,
    judgement_table,
    set_of,
)
from annotation_ui.tasks.generated_scripts import CompareScripts, RateScript
from annotation_ui.tasks.script_questions import FilterQuestion
from curation.stats.agreement import alpha
from curation.stats.bootstrap import Resampling
from curation.stats.correlation import ceiling, mean_correlation, spearman_brown
from curation.stats.rating_table import rating_table
from schemas.raters import Rater

FEW = Resampling(100)
by = Rater.person


def made(people: int = 3, items: int = 60, noise: float = 1.0, seed: int = 0) -> list[Judgement]:
    rng = random.Random(seed)
    out = []
    for n in range(items):
        truth = rng.uniform(1.5, 6.5)
        for p in range(people):
            for aspect, shift in (("coherence", 0.0), ("completeness", 0.0)):
                value = min(7, max(1, round(truth + shift + rng.gauss(0, noise) + 0.7 * (p == 2))))
                out.append(
                    Judgement(
                        f"i{n}", f"c{n // 2}", by(f"p{p}"), aspect, value, f"2026-01-01T{n // 60:02}:{n % 60:02}", 9
                    )
                )
    return out


def test_the_report_holds_what_the_statistics_say() -> None:
    marks, task = made(), RateScript()
    report = agreement_report(marks, task, resampling=FEW)
    assert [a.aspect for a in report.aspects] == ["coherence", "completeness"]
    assert (report.items, report.cases, report.people) == (60, 30, ("p0", "p1", "p2"))
    first = report.aspects[0]
    assert first.agreement.alpha == alpha(
        judgement_table(sorted(marks), task, "coherence"), level="ordinal", resampling=FEW
    )
    assert len(first.pairs) == 3 and all(p.spearman.defined and p.kendall.defined for p in first.pairs)
    assert first.severity["p2"].value is not None and first.severity["p2"].value > 0.3
    assert first.published == 0.35
    assert report.seconds == {"p0": 9, "p1": 9, "p2": 9}
    assert report.pooled is not None and "pooled" in report.pooled.name


def test_one_rater_and_no_overlap_are_undefined_with_a_reason() -> None:
    one = [m for m in made() if m.name == "p0"]
    report = agreement_report(one, RateScript(), resampling=FEW)
    assert "undefined" in report.aspects[0].agreement.alpha.text()
    assert report.aspects[0].ceiling.reason == "there is one rater"
    judgements = [m for m in made(2) if (int(m.item[1:]) % 2) == int(m.name[1])]
    report = agreement_report(judgements, RateScript(), resampling=FEW)
    assert not report.aspects[0].agreement.alpha.defined
    assert not report.aspects[0].pairs[0].spearman.defined


def test_a_judge_with_an_offset_keeps_its_rank_correlation_and_shows_the_difference() -> None:
    marks = [m for m in made(noise=0.2) if m.aspect == "coherence" and m.name != "p2"]
    judge = [m._replace(rater=Rater.judge("x"), value=max(1, int(m.value) - 1)) for m in marks if m.name == "p0"]
    report = agreement_report([*marks, *judge], RateScript(), resampling=FEW)
    (pair,) = report.aspects[0].judges
    assert report.people == ("p0", "p1")
    assert (pair.spearman.value or 0) > 0.9
    assert pair.difference is not None and (pair.difference.value or 0) < -0.7


def test_drift_finds_who_grows_kinder() -> None:
    marks = []
    for n in range(60):
        marks += [Judgement(f"i{n}", f"c{n}", by("p0"), "coherence", 4, f"t{n:03}")]
        marks += [Judgement(f"i{n}", f"c{n}", by("p1"), "coherence", 2 + n // 15, f"t{n:03}")]
    report = agreement_report(marks, RateScript(), resampling=FEW).aspects[0].drift
    assert (report["p1"].value or 0) > 0.9
    assert (report["p0"].value or 0) < -0.9


def test_yes_and_no_are_nominal() -> None:
    marks = [
        Judgement(f"i{n}", f"c{n}", by(p), "guides", "yes" if n % 3 or p == "b" else "no")
        for n in range(30)
        for p in "ab"
    ]
    report = agreement_report(marks, FilterQuestion(), resampling=FEW)
    assert report.aspects[0].agreement.level == "nominal"
    assert report.aspects[0].agreement.exact.value == pytest.approx(20 / 30)
    assert report.aspects[0].severity == {}
    (pair,) = report.aspects[0].pairs
    assert pair.spearman.text() == "undefined, because b answered yes to all 30 items in common" == pair.kendall.text()


def test_answers_without_an_order_have_no_rank_correlation() -> None:
    choices = ("first", "second", "tie", "cannot_judge")
    marks = [
        Judgement(f"i{n}", f"c{n}", by(p), "coherence", choices[(n * k) % 4])
        for n in range(30)
        for k, p in enumerate("ab", 1)
    ]
    (pair,) = agreement_report(marks, CompareScripts(), resampling=FEW).aspects[0].pairs
    assert pair.spearman.reason == pair.kendall.reason == "the answers have no order"
    assert pair.exact.defined


def test_disagreements_come_widest_first_and_unanimous_ones_not_at_all() -> None:
    marks = [
        Judgement("same", "c", by(p), "coherence", 5) for p in "ab"
    ] + [Judgement("wide", "c", by("a"), "coherence", 1), Judgement("wide", "c", by("b"), "coherence", 7)]  # fmt: skip
    marks += [Judgement("near", "c", by("a"), "coherence", 3), Judgement("near", "c", by("b"), "coherence", 4)]
    disagreement = disagreements(marks, RateScript())
    assert [(d.item, round(d.spread, 3)) for d in disagreement] == [("wide", 1.0), ("near", 0.167)]
    assert disagreement[0].said == {"a": {"coherence": 1}, "b": {"coherence": 7}}


def test_ceiling_is_the_root_of_spearman_brown_and_met_by_simulation() -> None:
    assert spearman_brown(0.5, 3) == pytest.approx(0.75)
    rng = np.random.default_rng(0)
    truth = rng.normal(size=4000)
    ratings = truth[:, None] + rng.normal(size=(4000, 3))  # r = .5
    rows = [(str(u), str(r), float(v)) for u, row in enumerate(ratings) for r, v in enumerate(row)]
    table_ = rating_table(rows)
    estimate = ceiling(table_, resampling=Resampling(0))
    reached = float(np.corrcoef(truth, ratings.mean(axis=1))[0, 1])
    assert estimate.value == pytest.approx(reached, abs=0.01)
    assert mean_correlation(ratings) == pytest.approx(0.5, abs=0.03)


def test_equal_answers_are_said_of_the_items_that_they_are_of() -> None:
    """ann's one no is on an item of hers alone: the page shows it, so nobody is told that all her answers are equal."""
    rows = [("ann", n, "no" if n == 0 else "yes") for n in range(8)] + [("bob", n, "yes") for n in range(1, 8)]
    judgements = [Judgement(f"i{n}", f"c{n}", by(who), "guides", value) for who, n, value in rows]
    (aspect,) = agreement_report(judgements, FilterQuestion(), resampling=FEW).aspects
    assert "items with two raters" in aspect.agreement.alpha.text()
    assert "ann answered yes to all 7 items in common" in aspect.pairs[0].spearman.text()


def tagged(item: str, person: str, tags: str, case: str = "") -> Judgement:
    return Judgement(item, case or item, Rater.person(person), "tags", tags)


def test_the_mean_over_cases_of_the_mean_over_items_and_pairs() -> None:
    judgements = [
        tagged("a", "ann", "time, place"),
        tagged("a", "bo", "time"),
        tagged("a", "cem", ""),
        tagged("b", "ann", "cause", case="a"),
        tagged("b", "bo", "cause", case="a"),
        tagged("c", "ann", "cause"),
        tagged("c", "bo", "place"),
    ]
    estimate = jaccard(judgements)
    assert estimate.value == pytest.approx((((0.5 + 0 + 0) / 3 + 1) / 2 + 0) / 2)
    assert (estimate.n, estimate.cases) == (3, 2)


def test_items_where_nobody_chose_anything_say_nothing() -> None:
    empty = [tagged("a", "ann", ""), tagged("a", "bo", "")]
    assert jaccard(empty).value is None and jaccard([]).value is None
    assert jaccard([tagged("a", "ann", "time")]).value is None, "one person agrees with nobody"
    assert jaccard([*empty, tagged("b", "ann", "time"), tagged("b", "bo", "place")]).value == 0.0


def test_one_document_has_no_interval() -> None:
    same = [tagged(item, who, "time", case="d") for item in "ab" for who in ("ann", "bo")]
    estimate = jaccard(same)
    assert (estimate.value, estimate.low, estimate.cases) == (1.0, None, 1)
    assert set_of("time, place") == {"time", "place"}
