"""What the judges said, as tables: means with intervals, what is unscored and its bounds, how reliable a judge is.

Unscored ratings are counted and never imputed. Their bounds are the means if all were a 1 (worst) or a 7 (best).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from curation.stats.bootstrap import DEFAULT, Resampling
from curation.stats.estimates import Estimate
from curation.stats.intervals import binomial_interval
from evaluation.judge.inputs import JudgeInput
from evaluation.judge.judging import JudgeResult
from evaluation.judge.ratings import (
    ORDER,
    RatedScript,
    RatingCell,
    Retest,
    RubricReport,
    check_against_rubric,
    judge_agreement,
    length_correlation,
    rating_cell,
    retest_agreement,
)
from schemas.ratings import SCRIPT, Aspect, Rubric

_KINDS = ("no usable reply", "no evidence", "false quote", "not asked")


class MethodRating(NamedTuple):
    """One rater's view of one method on one aspect.

    Attributes:
        cell: The figures, over all scripts that it rated or left unscored.
    """

    rater: str
    writer: str
    editor: str
    edited: bool
    aspect: Aspect
    cell: RatingCell

    def as_data(self) -> dict[str, Any]:
        """The figures as JSON values; ``by_case`` and ``by_script`` are half the widths of the published intervals."""
        cell, mean = self.cell, self.cell.by_case
        worst, best = cell.bounds or (mean.mean, mean.mean)
        return {
            **{name: getattr(self, name) for name in ("rater", "writer", "editor", "edited", "aspect")},
            **{"scripts": cell.scripts + cell.unscored, "scored": cell.scripts, "cases": mean.n},
            **{"mean": mean.mean, "by_case": mean.half, "by_script": cell.by_script.half},
            **{"worst": worst, "best": best, "low": mean.low, "high": mean.high},
        }


class JudgeReliability(NamedTuple):
    """How reliable a judge is on an aspect."""

    rater: str
    aspect: Aspect
    retest: Retest
    repeats: Estimate
    length: Estimate
    scored: int


class JudgeSummary(NamedTuple):
    """Everything that is said of some scripts.

    Attributes:
        cells: By rater, method and aspect.
        reliability: By judge and aspect.
        agreement: Among judges, by aspect.
        rubric: What the rubric's deterministic rules say.
        unscored: Reasons with their counts, by rater.
        smoke_test: Judges whose ratings only show that the pipeline runs.
        rubric_name: Whose ratings they are.
        labels: Method of each text.
    """

    cells: Sequence[MethodRating]
    reliability: Sequence[JudgeReliability]
    agreement: Mapping[Aspect, Any]
    rubric: RubricReport
    unscored: Mapping[str, Mapping[str, int]]
    smoke_test: Sequence[str]
    rubric_name: str = SCRIPT.name
    labels: Mapping[str, str] = MappingProxyType({})


def summarise_ratings(
    ratings: Sequence[RatedScript],
    asks: Sequence[JudgeInput],
    *,
    resampling: Resampling = DEFAULT,
    rubric: Rubric = SCRIPT,
) -> JudgeSummary:
    """Summarise the ratings of some scripts, or of some open answers.

    Args:
        ratings: Of people and judges; adjudicated ones are left out.
        asks: The texts.
        resampling: For the intervals that are bootstrapped.
        rubric: Whose ratings are summarised.
    """
    by_item = {a.item: a for a in asks}
    known = [g for g in ratings if g.rating.item_id in by_item and not g.adjudicated]
    known = [g for g in known if g.rating.rubric == rubric.name]
    known.sort(key=lambda g: (by_item[g.rating.item_id].case, g.rating.key))
    scores: dict[tuple[str, Aspect], dict[str, list[float | None]]] = defaultdict(lambda: defaultdict(list))
    for g in known:
        scores[g.rating.rater, g.rating.aspect][g.rating.item_id].append(g.score)
    scripts = {a.item: (a.text, a.fact) for a in asks if a.fact is not None}
    return JudgeSummary(
        cells=_cells(scores, by_item, rubric),
        reliability=_reliability(known, by_item, resampling),
        agreement=judge_agreement(known, by_item, resampling=resampling),
        rubric=check_against_rubric((g.rating for g in known), scripts),
        unscored=_reasons(known),
        smoke_test=sorted({g.rating.rater for g in known if g.detail.get("quality") == "plumbing"}),
        rubric_name=rubric.name,
        labels={a.item: a.editor for a in asks},
    )


def _cells(
    scores: Mapping[tuple[str, Aspect], Mapping[str, Sequence[float | None]]],
    asks: Mapping[str, JudgeInput],
    rubric: Rubric,
) -> list[MethodRating]:
    groups: dict[tuple[str, str, str, bool, Aspect], list[tuple[str, float | None]]] = defaultdict(list)
    for (rater, aspect), items in scores.items():
        for item, scores_by_item in items.items():
            ask = asks[item]
            groups[rater, ask.writer, ask.editor, ask.edited, aspect] += [(ask.case, s) for s in scores_by_item]
    order = {a: n for n, a in enumerate(rubric.aspects)}
    chosen = sorted(groups, key=lambda g: (g[0], g[1], g[3], g[2], order[g[4]]))
    return [MethodRating(*group, rating_cell(groups[group], rubric.ends)) for group in chosen]


def _reliability(
    known: Sequence[RatedScript], asks: Mapping[str, JudgeInput], resampling: Resampling
) -> list[JudgeReliability]:
    groups: dict[tuple[str, Aspect], list[RatedScript]] = defaultdict(list)
    for g in known:
        if g.rater.is_judge:
            groups[g.rating.rater, g.rating.aspect].append(g)
    out = []
    for rater, aspect in sorted(groups, key=lambda k: (k[0], ORDER.index(k[1]))):
        mine = groups[rater, aspect]
        twice = retest_agreement(mine)
        repeats = binomial_interval(twice.same, twice.n)._replace(name="same rating when asked again")
        scored = sum(g.score is not None for g in mine)
        length = length_correlation(mine, asks, resampling=resampling)
        out.append(JudgeReliability(rater, aspect, twice, repeats, length, scored))
    return out


def _reasons(known: Sequence[RatedScript]) -> dict[str, dict[str, int]]:
    """Why ratings are unscored, by rater: the kind of reason, up to its first detail."""
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for g in known:
        if g.rating.value is None:
            reasons[g.rating.rater][reason_kind(g.rating.reason)] += 1
    return {rater: dict(kinds.most_common()) for rater, kinds in sorted(reasons.items())}


def reason_kind(reason: str) -> str:
    """The kind of a reason for an unscored rating.

    Example:
        >>> reason_kind("no usable reply: unparseable: rating: Input should be 1")
        'no usable reply: unparseable'
        >>> reason_kind("false quote: 'x' does not stand in the script")
        'false quote'
    """
    parts = [p.strip() for p in reason.split(":")]
    at = next((n for n, p in enumerate(parts) if p in _KINDS), 0)
    deeper = parts[at] in ("no usable reply", "not asked") and len(parts) > at + 1
    return ": ".join(parts[at : at + 2]) if deeper else parts[at]


def as_data(summary: JudgeSummary, outcome: JudgeResult | None, flagged: Sequence[str]) -> dict[str, Any]:
    """Everything, as JSON values."""
    return {
        "outcome": None if outcome is None else _outcome(outcome),
        "rated_under": summary.rubric_name,
        "cells": [c.as_data() for c in summary.cells],
        "trust": [
            {
                **{"rater": t.rater, "aspect": t.aspect, "retest": t.retest._asdict(), "scored": t.scored},
                **{"repeats": estimate_data(t.repeats), "length": estimate_data(t.length)},
            }
            for t in summary.reliability
        ],
        "agreement": {
            aspect: {
                **{"alpha": estimate_data(a.alpha), "ac1": estimate_data(a.ac1), "ac2": estimate_data(a.ac2)},
                **{"exact": estimate_data(a.exact), "within_one": estimate_data(a.within_one)},
                **{"level": a.level, "units": a.units, "raters": a.raters},
            }
            for aspect, a in summary.agreement.items()
        },
        "rubric": {
            "by": [
                {"rater": r, "aspect": a, "ruled": n, "agreed": summary.rubric.agreed[r, a]}
                for (r, a), n in sorted(summary.rubric.ruled.items())
            ],
            "free": summary.rubric.free,
            "disagreements": [d._asdict() for d in summary.rubric.disagreements],
        },
        "unscored": {r: dict(k) for r, k in summary.unscored.items()},
        "flags": list(flagged),
        "plumbing": list(summary.smoke_test),
    }


def _outcome(outcome: JudgeResult) -> dict[str, Any]:
    data, found = outcome._asdict(), outcome.controls
    del data["controls"]
    return {**data, "control_items": found and {**found._asdict(), "missed": [m._asdict() for m in found.missed]}}


def estimate_data(e: Estimate) -> dict[str, Any]:
    """An estimate as JSON values."""
    fields = ("value", "low", "high", "n", "cases", "p", "reason", "note")
    return {name: getattr(e, name) for name in fields}
