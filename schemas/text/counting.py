"""A number with its noun, as people write it."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and what it counts.

    Args:
        number: How many.
        noun: What, for one of them.
        plural: What, for any other number; ``noun`` and an s where left out.

    Example:
        >>> counted(1, "case"), counted(0, "case"), counted(1200, "case"), counted(2, "person", "people")
        ('1 case', '0 cases', '1,200 cases', '2 people')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
