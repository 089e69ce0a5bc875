from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.report.harmonic_score import harmonic_mean, harmonic_scores
from evaluation.report.sections import make_sections
from evaluation.runs.results import load_run
from tests.support.report.read_report import finished


@pytest.mark.parametrize(
    ("values", "mean"),
    [([1.0, 1.0, 1.0], 1.0), ([1.0, 0.5, 0.5], 0.6), ([0.9, 0.0, 1.0], 0.0), ([], 0.0), ([0.3], 0.3)],
)
def test_the_harmonic_mean_is_near_zero_as_soon_as_one_is(values: list[float], mean: float) -> None:
    assert harmonic_mean(values) == pytest.approx(mean)


def test_scores_are_of_the_rates_in_the_table(tmp_path: Path) -> None:
    ((part,), _) = make_sections([load_run(finished(tmp_path))], None, None)
    found = {(s.label, s.name): s.value for s in harmonic_scores(part.tables[0], part.metrics)}
    row = next(r for r in part.tables[0].rows if r.label == "push")
    rates = [row.summaries[m].mean for m in ("es", "ps", "ns")]
    assert found["push", "S (ES, PS, NS)"] == pytest.approx(3 / sum(1 / r for r in rates if r) if all(rates) else 0.0)
    assert harmonic_scores(part.tables[0], [m for m in part.metrics if m.name == "es"]) == []
