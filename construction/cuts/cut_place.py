"""The place of an object in a step, as the rules about cuts look at it."""

from __future__ import annotations

from typing import NamedTuple


class CutPlace(NamedTuple):
    """A place in a step where a script could be cut.

    Attributes:
        before: The step up to the object.
        relation: Id of the relation that the object belongs to; empty where it is not known.
        after: What follows the object in its step.
        person: Whether the object is a person, who may be thanked, resembled or admired.

    Example:
        >>> CutPlace("Fly to ", "P36", after=" in May").after
        ' in May'
    """

    before: str
    relation: str = ""
    after: str = ""
    person: bool = False
