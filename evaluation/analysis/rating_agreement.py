"""Whether raters can be believed: people among themselves, every judge against people, both against the rubric's rules.

The mean of the people is what a judge is held to: it is the panel's mean, not the truth.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from curation.stats.agreement import alpha
from curation.stats.bootstrap import DEFAULT, Resampling
from curation.stats.correlation import severity, spearman
from curation.stats.estimates import Estimate
from curation.stats.panel import Agreement
from curation.stats.rating_table import rating_table
from curation.stats.reliability import ceiling
from evaluation.analysis.tables import Cell, FigureTable
from evaluation.analysis.text_ratings import ASPECTS, PEOPLE, RatedTexts, profile, script_values
from evaluation.judge.reliability.panel import agreement_by_aspect
from evaluation.judge.reliability.rubric import (
    RubricReport,
    RuledScript,
    check_against_rubric,
)
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.ratings import Rating
from schemas.text.raw_text import raw_text

MOST_DISAGREEMENTS = 40
AGREED = ("Aspect", "Scripts", "Raters", "Ratings", "Alpha (ordinal)", "AC2 (quadratic)", "Exact", "Within one")


class JudgeAgainstPeople(NamedTuple):
    """A judge against the mean of the people on one aspect, over the scripts that both rated.

    Attributes:
        aspect: Which.
        judge: Title of the judge.
        scripts: Scripts that both rated.
        cases: Cases that these belong to.
        rho: Spearman.
        alpha: Krippendorff's, interval, of the judge and the people's mean as two raters.
        gap: Mean of judge minus people, in points.
        ceiling: Highest correlation a perfect judge could reach.
    """

    aspect: str
    judge: str
    scripts: int
    cases: int
    rho: Estimate
    alpha: Estimate
    gap: Estimate
    ceiling: Estimate | None


class RatingAgreement(NamedTuple):
    """Agreement of the people and of the judges by aspect, judges against people, rubric check.

    ``labels`` is the method of each script; ``doubled`` says why the people's agreement is undefined.
    """

    people: Mapping[str, Agreement]
    judges: Mapping[str, Agreement]
    against: tuple[JudgeAgainstPeople, ...]
    rubric: RubricReport
    labels: Mapping[str, str]
    doubled: str


def rating_agreement(
    texts: RatedTexts, cases: Mapping[str, Case], resampling: Resampling = DEFAULT
) -> RatingAgreement | None:
    """The section for one model's scripts; None without ratings."""
    ratings = [r for r in texts.ratings if r.rated_by.kind != "adjudicated"]
    if not ratings:
        return None
    home = {s.id: s.case for s in texts.scripts}
    people = [r for r in ratings if not r.rated_by.is_judge]
    judges: dict[str, list[Rating]] = defaultdict(list)
    for r in ratings:
        if r.rated_by.is_judge:
            judges[f"{r.rated_by.name} ({profile(r)})"].append(r)
    try:
        tables, doubled = agreement_by_aspect([(r.rater, r) for r in people], home, resampling), ""
    except UserError as error:
        tables, doubled = {}, str(error)
    first: dict[tuple[str, str, str], tuple[str, Rating]] = {}  # of a test-retest
    for name, rated in sorted(judges.items()):
        for r in rated:
            first.setdefault((name, r.item_id, r.aspect), (name, r))
    among = agreement_by_aspect(list(first.values()), home, resampling)
    scripts = {
        s.id: RuledScript(raw_text(s.text), cases[s.case].fact, s.edited)
        for s in texts.scripts
        if s.case in cases and cases[s.case].fact.new is not None
    }
    rubric = check_against_rubric(ratings, scripts)
    against = [
        one
        for name, rated in sorted(judges.items())
        for aspect in ASPECTS
        if (one := _judge_against_people(aspect, name, rated, people, home, resampling)) is not None
    ]
    by_people, by_judges = ({str(aspect): one for aspect, one in some.items()} for some in (tables, among))
    return RatingAgreement(
        by_people, by_judges, tuple(against), rubric, {s.id: s.editor for s in texts.scripts}, doubled
    )


def agreement_tables(found: RatingAgreement, *, raters: str) -> list[FigureTable]:
    """The tables of the section; ``raters``: what those who are no judges are called."""
    caption = "Where nearly all ratings are equal, alpha is about 0 despite near-perfect agreement: read AC2 and exact."
    tables = [
        FigureTable(f"Agreement among {raters}", AGREED, _agreement_rows(found.people), found.doubled or caption),
        FigureTable("Agreement among judges", AGREED, _agreement_rows(found.judges)),
        FigureTable(
            f"Judges compared with {raters}",
            ("Judge", "Aspect", "Scripts", "Cases", "Spearman", "Ceiling", "Alpha (interval)", "Judge less people"),
            tuple((a.judge, a.aspect, a.scripts, a.cases, a.rho, a.ceiling, a.alpha, a.gap) for a in found.against),
            "Ceiling: what a judge who knew these people's long-run mean could reach. ScEdit: alpha 0.43, rho 0.72.",
        ),
        FigureTable(
            "Consistency with the rubric",
            ("Rater", "Aspect", "Covered by a rule", "Following it", "Deviating"),
            tuple(
                (rater, aspect, ruled, found.rubric.agreed[rater, aspect], ruled - found.rubric.agreed[rater, aspect])
                for (rater, aspect), ruled in sorted(found.rubric.ruled.items())
            ),
            "Some ratings follow from the objects that a script names (ScEdit Figures 9 and 10). None is corrected.",
        ),
        FigureTable(
            f"Ratings that deviate (the first {MOST_DISAGREEMENTS})",
            ("Rater", "Method", "Aspect", "Given", "The rule", "Why", "Script"),
            tuple(
                (d.rater, found.labels[d.item], d.aspect, d.given, d.rule, d.why, d.item[:12])
                for d in found.rubric.disagreements[:MOST_DISAGREEMENTS]
            ),
            folded=True,
        ),
    ]
    return [table for table in tables if table.rows]


def _agreement_rows(agreements: Mapping[str, Agreement]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (aspect.capitalize(), a.units, a.raters, a.ratings, a.alpha, a.ac2, a.exact, a.within_one)
        for aspect, a in agreements.items()
    )


def _judge_against_people(
    aspect: str,
    name: str,
    rated: Sequence[Rating],
    people: Sequence[Rating],
    home: Mapping[str, str],
    resampling: Resampling,
) -> JudgeAgainstPeople | None:
    """None where judge and people share no script on the same terms."""
    theirs = [r for r in people if r.aspect == aspect]
    judge = script_values(r for r in rated if r.aspect == aspect).get(aspect, {})
    panel = script_values(theirs).get(aspect, {})
    both = sorted((i for i in judge if judge[i] is not None and panel.get(i) is not None), key=lambda i: (home[i], i))
    if not both:
        return None
    x, y = [float(judge[i] or 0) for i in both], [float(panel[i] or 0) for i in both]
    cases = [home[i] for i in both]
    rows = [(i, who, v) for who, values in ((name, x), (PEOPLE, y)) for i, v in zip(both, values, strict=True)]
    two = rating_table(rows, cases=home)
    top = None
    if len({r.rater for r in theirs}) > 1:
        shared = [(r.item_id, r.rater, r.value) for r in theirs if r.item_id in set(both)]
        table = rating_table(shared, cases=home, scale=tuple(range(1, 8)))
        k = sum(not math.isnan(v) for row in table.codes.tolist() for v in row) / len(table.units)
        top = ceiling(table, k=max(1, round(k)), resampling=resampling)
    return JudgeAgainstPeople(
        aspect,
        name,
        len(both),
        len(set(cases)),
        spearman(x, y, cases, resampling=resampling, names=("ratings of the judge", "ratings of people")),
        alpha(two, level="interval", resampling=resampling),
        severity(x, y, cases),
        top,
    )
