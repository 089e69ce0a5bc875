"""The line of a run's progress: counts, pace, what is left; and when a terminal is told."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.runs.progress import EditorProgress, Progress, line


def event(**changes: Any) -> EditorProgress:
    return EditorProgress(
        **{"label": "rome", "done": 4, "total": 10, "resumed": 0, "failed": 0, "seconds": 8.0, **changes}
    )


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        pytest.param({"done": 0, "seconds": 0.0}, "rome: 0 of 10 cases", id="nothing done: no pace"),
        pytest.param(
            {"done": 4, "resumed": 4, "seconds": 0.0}, "rome: 4 of 10 cases (4 found finished)", id="resumed: no pace"
        ),
        pytest.param(
            {"resumed": 2},
            "rome: 4 of 10 cases (2 found finished), 4.0 s a case, 24 s left",
            id="the pace is of what was worked, not of what was found",
        ),
        pytest.param(
            {"done": 10, "seconds": 20.0}, "rome: 10 of 10 cases, 2.0 s a case", id="the last: nothing is left"
        ),
        pytest.param({"seconds": 0.08}, "rome: 4 of 10 cases, under 0.1 s a case, 0 s left", id="fast ones"),
        pytest.param({"note": "preparing", "done": 0}, "rome: 0 of 10 cases, preparing ...", id="a note"),
        pytest.param(
            {"note": "edit 5 of 1,000", "least_left": 1990.0},
            "rome: 4 of 10 cases, 2.0 s a case, 33 min left, edit 5 of 1,000 ...",
            id="more edits than cases that are asked: their time is left",
        ),
        pytest.param(
            {"done": 0, "note": "edit 5 of 9", "least_left": 40.0},
            "rome: 0 of 10 cases, 40 s left, edit 5 of 9 ...",
            id="edits before the first case is asked",
        ),
        pytest.param(
            {"failed": 1, "note": "late"}, "rome: 4 of 10 cases, 2.0 s a case, 12 s left, late ..., 1 failed", id="all"
        ),
    ],
)
def test_the_line(changes: dict[str, Any], text: str) -> None:
    assert line(event(**changes)) == text


def test_a_clock_that_stood_still_is_fast() -> None:
    assert "under 0.1 s a case" in line(event(seconds=0.0))


def test_the_last_case_is_told_and_what_lies_between_may_not_be(capfd: pytest.CaptureFixture[str]) -> None:
    """Lines come now and then, on standard error only; that of the last case always."""
    tell = Progress()
    for number in range(1001):
        tell(event(done=number, total=1000, seconds=float(number)))
    out, err = capfd.readouterr()
    assert out == "" and "rome: 1,000 of 1,000 cases, 1.0 s a case" in err
    assert err.count("rome:") < 100
