"""Pace and time left, by hand; odd dates and times change nothing."""

from __future__ import annotations

import pytest

from annotation_ui.campaigns.campaign import RaterProgress
from annotation_ui.campaigns.pace import RaterPace, all_paces, rater_pace
from annotation_ui.ratings.records import Revision

NOW = "2026-11-22T12:00:00.000+00:00"


def progress(*, assignments: int = 10, done: int = 0, skipped: int = 0, seconds: float | None = None) -> RaterProgress:
    return RaterProgress("ann", False, assignments, done, (0, 0), (0, 0), seconds, None, 0, skipped)


def answers(*times: object, person: str = "ann") -> list[Revision]:
    return [Revision(n, "pilot", person, f"i{n}", "f@1", {}, None, t) for n, t in enumerate(times)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "value", "expected"),
    [
        (progress(), [], RaterPace(10, None, 0.0, None)),
        (progress(assignments=2, done=2), [], RaterPace(0, None, 0.0, 0)),
        (progress(done=4, skipped=1, seconds=30.0), ["2026-11-20T12:00:00.000+00:00"] * 4, RaterPace(5, 150.0, 2.0, 3)),
        (progress(done=4), ["2026-11-22T11:00:00.000+00:00"] * 4, RaterPace(6, None, 4.0, 2)),
        (progress(done=2), ["2026-11-01T12:00:00.000+00:00"] * 2, RaterPace(8, None, 0.0, None)),
        (progress(done=2), ["2027-01-01T00:00:00.000+00:00", ""], RaterPace(8, None, 0.0, None)),
        (progress(assignments=1, done=3), ["2026-11-22T11:00:00Z"], RaterPace(0, None, 1.0, 0)),
        (progress(done=1), [7, "yesterday", "2026-11-22T11:00:00"], RaterPace(9, None, 1.0, 9)),
    ],
)
def test_pace(line: RaterProgress, value: list[object], expected: RaterPace) -> None:
    assert rater_pace(line, answers(*value), NOW) == expected


def test_everybody_s_own_answers_count() -> None:
    both = [*answers(NOW), *answers(NOW, NOW, person="bob")]
    paces = all_paces([progress(), progress()._replace(person="bob")], both, NOW)
    assert {p: pace.per_day for p, pace in paces.items()} == {"ann": 1.0, "bob": 2.0}
