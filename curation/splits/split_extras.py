"""What the sources say beside a split's facts or events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from schemas.extras import Extra


class Extras:
    """What the sources say beside a split's facts: other probes, hops, popularity.

    Example:
        >>> extra = Extra.holding("f/1/extra/x", [1], subject_key="f/1", name="x")
        >>> [e.key for e in Extras([extra]).of(["f/1"])], bool(NONE)
        (['f/1/extra/x'], False)
    """

    def __init__(self, held: Iterable[Extra] = ()) -> None:
        self._held = tuple(sorted(held, key=lambda e: e.key))

    def __iter__(self) -> Iterator[Extra]:
        """All, in order of their keys."""
        return iter(self._held)

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Extras) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def of(self, facts: Collection[str]) -> list[Extra]:
        """Those of some facts, by the facts' keys."""
        wanted = set(facts)
        return [e for e in self._held if e.subject_key in wanted]


NONE = Extras()
