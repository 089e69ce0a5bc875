"""Thoughts of a run by method and place, by hand; nothing where thoughts were not asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.analysis.written.thoughts import thought_tables
from tests.support.arithmetic import make_cases
from tests.support.report.texts_run import ThinkingLM, finished

METRICS = ["es_gen", "s_es_gen_question", "thought_old_rate"]


def test_every_share_by_hand(tmp_path: Path) -> None:
    """Six cases: one without a thought, one whose thought has no end; the others come to Lima, edited or not."""
    run = finished(tmp_path, METRICS, lm=ThinkingLM(), split=make_cases(6, 0), generation={"thought": {}})
    (table,) = thought_tables(run)
    rows = {row[:2]: dict(zip(table.head, row, strict=True)) for row in table.rows}
    assert {place for place, _ in rows} == {"script for a question", "fact prompt"}
    for label, agrees, hidden in (("none", 1.0, 0.0), ("push", 0.0, 1.0)):
        one = rows["fact prompt", label]
        shares = ("With a thought", "Unfinished", "New in thought", "Old in thought", "Old last")
        assert one["Texts"] == 6
        assert [one[h].mean for h in shares] == pytest.approx([5 / 6, 1 / 6, 1.0, 4 / 5, 4 / 5])
        assert (one["Agrees"].mean, one["Hidden"].mean, one["Agrees"].n) == (agrees, hidden, 4)
        assert one["Words"].mean == pytest.approx((4 * 5 + 2) / 5)


def test_samples_of_a_method_are_one_method(tmp_path: Path) -> None:
    drawn = {"temperature": 1.0, "samples": 2, "thought": {}}
    run = finished(tmp_path, METRICS, lm=ThinkingLM(), split=make_cases(3, 0), generation=drawn)
    (table,) = thought_tables(run)
    assert {row[1] for row in table.rows} == {"none", "push"}


def test_nothing_without_thoughts(tmp_path: Path) -> None:
    assert thought_tables(finished(tmp_path, METRICS)) == []
