"""The time of day as records keep it: ISO 8601 in UTC, as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal


def now(
    precision: Literal["minutes", "seconds", "milliseconds"] = "seconds",
    *,
    zone: Literal["+00:00", "Z"] = "+00:00",
    plus: timedelta = timedelta(0),
) -> str:
    """The present time in UTC, as ISO 8601 text.

    Args:
        precision: The last unit that is written; smaller ones are cut off.
        zone: How UTC is written. What is compared as text must be written alike.
        plus: A span to add, for a moment to come.

    Example:
        >>> len(now()), len(now("milliseconds")), len(now(zone="Z"))
        (25, 29, 20)
    """
    return (datetime.now(UTC) + plus).isoformat(timespec=precision).removesuffix("+00:00") + zone


def today() -> str:
    """The present date in UTC, as ISO 8601 text.

    Example:
        >>> len(today())
        10
    """
    return datetime.now(UTC).date().isoformat()
