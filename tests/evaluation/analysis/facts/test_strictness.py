"""Strictness by hand: a looser criterion never holds at fewer prompts than a stricter one of its kind."""

from __future__ import annotations

from pathlib import Path

from evaluation.analysis.facts.strictness import CRITERIA, THRESHOLDS, strictness_curves
from tests.support.report.texts_run import finished


def test_curves_fall_and_have_the_two_targets_where_they_were_asked(tmp_path: Path) -> None:
    run = finished(tmp_path, ["ns", "ns_kl", "s_ns_top", "unrelated_kl"])
    curves = {c.region: c for c in strictness_curves(run)}
    assert {c.label for c in curves.values()} == {"push"} and set(curves) == {
        "neighbour", "script_neighbour", "unrelated",
    }  # fmt: skip
    for region, curve in curves.items():
        assert len(curve.shares) == len(CRITERIA)
        assert (curve.shares[0] is None) == (region != "neighbour"), "two targets: only where the run asked for both"
        falling = [s.mean for s in curve.shares[2:] if s is not None and s.mean is not None]
        assert falling == sorted(falling, reverse=True) and len(falling) == len(THRESHOLDS)
    assert curves["unrelated"].prompts == 6 * 8


def test_nothing_without_distributions(tmp_path: Path) -> None:
    assert strictness_curves(finished(tmp_path, ["ns", "s_ns"])) == []
