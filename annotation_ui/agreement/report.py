"""Agreement on a task: the same numbers for the command, the page and the lead's view, all from ``curation.stats``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from annotation_ui.campaigns.campaign import campaign_task, task_of
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.base import RatingTask
from curation.stats.agreement import (
    Agreement,
    Level,
    agreement,
    alpha,
    exact_agreement,
    leave_one_out,
    pairwise,
    severity,
)
from curation.stats.bootstrap import DEFAULT, Resampling
from curation.stats.bounded import SHARE, case_mean_estimate
from curation.stats.correlation import ceiling, kendall, spearman
from curation.stats.correlation import severity as difference
from curation.stats.estimates import Estimate, Floats, undefined
from curation.stats.rating_table import Category, RatingTable, rating_table
from curation.store.store import Store
from schemas.raters import Rater
from schemas.ratings import Rating, rubric_of
from schemas.text.counting import counted


class Judgement(NamedTuple):
    """One answer of one person to one question about one item.

    Attributes:
        item: Content id.
        case: The cluster of intervals.
        rater: Who answered.
        aspect: Name of the form's field.
        value: ``yes``, ``no``, the number on the scale, or the choices of a set (``task.sets``), divided by commas.
        at: When it was saved.
        seconds: Time that the whole item took.
        part: Of the items, where agreement is reported apart for each ("in scope"); empty: none.
    """

    item: str
    case: str
    rater: Rater
    aspect: str
    value: Category
    at: str = ""
    seconds: float | None = None
    part: str = ""

    @property
    def name(self) -> str:
        """Of the rater, in tables: a pseudonym, or ``judge:MODEL``."""
        return self.rater.label


def live_judgements(db: RatingsDB, name: str) -> list[Judgement]:
    """The current answers of a campaign's real items, as far as the form can read them (see ``unreadable_answers``)."""
    task, items = campaign_task(db, name), db.items(name)
    out = []
    for r in db.current_answers(name):
        placed = items.get(r.item)
        if placed is None or placed.purpose != "real" or not r.answers or r.form != task.form.label:
            continue
        rater, part = Rater.person(r.person), task.part(placed.item)
        base = Judgement(r.item, placed.item.case, rater, "", "", r.saved_at, r.seconds, part)
        for field in task.form.asked_fields():
            value = r.answers.get(field.name)
            if field.name in r.answers and value is not None and not field.fault(value):
                out.append(base._replace(aspect=field.name, value=value))
        for name in task.sets:
            chosen = r.answers.get(name) or ()
            if not task.form.field(name).fault(chosen):
                out.append(base._replace(aspect=name, value=", ".join(chosen)))
    return out


def unreadable_answers(db: RatingsDB, name: str) -> int:
    """How many current answers of a campaign the form cannot read, or belong to no item; statistics leave them out."""
    form, items = task_of(db, name).form, db.items(name)
    return sum(
        r.item not in items or r.form != form.label or bool(form.faults(r.answers or {}))
        for r in db.current_answers(name)
    )


def judgements_by_judges(store: Store, task: RatingTask, people: Sequence[Judgement]) -> list[Judgement]:
    """What judges said, by the store, of the items that people answered; with the people's case."""
    cases = {m.item: m.case for m in people}
    aspects = {f.name for f in task.form.asked_fields()}
    rubric = rubric_of(aspects) if task.level == "ordinal" else None
    if rubric is None:
        return []
    return [
        Judgement(r.item_id, cases[r.item_id], r.rated_by, r.aspect, r.value)
        for r in store.all(Rating)
        if r.rated_by.is_judge
        and r.rubric == rubric.name
        and r.aspect in aspects
        and r.item_id in cases
        and r.value is not None
    ]


def judgement_table(judgements: Iterable[Judgement], task: RatingTask, aspect: str) -> RatingTable:
    """The judgements of one aspect as a table for ``curation.stats``."""
    mine = [m for m in judgements if m.aspect == aspect]
    scale: tuple[Category, ...] = task.form.field(aspect).categories
    rows = [(m.item, m.name, m.value) for m in mine]
    return rating_table(rows, cases={m.item: m.case for m in mine}, scale=scale)


_DRIFT = ("answers in order", "differences from the others")
PUBLISHED = {"executability": 0.59, "coherence": 0.35, "consistency": -0.09, "completeness": 0.25}
"""Krippendorff's alpha between three people, ScEdit Table 5; 400 scripts, level not stated."""
PUBLISHED_MEAN = 0.275
"""Mean of the four of Table 5, which is not the pooled value."""
PUBLISHED_POOLED = 0.45
"""Alpha as the paper prints it in Appendix C.2, over all four metrics together."""
PUBLISHED_JUDGE = {"alpha": 0.43, "spearman": 0.72}
"""People against the paper's judge (section 4.2.2 and Appendix C.2)."""


class RaterPair(NamedTuple):
    """Two raters, or people and a judge, on the items that both rated.

    ``alpha`` and ``difference`` are given for a judge, whose ratings stand against the people's mean: alpha with that
    mean rounded to the scale, the difference with the mean itself.
    """

    first: str
    second: str
    spearman: Estimate
    kendall: Estimate
    exact: Estimate
    difference: Estimate | None = None
    alpha: Estimate | None = None


class AspectReport(NamedTuple):
    """All that is said of one aspect.

    Attributes:
        aspect: Name of the field.
        agreement: Alpha, AC1, AC2, exact and within-one agreement, prevalence, between people.
        pairs: Every two people.
        without: Alpha when a person is left out.
        severity: How much higher (+) or lower (-) than the others a person rates.
        drift: Spearman of a person's gap to the others with the order of saving: a rise says they grew kinder.
        ceiling: The highest correlation that a perfect judge could reach with the mean of these people.
        judges: Each judge against the mean of the people.
        published: The paper's alpha for this aspect, where it has one.
    """

    aspect: str
    agreement: Agreement
    pairs: tuple[RaterPair, ...]
    without: Mapping[str, Estimate]
    severity: Mapping[str, Estimate]
    drift: Mapping[str, Estimate]
    ceiling: Estimate
    judges: tuple[RaterPair, ...]
    published: float | None


class TaskReport(NamedTuple):
    """Agreement on a task.

    Attributes:
        task: Label of the form.
        people: Who rated; ``synthetic`` lists the programs among them.
        items: Items with an answer of a person.
        cases: Cases they belong to.
        aspects: One report an aspect.
        pooled: Alpha over all aspects together, each item and aspect a unit: higher than the aspects' own wherever
            their means differ, so it is never more than a footnote. None for a single aspect.
        seconds: Median seconds an item, by person.
        parts: The same for each part of the items, where the task has parts.
        sets: Agreement on sets of choices (tags), by field.
    """

    task: str
    people: tuple[str, ...]
    synthetic: tuple[str, ...]
    items: int
    cases: int
    aspects: tuple[AspectReport, ...]
    pooled: Estimate | None
    seconds: Mapping[str, float | None]
    parts: Mapping[str, TaskReport] = {}
    sets: Mapping[str, Estimate] = {}


def agreement_report(
    judgements: Sequence[Judgement], task: RatingTask, *, resampling: Resampling = DEFAULT
) -> TaskReport:
    """All agreement statistics of a task's judgements.

    Args:
        judgements: From ``live_judgements`` and ``judgements_by_judges``; raters named
            ``judge:...`` are compared with the people.
        task: The task.
        resampling: For all intervals; cases are resampled.
    """
    judgements = sorted(
        judgements, key=lambda m: (m.item, m.name, m.aspect)
    )  # the same draws whatever the order they came in
    human_judgements = [m for m in judgements if not m.rater.is_judge]
    names = tuple(sorted({m.name for m in human_judgements}))
    aspects = tuple(
        _aspect(f.name, human_judgements, [m for m in judgements if m.rater.is_judge], task, resampling)
        for f in task.form.asked_fields()
        if any(m.aspect == f.name for m in human_judgements)
    )
    parts = sorted({m.part for m in judgements if m.part})
    by_part = {part: [m._replace(part="") for m in judgements if m.part == part] for part in parts}
    return TaskReport(
        task=task.form.label,
        people=names,
        synthetic=tuple(sorted({m.name for m in human_judgements if m.rater.is_program})),
        items=len({m.item for m in human_judgements}),
        cases=len({m.case for m in human_judgements}),
        aspects=aspects,
        pooled=_pooled_estimate(human_judgements, task, resampling) if len(aspects) > 1 else None,
        seconds={n: _median([m for m in human_judgements if m.name == n]) for n in names},
        parts={part: agreement_report(some, task, resampling=resampling) for part, some in by_part.items()},
        sets={name: jaccard([m for m in human_judgements if m.aspect == name]) for name in task.sets},
    )


def _level(task: RatingTask, aspect: str) -> Level:
    return "ordinal" if task.level == "ordinal" or task.form.field(aspect).kind == "scale" else "nominal"


def _aspect(
    aspect: str, people: Sequence[Judgement], judges: Sequence[Judgement], task: RatingTask, resampling: Resampling
) -> AspectReport:
    table, level = judgement_table(people, task, aspect), _level(task, aspect)

    def its_alpha(some: RatingTable) -> Estimate:
        return alpha(some, level=level, resampling=resampling)

    numeric = table.numeric
    return AspectReport(
        aspect=aspect,
        agreement=agreement(table, level=level, resampling=resampling),
        pairs=_pairs(table, level, resampling),
        without=leave_one_out(table, its_alpha) if len(table.raters) > 2 else {},
        severity=severity(table) if numeric else {},
        drift=_drift(table, people, aspect, resampling) if numeric else {},
        ceiling=ceiling(table, resampling=resampling),
        judges=_judges(table, judges, task, aspect, resampling) if numeric else (),
        published=PUBLISHED.get(aspect) if numeric else None,
    )


def _pairs(ratings: RatingTable, level: Level, resampling: Resampling) -> tuple[RaterPair, ...]:
    exact = pairwise(ratings, exact_agreement)
    out = []
    for (a, b), same in exact.items():
        two = ratings.of_raters((a, b)).values
        both = np.flatnonzero(~np.isnan(two).any(axis=1))
        if not ratings.numeric and (why := _no_order(ratings, level, (a, b), two[both])):
            none = undefined("correlation", why, n=len(both))
            out.append(RaterPair(a, b, none, none, same))
            continue
        cases = [ratings.cases[int(u)] for u in both]
        out.append(_correlate(a, b, two[both, 0].tolist(), two[both, 1].tolist(), cases, same, resampling))
    return tuple(out)


def _no_order(ratings: RatingTable, level: Level, people: tuple[str, str], codes: Floats) -> str:
    """Why answers in words have no rank correlation; empty if they have one."""
    if level == "nominal" and len(ratings.scale) > 2:
        return "the answers have no order"
    for person, given in zip(people, codes.T, strict=True):
        if len(given) > 2 and len(set(given)) == 1:
            return f"{person} answered {ratings.scale[int(given[0])]} to all {len(given)} items in common"
    return ""


def _correlate(
    a: str, b: str, x: list[float], y: list[float], cases: list[str], same: Estimate, resampling: Resampling
) -> RaterPair:
    if len(x) < 3:
        few = undefined("correlation", f"they have {counted(len(x), 'item')} in common", n=len(x))
        return RaterPair(a, b, few, few, same)
    names = (f"answers of {a} to the {len(x)} items in common", f"answers of {b} to the {len(x)} items in common")
    rho, tau = (f(x, y, cases, resampling=resampling, names=names) for f in (spearman, kendall))
    return RaterPair(a, b, rho, tau, same)


def _drift(
    ratings: RatingTable, judgements: Sequence[Judgement], aspect: str, resampling: Resampling
) -> dict[str, Estimate]:
    saved = {(m.item, m.name): m.at for m in judgements if m.aspect == aspect}
    out = {}
    for n, person in enumerate(ratings.raters):
        others = np.delete(ratings.values, n, axis=1)
        shared = [u for u in range(len(ratings.units)) if not np.isnan(ratings.values[u, n])]
        shared = [u for u in shared if not np.isnan(others[u]).all() and saved.get((ratings.units[u], person))]
        if len(shared) < 5:
            out[person] = undefined("drift", f"{person} shares {len(shared)} dated items with others, fewer than 5")
            continue
        order = np.argsort(np.argsort([saved[ratings.units[u], person] for u in shared], kind="stable"), kind="stable")
        gap = [float(ratings.values[u, n] - np.nanmean(others[u])) for u in shared]
        cases = [ratings.cases[u] for u in shared]
        out[person] = spearman(order.tolist(), gap, cases, resampling=resampling, names=_DRIFT)
    return out


def _judges(
    ratings: RatingTable, judges: Sequence[Judgement], task: RatingTask, aspect: str, resampling: Resampling
) -> tuple[RaterPair, ...]:
    means = {u: float(np.nanmean(row)) for u, row in zip(ratings.units, ratings.values, strict=True)}
    cases = dict(zip(ratings.units, ratings.cases, strict=True))
    out = []
    for name in sorted({m.name for m in judges}):
        mine = {m.item: float(m.value) for m in judges if m.name == name and m.aspect == aspect}
        items = [i for i in means if i in mine]
        x, y, of = [mine[i] for i in items], [means[i] for i in items], [cases[i] for i in items]
        rows = [(i, who, v) for i in items for who, v in ((name, mine[i]), ("people", round(means[i])))]
        both = rating_table(rows, cases={i: cases[i] for i in items}, scale=tuple(range(1, 8)))
        same = exact_agreement(both)
        pair = _correlate(name, "mean of people", x, y, of, same, resampling)
        if len(x) >= 3:
            both_alpha = alpha(both, level="ordinal", resampling=resampling)
            pair = pair._replace(difference=difference(x, y, of), alpha=both_alpha)
        out.append(pair)
    return tuple(out)


def _pooled_estimate(judgements: Sequence[Judgement], task: RatingTask, resampling: Resampling) -> Estimate | None:
    """Alpha over all aspects; None where they have different answers (yes or no beside a scale)."""
    fields = {f.name: f for f in task.form.asked_fields()}
    scale: tuple[Any, ...] = next(iter(fields.values())).categories
    if any(field.categories != scale for field in fields.values()):
        return None
    rows = [(f"{m.item}/{m.aspect}", m.name, m.value) for m in judgements if m.aspect in fields]
    cases = {f"{m.item}/{m.aspect}": m.case for m in judgements}
    level = _level(task, next(iter(fields)))
    estimate = alpha(rating_table(rows, cases=cases, scale=scale), level=level, resampling=resampling)
    return estimate._replace(name=f"{estimate.name}, pooled over aspects")


def _median(judgements: Sequence[Judgement]) -> float | None:
    times = {m.item: m.seconds for m in judgements if m.seconds is not None}
    return median(times.values()) if times else None


class ItemDisagreement(NamedTuple):
    """An item on which people differ: how far apart they are, and what each said."""

    item: str
    case: str
    spread: float
    said: Mapping[str, Mapping[str, Any]]


def disagreements(judgements: Sequence[Judgement], task: RatingTask) -> list[ItemDisagreement]:
    """Items by how far people are apart, most first: the widest gap on a scale over its length, else 0 or 1.

    An item's spread is the mean over its aspects; items that everybody judged alike are left out.
    """
    items: dict[str, dict[str, dict[str, Any]]] = {}
    cases: dict[str, str] = {}
    for m in judgements:
        if not m.rater.is_judge:
            items.setdefault(m.item, {}).setdefault(m.name, {})[m.aspect] = m.value
            cases[m.item] = m.case
    fields = task.form.asked_fields()
    out = []
    for item, answers_by_person in items.items():
        gaps = []
        for field in fields:
            values = [answers[field.name] for answers in answers_by_person.values() if field.name in answers]
            if len(values) < 2:
                continue
            wide = max(values) - min(values) if field.kind == "scale" else float(len(set(values)) > 1)
            gaps.append(wide / (field.high - field.low) if field.kind == "scale" else wide)
        for name in task.sets:
            sets = {set_of(answers[name]) for answers in answers_by_person.values() if name in answers}
            gaps += [float(len(sets) > 1)] if sets else []
        spread = sum(gaps) / len(gaps) if gaps else 0.0
        if spread > 0:
            out.append(ItemDisagreement(item, cases[item], spread, answers_by_person))
    return sorted(out, key=lambda d: (-d.spread, d.item))


_JACCARD = "Jaccard index"


def set_of(value: object) -> frozenset[str]:
    """The choices of a stored set.

    Example:
        >>> sorted(set_of("place, time")), set_of("")
        (['place', 'time'], frozenset())
    """
    return frozenset(name for name in str(value).split(", ") if name)


def jaccard(judgements: Sequence[Judgement]) -> Estimate:
    """What two people's sets share over what they hold together: mean over pairs, then items, then cases.

    Items where everybody chose nothing are left out: their index is 0 / 0.

    Args:
        judgements: Of one aspect, whose values are sets.
    """
    sets: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    cases = {}
    for judgement in judgements:
        sets[judgement.item][judgement.name] = set_of(judgement.value)
        cases[judgement.item] = judgement.case
    values, clusters = [], []
    for item in sorted(sets):
        pairs = [(a, b) for a, b in combinations(sets[item].values(), 2) if a | b]
        if pairs:
            values.append(sum(len(a & b) / len(a | b) for a, b in pairs) / len(pairs))
            clusters.append(cases[item])
    if not values:
        return undefined(_JACCARD, "no item has the choices of two people")
    return case_mean_estimate(_JACCARD, values, clusters, SHARE)
