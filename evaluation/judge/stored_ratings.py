"""Ratings out of a store with what their lineage says, and what the store knows of those who wrote the texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from evaluation.editors.baselines import NULL_METHODS
from evaluation.judge.inputs import JudgeInput
from schemas.lineage import Lineage
from schemas.raters import Rater
from schemas.ratings import Rating

if TYPE_CHECKING:
    from curation.store.store import Store

Estimator = Literal["integer", "weighted"]
DEFAULT_ESTIMATOR: Estimator = "integer"
ESTIMATORS: dict[Estimator, str] = {
    "integer": "the ratings as given (of several samples their lower median)",
    "weighted": "the mean of the scale under the judge's log-probabilities, else the mean of its samples",
}
"""What a judge's score of a text is; people's ratings are the same under both."""
JUDGE_STAGE = "judge"  # of the lineage that judges' ratings come with
_PEOPLE_STAGE = "annotation"
_GENERATED_STAGE = "generate"


class RatedScript(NamedTuple):
    """A rating with what its lineage says.

    Attributes:
        rating: The rating.
        score: What means are made of, by the estimator: the rating itself, or its finer value.
        detail: Of the lineage: ``samples``, ``retest``, ``weighted``; ``probability``, ``synthetic`` for people.
        line: The lineage; None where the store has none.
    """

    rating: Rating
    score: float | None
    detail: dict[str, Any]
    line: Lineage | None

    @property
    def source(self) -> str:
        """Who rated, as tables name it."""
        return self.rating.rater

    @property
    def rater(self) -> Rater:
        """Who rated."""
        return self.rating.rated_by

    @property
    def adjudicated(self) -> bool:
        """Whether it is a lead's decision between others."""
        return self.rater.kind == "adjudicated"


def rated_scripts(
    store: Store, items: Iterable[str] | None = None, *, estimator: Estimator = DEFAULT_ESTIMATOR
) -> list[RatedScript]:
    """Ratings of people and judges with their lineage, all or those of some texts, in the order of their keys.

    Args:
        store: Where they are.
        items: Content ids of texts; None for all.
        estimator: What a judge's score is.
    """
    ratings = list(store.all(Rating)) if items is None else store.of_parents(Rating, items)
    lines: dict[str, Lineage] = {}
    for stage in (JUDGE_STAGE, _PEOPLE_STAGE):
        for line in store.lineages(stage=stage):
            if line.item_id not in lines or "retest" in line.detail or "retest" not in lines[line.item_id].detail:
                lines[line.item_id] = line
    out = []
    for rating in ratings:
        rating_line = lines.get(rating.id)
        detail = dict(rating_line.detail) if rating_line else {}
        score = None if rating.value is None else float(rating.value)
        if estimator == "weighted" and score is not None:
            score = float(detail.get("score", score))
        out.append(RatedScript(rating, score, detail, rating_line))
    return out


def null_labels(store: Store, texts: Iterable[JudgeInput]) -> frozenset[str]:
    """Which labels stand for a null method: by the method on record, else by the label itself.

    Args:
        store: Where the texts are.
        texts: Scripts or open answers, as they are judged.
    """
    editors = {text.item: text.editor for text in texts}
    methods: dict[str, set[str]] = {label: set() for label in editors.values()}
    for line in store.lineages(stage=_GENERATED_STAGE):
        if line.item_id in editors and (method := line.detail.get("method")):
            methods[editors[line.item_id]].add(method)
    return frozenset(label for label, known in methods.items() if (known or {label}) & NULL_METHODS)


def question_authors(store: Store) -> set[str]:
    """Models that wrote the questions, by the lineage."""
    return {line.model for line in store.lineages(stage="questions") if line.model}
