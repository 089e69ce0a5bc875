"""What the judges said, as tables: means with intervals, what is unscored and its bounds, how reliable a judge is.

Unscored ratings are counted and never imputed. Their bounds are the means if all were a 1 (worst) or a 7 (best).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from curation.stats.bootstrap import DEFAULT, Resampling, case_interval, case_means
from curation.stats.estimates import Estimate
from curation.stats.intervals import mean_interval
from curation.stats.proportions import binomial_interval
from evaluation.judge.inputs import Given
from evaluation.judge.prompt_files import ASPECTS
from evaluation.judge.reliability.panel import PANEL, Retest, among, panel, retest, with_length
from evaluation.judge.reliability.rubric import Guarded, guard
from evaluation.judge.steps import JudgeAsk
from schemas.ratings import Aspect

_KINDS = ("no usable reply", "no evidence", "false quote", "not asked")


class Cell(NamedTuple):
    """One rater's view of one method on one aspect.

    Attributes:
        scripts: Rated or unscored. ``scored``: those with a rating. ``cases``: they belong to.
        mean: Mean of case means over the scored ones; None where there is none.
        by_case: Half width of its 95 % interval over cases. ``by_script``: over single scripts, as the paper's Table 3
            seems to have it; too narrow where a case has several scripts.
        worst, best: The mean if every unscored script were a 1, or a 7.
    """

    rater: str
    writer: str
    editor: str
    edited: bool
    aspect: Aspect
    scripts: int
    scored: int
    cases: int
    mean: float | None
    by_case: float | None
    by_script: float | None
    worst: float | None
    best: float | None


class Trust(NamedTuple):
    """How far a judge can be trusted on an aspect."""

    rater: str
    aspect: Aspect
    retest: Retest
    repeats: Estimate
    length: Estimate
    weighted: int
    scored: int


class Summary(NamedTuple):
    """Everything that is said of some scripts.

    Attributes:
        cells: By rater, method and aspect; a panel of several judges is one more rater.
        trust: By judge and aspect.
        agreement: Among judges, by aspect.
        guarded: What the rubric's deterministic rules say.
        unscored: Reasons with their counts, by rater.
        quorum: Of the panel; None where there is none.
        plumbing: Judges whose ratings show that the road works and are no evidence.
    """

    cells: Sequence[Cell]
    trust: Sequence[Trust]
    agreement: Mapping[Aspect, Any]
    guarded: Guarded
    unscored: Mapping[str, Mapping[str, int]]
    quorum: int | None
    plumbing: Sequence[str]


def summary(
    ratings: Sequence[Given], asks: Sequence[JudgeAsk], *, quorum: int | None = None, resampling: Resampling = DEFAULT
) -> Summary:
    """Summarise the ratings of some scripts.

    Args:
        ratings: Of people and judges; adjudicated ones are left out.
        asks: The scripts.
        quorum: Judges that must have scored for a panel's score; None for no panel.
        resampling: For the intervals that are bootstrapped.
    """
    by_item = {a.item: a for a in asks}
    known = [g for g in ratings if g.rating.item_id in by_item and not g.adjudicated]
    known.sort(key=lambda g: (by_item[g.rating.item_id].case, g.rating.key))
    scores: dict[tuple[str, Aspect], dict[str, list[float | None]]] = defaultdict(lambda: defaultdict(list))
    for g in known:
        scores[g.rating.rater, g.rating.aspect][g.rating.item_id].append(g.score)
    if quorum is not None:
        for p in panel(known, quorum=quorum):
            scores[PANEL, p.aspect][p.item].append(p.score)
    scripts = {a.item: (a.text, a.fact, a.edited) for a in asks}
    return Summary(
        cells=_cells(scores, by_item),
        trust=_trust(known, by_item, resampling),
        agreement=among(known, by_item, resampling=resampling),
        guarded=guard((g.rating for g in known), scripts),
        unscored=_reasons(known),
        quorum=quorum,
        plumbing=sorted({g.rating.rater for g in known if g.detail.get("quality") == "plumbing"}),
    )


def _cells(
    scores: Mapping[tuple[str, Aspect], Mapping[str, Sequence[float | None]]], asks: Mapping[str, JudgeAsk]
) -> list[Cell]:
    groups: dict[tuple[str, str, str, bool, Aspect], list[tuple[str, float | None]]] = defaultdict(list)
    for (rater, aspect), items in scores.items():
        for item, said in items.items():
            ask = asks[item]
            groups[rater, ask.writer, ask.editor, ask.edited, aspect] += [(ask.case, s) for s in said]
    order = {a: n for n, a in enumerate(ASPECTS)}
    chosen = sorted(groups, key=lambda g: (g[0], g[1], g[3], g[2], order[g[4]]))
    return [cell(*group, groups[group]) for group in chosen]


def cell(
    rater: str, writer: str, editor: str, edited: bool, aspect: Aspect, said: Sequence[tuple[str, float | None]]
) -> Cell:
    """One cell, from (case, score or None) of every script."""
    good = [(case, s) for case, s in said if s is not None]
    values, cases = [s for _, s in good], [c for c, _ in good]
    found, single = case_interval(values, cases), mean_interval(values)

    def bound(fill: float) -> float | None:
        means = case_means([fill if s is None else s for _, s in said], [c for c, _ in said])
        return sum(means.values()) / len(means) if means else None

    return Cell(
        *(rater, writer, editor, edited, aspect, len(said), len(good), len(set(cases))),
        *(found.mean, found.half, single.half, bound(1.0), bound(7.0)),
    )


def _trust(known: Sequence[Given], asks: Mapping[str, JudgeAsk], how: Resampling) -> list[Trust]:
    groups: dict[tuple[str, Aspect], list[Given]] = defaultdict(list)
    for g in known:
        if g.rater.is_judge:
            groups[g.rating.rater, g.rating.aspect].append(g)
    out = []
    for rater, aspect in sorted(groups, key=lambda k: (k[0], ASPECTS.index(k[1]))):
        mine = groups[rater, aspect]
        twice = retest(mine)
        repeats = binomial_interval(twice.same, twice.n)._replace(name="same rating when asked again")
        scored = [g for g in mine if g.score is not None]
        weighted = sum(bool(g.detail.get("weighted")) for g in scored)
        length = with_length(mine, asks, resampling=how)
        out.append(Trust(rater, aspect, twice, repeats, length, weighted, len(scored)))
    return out


def _reasons(known: Sequence[Given]) -> dict[str, dict[str, int]]:
    """Why ratings are unscored, by rater: the kind of reason, up to its first detail."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for g in known:
        if g.rating.value is None:
            found[g.rating.rater][kind_of(g.rating.reason)] += 1
    return {rater: dict(kinds.most_common()) for rater, kinds in sorted(found.items())}


def kind_of(reason: str) -> str:
    """The kind of a reason for an unscored rating.

    Example:
        >>> kind_of("no usable reply: unparseable: rating: Input should be 1"), kind_of("false quote: 'x' does not ...")
        ('no usable reply: unparseable', 'false quote')
    """
    parts = [p.strip() for p in reason.split(":")]
    at = next(
        (n for n, p in enumerate(parts) if p in ("no usable reply", "no evidence", "false quote", "not asked")), 0
    )
    deeper = parts[at] in ("no usable reply", "not asked") and len(parts) > at + 1
    return ": ".join(parts[at : at + 2]) if deeper else parts[at]
