"""Several judges as a panel, and how reliable each one is: agreement, repeating itself, liking length."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from curation.stats.bootstrap import DEFAULT, Resampling
from curation.stats.correlation import spearman
from curation.stats.estimates import Estimate, undefined
from curation.stats.panel import Agreement, agreement
from curation.stats.rating_table import rating_table
from evaluation.judge.inputs import JudgeInput
from evaluation.judge.stored_ratings import RatedScript
from schemas.core.errors import UserError
from schemas.raters import Rater
from schemas.ratings import RUBRICS, Aspect, Rating

ORDER = tuple(dict.fromkeys(aspect for rubric in RUBRICS.values() for aspect in rubric.aspects))
PANEL = Rater.judge("panel").stored


class PanelScore(NamedTuple):
    """A panel's score of one script and aspect: None where fewer judges than the quorum scored it.

    ``said`` holds the scores that there are, by judge.
    """

    item: str
    aspect: Aspect
    score: float | None
    said: Mapping[str, float]


def panel_scores(
    ratings: Sequence[RatedScript], *, quorum: int, judges: Sequence[str] | None = None
) -> list[PanelScore]:
    """The mean score of several judges, where at least ``quorum`` of them scored.

    Args:
        ratings: Of all raters; people are passed over.
        quorum: Judges that must have scored, declared beforehand.
        judges: Whose ratings count; all judges where left out.

    Raises:
        UserError: the panel has fewer judges than the quorum asks for.
    """
    there = sorted({g.source for g in ratings if g.rater.is_judge})
    members = list(judges) if judges is not None else there
    if not 1 <= quorum <= len(members):
        raise UserError(
            f"a quorum of {quorum} cannot be met by {len(members)} judges",
            allowed=f"1 to {len(members)}",
            fix="judge with more models first, or declare a smaller quorum",
        )
    scores_by_place: dict[tuple[str, Aspect], dict[str, float]] = defaultdict(dict)
    for rated in ratings:
        if rated.source in members:
            scores = scores_by_place[rated.rating.item_id, rated.rating.aspect]
            if rated.score is not None:
                scores[rated.source] = rated.score
    return [
        PanelScore(item, aspect, fmean(scores.values()) if len(scores) >= quorum else None, scores)
        for (item, aspect), scores in scores_by_place.items()
    ]


def judge_agreement(
    ratings: Sequence[RatedScript], asks: Mapping[str, JudgeInput], *, resampling: Resampling = DEFAULT
) -> dict[Aspect, Agreement]:
    """Agreement among judges, one aspect a table; aspects with fewer than two judges are left out."""
    judged = [(g.source, g.rating) for g in ratings if g.rater.is_judge and g.rating.item_id in asks]
    return agreement_by_aspect(judged, {item: ask.case for item, ask in asks.items()}, resampling)


def agreement_by_aspect(
    named: Sequence[tuple[str, Rating]], cases: Mapping[str, str], resampling: Resampling = DEFAULT
) -> dict[Aspect, Agreement]:
    """Agreement of raters, one aspect a table; aspects with fewer than two raters are left out.

    Args:
        named: Ratings, each with the name of its rater.
        cases: Case of each rated item.
        resampling: Of cases.

    Raises:
        UserError: a rater rated an item twice.
    """
    out: dict[Aspect, Agreement] = {}
    for aspect in sorted({r.aspect for _, r in named}, key=ORDER.index):
        mine = [(name, r) for name, r in named if r.aspect == aspect]
        if len({name for name, _ in mine}) > 1:
            rows = [(r.item_id, name, r.value) for name, r in mine]
            table = rating_table(rows, cases=cases, scale=RUBRICS[mine[0][1].rubric].categories)
            out[aspect] = agreement(table, level="ordinal", resampling=resampling)
    return out


class Retest(NamedTuple):
    """A judge asked twice: scripts with both ratings, those with the same one, those at most 1 apart, mean distance.

    ``lost`` counts scripts where one of the two looks is unscored.
    """

    n: int
    same: int
    near: int
    apart: float | None
    lost: int


def retest_agreement(ratings: Sequence[RatedScript]) -> Retest:
    """How often a judge repeats itself: the first look against the second, where there was a second."""
    gaps, lost = [], 0
    for rated in ratings:
        if "retest" not in rated.detail:
            continue
        first, second = (rated.detail.get("samples") or [None])[0], rated.detail["retest"]
        if first is None or second is None:
            lost += 1
        else:
            gaps.append(abs(int(first) - int(second)))
    apart = fmean(gaps) if gaps else None
    return Retest(len(gaps), sum(g == 0 for g in gaps), sum(g <= 1 for g in gaps), apart, lost)


def length_correlation(
    ratings: Sequence[RatedScript], asks: Mapping[str, JudgeInput], *, resampling: Resampling = DEFAULT
) -> Estimate:
    """Spearman's correlation of a judge's scores with the number of words of the scripts."""
    known = [(g, asks[g.rating.item_id]) for g in ratings if g.score is not None and g.rating.item_id in asks]
    scored = [(g.score, ask.text, ask.case) for g, ask in known if g.score is not None]
    if len(scored) < 3:
        return undefined("correlation with length", f"fewer than three are scored ({len(scored)})", n=len(scored))
    words = [float(len(text.split())) for _, text, _ in scored]
    ratings_read, cases = [float(s) for s, _, _ in scored], [case for _, _, case in scored]
    correlation = spearman(ratings_read, words, cases, resampling=resampling, names=("ratings", "lengths"))
    return correlation._replace(name="correlation with length")
