"""Ratings of generated scripts on a named scale, by people or by a judge model; one record for both."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints, model_validator

from schemas.core.records import Record
from schemas.raters import ADJUDICATED, Rater, rater_of_rating

Aspect = Literal["executability", "coherence", "consistency", "completeness"]
SCALES: dict[str, tuple[int, int]] = {"likert7": (1, 7)}
RATING_SCALE = (1.0, 7.0)  # lowest and highest value of likert7, as statistics take it


Shown = Literal["raw", "steps"]
"""What a rater read: the text as the model wrote it, or only the steps parsed out of it (up to version 0.1.0)."""
_RAW_SINCE = {"rate_script": 3, "rate_executability": 2}  # version of the form; a judge's prompts: 2


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
    def shown(self) -> Shown:
        """What the rater read, by the version of the form; forms of others show what the model wrote.

        Example:
            >>> told = {"item_id": "0" * 20, "aspect": "coherence", "value": 7, "rater": "person:ann", "key": "k"}
            >>> Rating(form="rate_script@2", **told).shown, Rating(form="rate_script@3", **told).shown
            ('steps', 'raw')
        """
        name, _, version = self.form.partition("@")
        name = name.removesuffix(f"_{ADJUDICATED}")
        since = 2 if name.startswith("judge") else _RAW_SINCE.get(name, 0)
        return "raw" if int(version) >= since else "steps"

    @property
    def rated_by(self) -> Rater:
        """Who rated."""
        return rater_of_rating(self.rater, self.form)
