"""Scores before and after: those of ``score_case``, one at a time; metrics that ask nothing are left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.shipped import mini_split
from evaluation.models.language_model import LM
from evaluation.runs.config import DEFAULT_METRICS
from evaluation.runs.one_case import score_case
from evaluation.runs.plan import load_metrics
from evaluation.saved_edits.save import ask_cases, score_changes
from tests.support.editors.saved_edits import cases, editor


def test_scores_are_those_of_one_case_at_a_time(tiny: LM, tmp_path: Path) -> None:
    choice = [*cases(2), mini_split().cases[0]]
    metrics = load_metrics(DEFAULT_METRICS)
    edit = editor("rome", tiny, tmp_path).edit([c.fact for c in choice])
    before = ask_cases(tiny, choice, metrics)
    with edit.on(tiny):
        after = ask_cases(tiny, choice, metrics)
    by_name = {c.metric.name: c for c in score_changes(choice, before, after, metrics)}
    assert {"es", "ps", "s_es"} <= set(by_name)
    slow = [score_case(tiny, case, edit) for case in choice]
    plain = [score_case(tiny, case) for case in choice]
    for name, change in by_name.items():
        for text, summary in ((slow, change.after), (plain, change.before)):
            means = [one[name].mean for one in text if one[name].mean is not None]
            assert summary.mean == pytest.approx(sum(means) / len(means)) and summary.cases == len(means)


def test_what_asks_nothing_is_left_out(tiny: LM) -> None:
    choice, metrics = cases(1), load_metrics(DEFAULT_METRICS)
    answers = ask_cases(tiny, choice, metrics)
    changes = score_changes(choice, answers, answers, metrics)
    assert "s_es" not in {c.metric.name for c in changes} and "es" in {c.metric.name for c in changes}
    assert all(c.before == c.after for c in changes)
