"""Thoughts of a run by method and place, by hand; nothing where thoughts were not asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.analysis.written.thoughts import thought_rates
from tests.support.arithmetic import make_cases
from tests.support.report.texts_run import ThinkingLM, finished

METRICS = ["es_gen", "s_es_gen_question", "thought_old_rate"]


def test_every_share_by_hand(tmp_path: Path) -> None:
    """Six cases: one without a thought, one whose thought has no end; the others come to Lima, edited or not."""
    run = finished(tmp_path, METRICS, lm=ThinkingLM(), split=make_cases(6, 0), generation={"thought": {}})
    rates = {(r.label, r.place): r for r in thought_rates(run)}
    assert {place for _, place in rates} == {"script for a question", "fact prompt"}
    for label, agrees, hidden in (("none", 1.0, 0.0), ("push", 0.0, 1.0)):
        one = rates[label, "fact prompt"]
        assert (one.texts, one.thoughts, one.compared) == (6, 5, 4)
        assert one.thinking.mean == pytest.approx(5 / 6) and one.unfinished.mean == pytest.approx(1 / 6)
        assert (one.new.mean, one.old.mean, one.last_old.mean) == pytest.approx((1.0, 4 / 5, 4 / 5))
        assert (one.agrees.mean, one.hidden.mean) == (agrees, hidden) and one.agrees.n == 4
        assert one.words.mean == pytest.approx((4 * 5 + 2) / 5)


def test_samples_of_a_method_are_one_method(tmp_path: Path) -> None:
    drawn = {"temperature": 1.0, "samples": 2, "thought": {}}
    run = finished(tmp_path, METRICS, lm=ThinkingLM(), split=make_cases(4, 0), generation=drawn)
    rates = {(r.label, r.place): r.texts for r in thought_rates(run)}
    assert rates["push", "script for a question"] == 2 * rates["push", "fact prompt"] * 2


def test_nothing_where_nobody_was_asked_to_think(tmp_path: Path) -> None:
    assert thought_rates(finished(tmp_path, METRICS)) == []
