"""Ratings of generated texts under a named rubric, by people or by a judge model; one record for both."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field, StringConstraints, field_validator, model_validator

from schemas.core.records import UNLESS_NONE, Record
from schemas.raters import Rater, rater_of_rating

Aspect = Literal[
    "executability", "coherence", "consistency", "completeness", "accuracy", "comprehensiveness", "overall"
]
"""What is rated; every rubric has its own ones."""
SCALES: dict[str, tuple[int, int]] = {"likert7": (1, 7), "likert5": (1, 5)}
RATING_SCALE = (1.0, 7.0)  # lowest and highest value of likert7, as statistics take it


class Rubric(NamedTuple):
    """What raters are asked about a text, and on which scale.

    Attributes:
        name: Its name, a key of ``RUBRICS``.
        aspects: What is rated, in order.
        scale: Name of the scale, a key of ``SCALES``.
        rates_pairs: Whether two texts are compared: the one before and the one after the edit.
    """

    name: str
    aspects: tuple[Aspect, ...]
    scale: str
    rates_pairs: bool = False

    @property
    def points(self) -> tuple[int, int]:
        """Lowest and highest rating."""
        return SCALES[self.scale]

    @property
    def ends(self) -> tuple[float, float]:
        """The same, as statistics take it."""
        low, high = self.points
        return float(low), float(high)

    @property
    def categories(self) -> tuple[int, ...]:
        """All ratings, from the lowest to the highest."""
        low, high = self.points
        return tuple(range(low, high + 1))

    def fault(self, values: dict[Any, int]) -> str:
        """Which rule ratings of one text break; empty where they keep to all.

        Args:
            values: The ratings by aspect; aspects that are not rated are left out.

        Example:
            >>> TENDENCY.fault({"accuracy": 3, "overall": 4})
            'accuracy 3 and overall 4: where accuracy is 3 or less, overall is 3 or less, too'
            >>> TENDENCY.fault({"accuracy": 4, "overall": 5})
            ''
        """
        accuracy, overall = values.get("accuracy"), values.get("overall")
        if accuracy is None or overall is None or accuracy > _LOW or overall <= _LOW:
            return ""
        return f"accuracy {accuracy} and overall {overall}: where accuracy is 3 or less, overall is 3 or less, too"


_LOW = 3  # accuracy that caps the overall rating (ELKEN Table 14)
SCRIPT = Rubric("script", ("executability", "coherence", "consistency", "completeness"), "likert7")
"""A script, on ScEdit's four aspects (§3.1, Figures 8 to 11)."""
TENDENCY = Rubric("tendency", ("accuracy", "coherence", "comprehensiveness", "overall"), "likert5")
"""An open answer to a question about what is likely after an event (ELKEN Table 14)."""
CONSISTENCY = Rubric("consistency", ("consistency",), "likert5", rates_pairs=True)
"""Two open answers to one question, before and after the edit: 5 where they say the same tendency (ELKEN §4.1)."""
RUBRICS: dict[str, Rubric] = {r.name: r for r in (SCRIPT, TENDENCY, CONSISTENCY)}


def rubric_of(aspects: set[str]) -> Rubric | None:
    """The rubric of a form that asks these aspects: the one that has just these, else the first that has them all.

    Example:
        >>> [rubric_of(a).name for a in ({"consistency"}, {"coherence", "completeness"}, {"accuracy"})]
        ['consistency', 'script', 'tendency']
    """
    exact = (r for r in RUBRICS.values() if set(r.aspects) == aspects)
    return next(exact, None) or next((r for r in RUBRICS.values() if aspects and aspects <= set(r.aspects)), None)


class Rating(Record):
    """One rating of one text, or of a pair of texts, on one aspect of a rubric.

    A rating of a script names neither rubric nor pair where it is stored: what earlier versions stored stays as it is,
    byte for byte, its id included.

    Attributes:
        item_id: Content id of the rated text; of a pair the one after the edit.
        aspect: One of the rubric's aspects.
        scale: Name of the rubric's scale, a key of ``SCALES``.
        value: The rating; None where it is unscored (then ``reason`` says why). Never imputed.
        rater: ``person:NAME`` or ``judge:MODEL``.
        form: Form or prompt and its version, such as ``rate_script@1``.
        rubric: Name of the rubric, a key of ``RUBRICS``.
        before_id: Content id of the text before the edit, of a rubric that rates pairs; None else.
    """

    kind: ClassVar[str] = "rating"
    item_id: str
    aspect: Aspect
    scale: str = "likert7"
    value: int | None
    rater: Annotated[str, StringConstraints(pattern=r"^(person|judge):\S+$")]
    form: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+@\d+$")]
    reason: str = ""
    rubric: Annotated[str, Field(exclude_if=lambda name: name == SCRIPT.name)] = SCRIPT.name
    before_id: Annotated[str | None, UNLESS_NONE] = None

    @model_validator(mode="before")
    @classmethod
    def _scale_of_rubric(cls, data: Any) -> Any:
        if isinstance(data, dict) and "scale" not in data and data.get("rubric") in RUBRICS:
            return {**data, "scale": RUBRICS[data["rubric"]].scale}
        return data

    @field_validator("value", mode="before")
    @classmethod
    def _no_truth_value(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError(f"{str(value).lower()} is no rating: a whole number is")
        return value

    @model_validator(mode="after")
    def _in_scale(self) -> Rating:
        if self.scale not in SCALES:
            raise ValueError(f"unknown scale {self.scale!r}; allowed: {', '.join(SCALES)}")
        if self.rubric not in RUBRICS:
            raise ValueError(f"unknown rubric {self.rubric!r}; allowed: {', '.join(RUBRICS)}")
        rubric = RUBRICS[self.rubric]
        if self.aspect not in rubric.aspects:
            raise ValueError(f"the rubric '{rubric.name}' has no aspect '{self.aspect}': {', '.join(rubric.aspects)}")
        if self.scale != rubric.scale:
            raise ValueError(f"the scale of the rubric '{rubric.name}' is {rubric.scale}, not {self.scale}")
        low, high = rubric.points
        if self.value is not None and not low <= self.value <= high:
            raise ValueError(f"rating {self.value} is outside {low} to {high}, the scale of the rubric '{rubric.name}'")
        if self.value is None and not self.reason.strip():
            raise ValueError("an unscored rating says why")
        if rubric.rates_pairs != bool(self.before_id):
            wants = "names both texts ('before_id')" if rubric.rates_pairs else "names one text, without 'before_id'"
            raise ValueError(f"a rating under the rubric '{rubric.name}' {wants}")
        return self

    @property
    def rated_by(self) -> Rater:
        """Who rated."""
        return rater_of_rating(self.rater, self.form)
