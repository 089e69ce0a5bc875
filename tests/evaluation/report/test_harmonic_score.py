from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from curation.stats.bounded import clustered_interval
from curation.stats.estimates import harmonic_mean
from evaluation.report.harmonic_score import harmonic_ends, harmonic_scores
from evaluation.report.sections import make_sections
from evaluation.runs.results import load_run
from schemas.answers import CaseScores, ItemScore
from tests.support.report.read_report import finished


@pytest.mark.parametrize(
    ("values", "mean"),
    [([1.0, 1.0, 1.0], 1.0), ([1.0, 0.5, 0.5], 0.6), ([0.9, 0.0, 1.0], 0.0), ([], 0.0), ([0.3], 0.3)],
)
def test_the_harmonic_mean_is_near_zero_as_soon_as_one_is(values: list[float], mean: float) -> None:
    assert harmonic_mean(values) == pytest.approx(mean)


def test_scores_are_of_the_rates_in_the_table(tmp_path: Path) -> None:
    ((part,), _) = make_sections([load_run(finished(tmp_path))], None, None)
    scores = harmonic_scores(part.tables[0], part.metrics, part.scores)
    by_name = {(s.label, s.name): s.value for s in scores}
    row = next(r for r in part.tables[0].rows if r.label == "push")
    rates = [row.summaries[m].mean for m in ("es", "ps", "ns")]
    assert by_name["push", "S (ES, PS, NS)"] == pytest.approx(3 / sum(1 / r for r in rates if r) if all(rates) else 0.0)
    assert harmonic_scores(part.tables[0], [m for m in part.metrics if m.name == "es"], part.scores) == []
    for score in scores:
        assert score.ends is not None and 0 <= score.ends[0] <= (score.value or 0.0) <= score.ends[1] <= 1


def scored(*values: float) -> list[CaseScores]:
    items = [ItemScore(probe="p", item="i", value=float(v)) for v in values]
    return [CaseScores(case=str(n), metric="es", items=(item,)) for n, item in enumerate(items)]


def test_ends_by_hand() -> None:
    """One rate: its own exact interval; two: those of 97.5 %, joined."""
    three = scored(1.0, 1.0, 0.0)
    assert harmonic_ends([three]) == pytest.approx(clustered_interval([1.0, 1.0, 0.0], ["a", "b", "c"]).ends)
    low, high = 0.0125, 1 - 0.0125
    exact = float(stats.beta.ppf(low, 12, 1))
    assert harmonic_ends([scored(*[1.0] * 12)] * 2) == pytest.approx((exact, 1.0))
    none = harmonic_ends([scored(*[1.0] * 12), scored(*[0.0] * 12)])
    assert none == pytest.approx((0.0, harmonic_mean([1.0, float(stats.beta.ppf(high, 1, 12))])))
    assert harmonic_ends([three, scored(1.0)]) is None
    assert harmonic_ends([]) is None


@pytest.mark.slow
@pytest.mark.parametrize("cases", [6, 20])
def test_the_interval_holds_the_truth(cases: int) -> None:
    """Rates that depend on each other (the same cases fail) and such that do not."""
    rng, truth = np.random.default_rng(cases), harmonic_mean([0.9, 0.7, 0.5])
    for joint in (True, False):
        count = 0
        for _ in range(400):
            uniforms = rng.random((1 if joint else 3, cases)).repeat(3 if joint else 1, axis=0)
            ends = harmonic_ends([scored(*(row < rate)) for row, rate in zip(uniforms, (0.9, 0.7, 0.5), strict=True)])
            assert ends is not None
            count += ends[0] <= truth <= ends[1]
        assert count >= 0.94 * 400


def test_a_score_that_no_method_has_is_left_out(tmp_path: Path) -> None:
    """A split without neighbours: S has no value anywhere, and no column of dashes."""
    ((part,), _) = make_sections([load_run(finished(tmp_path))], None, None)
    table = part.tables[0]
    rows = [r._replace(summaries=r.summaries | {"ns": r.summaries["ns"]._replace(mean=None)}) for r in table.rows]
    labels = {s.name for s in harmonic_scores(table, part.metrics, part.scores)}
    names = {s.name for s in harmonic_scores(table._replace(rows=tuple(rows)), part.metrics, part.scores)}
    assert labels - names == {"S (ES, PS, NS)"}
    some = [*rows[:-1], table.rows[-1]]
    scores = harmonic_scores(table._replace(rows=tuple(some)), part.metrics, part.scores)
    assert [s.value is None for s in scores if s.name == "S (ES, PS, NS)"] == [*(True for _ in rows[:-1]), False]
