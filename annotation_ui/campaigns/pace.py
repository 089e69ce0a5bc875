"""How fast people work, and how long what is left will take them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from annotation_ui.campaigns.campaign import RaterProgress
from annotation_ui.ratings.records import Revision

WINDOW = timedelta(days=7)


class RaterPace(NamedTuple):
    """How somebody gets on.

    Attributes:
        left: Real items that are open.
        work: Seconds of work that they take at the person's median time; None before the first timed answer.
        per_day: Answers a day, over the last week or since the first answer in it; 0 where there was none.
        days: Days until the last one at that pace; None where nobody can say, 0 where nothing is left.
    """

    left: int
    work: float | None
    per_day: float
    days: int | None


def rater_pace(progress: RaterProgress, answers: Sequence[Revision], now: str) -> RaterPace:
    """The pace of one person.

    Args:
        progress: The person's line of ``rater_progress``.
        answers: Their current answers.
        now: The present time, as answers are dated.
    """
    left = max(0, progress.assigned - progress.done - progress.skipped)
    work = None if progress.seconds is None else left * progress.seconds
    at = _time(now)
    recent = [t for r in answers if (t := _time(r.saved_at)) is not None and at is not None and at - WINDOW <= t <= at]
    if not recent or at is None:
        return RaterPace(left, work, 0.0, None if left else 0)
    days = max(1.0, (at - min(recent)) / timedelta(days=1))
    per_day = len(recent) / days
    return RaterPace(left, work, per_day, math.ceil(left / per_day))


def all_paces(progress: Sequence[RaterProgress], answers: Sequence[Revision], now: str) -> Mapping[str, RaterPace]:
    """Everybody's pace by name."""
    return {p.person: rater_pace(p, [r for r in answers if r.person == p.person], now) for p in progress}


def _time(text: str) -> datetime | None:
    """A stored time without its zone (all are UTC); None where it is none."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).replace(tzinfo=None)
    except (TypeError, ValueError, AttributeError):
        return None
