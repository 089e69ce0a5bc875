from __future__ import annotations

from evaluation.analysis.correlations import correlate
from evaluation.report.correlation_heatmap import heat_map
from tests.support.report.correlated_metrics import HOW, values


def test_heat_map_has_every_pair_and_says_it_in_words():
    picture = heat_map(correlate(values(within=0.9), "pooled", resampling=HOW))
    assert len(picture.squares) == 9 and len(picture.tree) == 2
    assert sum(s.text == "1" for s in picture.squares) == 3
    strong = [s for s in picture.squares if "A and B" in s.description or "B and A" in s.description]
    assert all(s.shade >= 2 and s.kept and "rho 0." in s.description for s in strong)
    assert heat_map(correlate({"A": values()["A"]}, "pooled", resampling=HOW)) is None
