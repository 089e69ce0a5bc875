"""Ratings of generated scripts on a named scale, by people or by a judge model; one record for both."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints, model_validator

from schemas.core.records import Record
from schemas.raters import Rater, rater_of_rating

Aspect = Literal["executability", "coherence", "consistency", "completeness"]
SCALES: dict[str, tuple[int, int]] = {"likert7": (1, 7)}


class Rating(Record):
    """One rating of one text on one aspect (ScEdit §3.1, Figures 8-11).

    Attributes:
        item_id: Content id of the rated text.
        aspect: Executability, coherence, consistency or completeness.
        scale: Name of the scale, a key of ``SCALES``.
        value: The rating; None where it is unscored (then ``reason`` says why). Never imputed.
        rater: ``person:NAME`` or ``judge:MODEL``.
        form: Form or prompt and its version, such as ``rate_script@1``.
    """

    kind: ClassVar[str] = "rating"
    item_id: str
    aspect: Aspect
    scale: str = "likert7"
    value: int | None
    rater: Annotated[str, StringConstraints(pattern=r"^(person|judge):\S+$")]
    form: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+@\d+$")]
    reason: str = ""

    @model_validator(mode="after")
    def _in_scale(self) -> Rating:
        if self.scale not in SCALES:
            raise ValueError(f"unknown scale {self.scale!r}; allowed: {', '.join(SCALES)}")
        low, high = SCALES[self.scale]
        if self.value is not None and not low <= self.value <= high:
            raise ValueError(f"rating {self.value} is outside {low} to {high}")
        if self.value is None and not self.reason.strip():
            raise ValueError("an unscored rating says why")
        return self

    @property
    def rated_by(self) -> Rater:
        """Who rated."""
        return rater_of_rating(self.rater, self.form)
