"""Means of methods corrected for severity, out of a campaign's answers; whether their intervals are narrow enough."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from annotation_ui.agreement.judgements import Judgement
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.base import RatingTask
from curation.stats.facet_means import FacetReport, facet_report
from curation.stats.facets import FacetRating
from schemas.core.errors import UserError


class MethodMeans(NamedTuple):
    """What a campaign says of methods.

    Attributes:
        report: The model's, or None where it cannot be fitted; ``refused`` says why then, in a sentence.
        width: The width that every difference's interval is to fall below, in points; None for no stop rule.
        left_out: Aspects that the model could not take, each in a sentence.
    """

    report: FacetReport | None
    refused: str = ""
    width: float | None = None
    left_out: tuple[str, ...] = ()

    @property
    def reached(self) -> bool:
        """Whether the stop rule is met."""
        return self.report is not None and self.width is not None and self.report.reached(self.width)

    @property
    def more(self) -> int | None:
        """About how many ratings more the stop rule takes, at the present mix of cases and people.

        An interval narrows with the square root of the ratings. None without a rule, a model or a difference.
        """
        if self.report is None or self.width is None or not self.report.differences:
            return None
        return max(0, math.ceil(self.report.ratings * ((self.report.widest / self.width) ** 2 - 1)))


def methods_of(db: RatingsDB, name: str) -> dict[str, str]:
    """The method (the stratum) of each real item of a campaign."""
    return {i: p.item.stratum for i, p in db.items(name).items() if p.purpose == "real"}


def facet_ratings(judgements: Sequence[Judgement], methods: Mapping[str, str], task: RatingTask) -> list[FacetRating]:
    """The answers of people on scales, as the model takes them."""
    scales = {f.name for f in task.form.asked_fields() if f.kind == "scale"}
    return [
        FacetRating(m.item, m.case, methods[m.item], m.name, m.aspect, int(m.value))
        for m in judgements
        if not m.rater.is_judge and m.aspect in scales and m.item in methods
    ]


def method_means(
    judgements: Sequence[Judgement], methods: Mapping[str, str], task: RatingTask, *, width: float | None = None
) -> MethodMeans:
    """The model of a campaign's answers, or the reason why there is none.

    Args:
        judgements: Of ``live_judgements``; those of judges are left out.
        methods: Of ``methods_of``.
        task: What was asked.
        width: Of the stop rule.
    """
    ratings = facet_ratings(judgements, methods, task)
    if not any(f.kind == "scale" for f in task.form.asked_fields()):
        return MethodMeans(None, "means of methods are for ratings on a scale, which this task does not ask for", width)
    varied_ratings = varying_aspects(ratings)
    flat = {r.aspect: r.value for r in ratings} if len(varied_ratings) < len(ratings) else {}
    for r in varied_ratings:
        flat.pop(r.aspect, None)
    left_out = tuple(f"{aspect} is left out: every rating is {value}." for aspect, value in flat.items())
    try:
        return MethodMeans(facet_report(varied_ratings), width=width, left_out=left_out)
    except UserError as error:
        return MethodMeans(None, f"{error.what}; {error.fix}" if error.fix else error.what, width)


def varying_aspects(ratings: Sequence[FacetRating]) -> list[FacetRating]:
    """The ratings of aspects on which not all are the same; all of them where that leaves none."""
    values: dict[str, set[int]] = {}
    for r in ratings:
        values.setdefault(r.aspect, set()).add(r.value)
    return [r for r in ratings if len(values[r.aspect]) > 1] or list(ratings)


def stop_lines(means: MethodMeans) -> list[str]:
    """What the stop rule says; nothing where there is none."""
    if means.width is None or means.report is None or not means.report.differences:
        return []
    wide = f"the widest interval of a difference is {means.report.widest:.2f}"
    if means.reached:
        return [f"Stop rule: met, {wide}, below {means.width:g}."]
    return [
        f"Stop rule: not met, {wide}, not below {means.width:g}; about {means.more} ratings more at the present mix "
        "of cases and people."
    ]
