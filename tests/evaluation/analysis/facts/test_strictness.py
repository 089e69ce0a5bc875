"""Strictness by hand: a looser criterion never holds at fewer prompts than a stricter one of its kind."""

from __future__ import annotations

from pathlib import Path

from evaluation.analysis.strictness import CRITERIA, THRESHOLDS, strictness_parts, unmoved_prompts
from evaluation.analysis.tables import FigureTable, Plot
from tests.support.report.texts_run import finished


def test_curves_fall_and_have_the_two_targets_where_they_were_asked(tmp_path: Path) -> None:
    run = finished(tmp_path, ["ns", "ns_kl", "s_ns_top", "unrelated_kl"])
    parts = strictness_parts(run, "mean")
    tables, plots = ([p for p in parts if isinstance(p, kind)] for kind in (FigureTable, Plot))
    assert len(tables) == len(plots) == 3
    for table in tables:
        ((label, prompts, *shares),) = table.rows
        assert label == "push" and len(shares) == len(CRITERIA)
        assert (shares[0].mean is None) == ("neighbour prompts" not in table.title), "only where the run asked for both"
        falling = [share.mean for share in shares[2:]]
        assert falling == sorted(falling, reverse=True) and len(falling) == len(THRESHOLDS)
    assert prompts == 6 * 8 and {p.label for p in plots[0].points} == {"push"}


def test_nothing_without_distributions(tmp_path: Path) -> None:
    run = finished(tmp_path, ["ns", "s_ns"])
    assert unmoved_prompts(run) == [] == strictness_parts(run, "mean")
