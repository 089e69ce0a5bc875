"""Verdicts for tests."""

from __future__ import annotations

from schemas.verdicts import Verdict, verdict_key


def make_verdict(item: str, label: str, by: str) -> Verdict:
    """A verdict on an item (by content id) by a check or person, with a reason."""
    return Verdict(key=verdict_key(item_id=item, by=by), item_id=item, by=by, label=label, reason="r")  # type: ignore[arg-type]
