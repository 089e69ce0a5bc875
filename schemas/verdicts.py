"""What a check or a person says of an item. A verdict measures or describes; the split's rule decides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints, model_validator

from schemas.core.ids import slug
from schemas.core.records import Frozen, Record
from schemas.raters import Rater, rater_of_verdict

Label = Literal["keep", "drop", "unsure", "unscored"]
By = Annotated[str, StringConstraints(pattern=r"^(person:\S+/)?[a-z0-9_]+@\d+$")]
"""``check@version``, or ``person:NAME/task@version``."""


class Span(Frozen):
    """Characters ``start`` to ``end`` (end excluded) of an item's text, and what stands there."""

    start: int
    end: int
    text: str
    what: str = ""


class Verdict(Record):
    """One judgement of one item by one check or person.

    Attributes:
        item_id: Content id of the judged record (not its key: a corrected text is judged anew).
        by: Who judged: ``leak_in_prompt@1`` or ``person:ann3/filter_question@2``.
        label: ``keep``, ``drop``, ``unsure`` (for people to decide), ``unscored`` (could not be judged), or None for a
            pure measurement.
        reason: Why, in words; a ``drop`` or ``unscored`` without a reason is refused.
        value: Measured value in ``unit``, or None.
        model: Model that judged, where one did.
        related: Content ids of other records that the judgement rests on.
        spans: Places in the item's text that show it.
    """

    kind: ClassVar[str] = "verdict"
    item_id: str
    by: By
    label: Label | None
    reason: str = ""
    value: float | None = None
    unit: str | None = None
    model: str | None = None
    related: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()

    @model_validator(mode="after")
    def _validate_whole(self) -> Verdict:
        if self.label in ("drop", "unscored", "unsure") and not self.reason.strip():
            raise ValueError(f"a verdict '{self.label}' carries a reason")
        if self.label is None and self.value is None:
            raise ValueError("a verdict has a label or a value")
        if self.value is not None and self.unit is None:
            raise ValueError("a measured value has a unit")
        return self

    @property
    def check(self) -> str:
        """Name of the check or task, without person and version."""
        return self.by.rsplit("/", 1)[-1].split("@")[0]

    @property
    def judged_by(self) -> Rater | None:
        """Who judged; None for a check."""
        return rater_of_verdict(self.by)


def verdict_key(*, item_id: str, by: str, related: tuple[str, ...] = (), model: str | None = None) -> str:
    """The identity of a verdict: who judged what, in relation to what. Judging again replaces it."""
    tail = "".join(f"~{r}" for r in related) + (f"~{slug(model)}" if model else "")
    return f"verdict/{by}/{item_id}{tail}"


def verdicts_of_people(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The people's verdicts on one item that count: a lead's decision alone where there is one.

    Example:
        >>> keep = Verdict(key="v/1", item_id="q", by="person:ann/filter@1", label="keep")
        >>> drop = Verdict(key="v/2", item_id="q", by="person:lea/filter_adjudicated@1", label="drop", reason="leak")
        >>> [v.label for v in verdicts_of_people([keep, drop])]
        ['drop']
    """
    people = [(v, v.judged_by) for v in verdicts if v.judged_by is not None and v.label != "unscored"]
    decided = [v for v, rater in people if rater is not None and rater.kind == "adjudicated"]
    return decided or [v for v, _ in people]
