"""Text level: generated scripts and their ratings, as figures by method and aspect; and whether raters agree.

A script's value is the mean of the ratings that one source gave it. People are one source, every judge is one of its
own (with its form), and people who decide between others (adjudication) are none: their records are of another kind.
The mean of the people is what a judge is held to: it is the panel's mean, not the truth.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from curation.stats.agreement import Agreement, alpha
from curation.stats.bootstrap import case_means
from curation.stats.correlation import ceiling, severity, spearman
from curation.stats.rating_table import rating_table
from evaluation.analysis.tables import Cell, FigureTable
from evaluation.judge.ratings import (
    RatingCell,
    RubricReport,
    agreement_by_aspect,
    check_against_rubric,
    rating_cell,
)
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.generated_scripts import GeneratedScript
from schemas.raters import Rater
from schemas.ratings import SCALES, SCRIPT, Rating
from schemas.text.raw_text import raw_text

ASPECTS: tuple[str, ...] = SCRIPT.aspects
SHORT = {"executability": "Exec.", "coherence": "Coh.", "consistency": "Cons.", "completeness": "Comp."}
PEOPLE = "people"
PROGRAMS = "simulated raters"


class RatedTexts(NamedTuple):
    """Generated scripts and the ratings on them."""

    scripts: tuple[GeneratedScript, ...]
    ratings: tuple[Rating, ...]

    @property
    def synthetic(self) -> bool:
        """Whether some "people" are programs, and named so."""
        return any(rating.rated_by.is_program for rating in self.ratings)

    def of_model(self, model: str) -> RatedTexts:
        """The scripts of one model and their ratings."""
        scripts = tuple(s for s in self.scripts if s.model == model)
        ids = {s.id for s in scripts}
        return self._replace(scripts=scripts, ratings=tuple(r for r in self.ratings if r.item_id in ids))

    @property
    def models(self) -> tuple[str, ...]:
        """Models that wrote scripts."""
        return tuple(dict.fromkeys(s.model for s in self.scripts))

    @property
    def editors(self) -> tuple[str, ...]:
        """Labels of methods, the unedited model first."""
        labels = dict.fromkeys(s.editor for s in self.scripts)
        plain = [s.editor for s in self.scripts if not s.edited]
        return tuple(dict.fromkeys([*plain[:1], *labels]))


class RatingSource(NamedTuple):
    """Who rated: a title for the table, what kind, the raters, cells by method and aspect, values by case."""

    title: str
    person: bool
    raters: tuple[str, ...]
    cells: dict[str, dict[str, RatingCell]]
    values: dict[str, dict[str, dict[str, float]]]  # aspect -> label -> case -> mean

    @property
    def scripted(self) -> bool:
        """Whether a program with rules of its own stands in a judge's place."""
        return not self.person and all(Rater.judge(r).is_scripted for r in self.raters)


def read_texts(path: Path) -> RatedTexts:
    """Generated scripts of a store and the ratings on them.

    Raises:
        StoreError: the store cannot be read.
    """
    from curation.store.store import Store

    with Store.open(path) as store:
        scripts = tuple(store.all(GeneratedScript))
        known = {s.id for s in scripts}
        ratings = tuple(r for r in store.all(Rating) if r.item_id in known)
    return RatedTexts(scripts, ratings)


def stores_of(folders: Sequence[Path], store: Path | None) -> tuple[Path, ...]:
    """The store that was named, and those that runs fed or have in their folders."""
    from curation.files.json_files import read_json
    from evaluation.judge.inputs import RUN_STORE
    from evaluation.runs.results import RUN_FILE

    paths = [] if store is None else [Path(store)]
    for folder in folders:
        path = Path(folder) / RUN_FILE
        config = (read_json(path).get("config") or {}) if path.is_file() else {}
        fed = config.get("feed") or (config.get("split") or {}).get("store")
        paths += [p for p in (Path(folder) / RUN_STORE, *([Path(fed)] if fed else ())) if p.is_file()]
    return tuple({p.resolve(): p for p in paths}.values())


def join_texts(sources: Sequence[RatedTexts]) -> RatedTexts | None:
    """Scripts and ratings of several places, each once; None where there is no script."""
    scripts = {s.id: s for texts in sources for s in texts.scripts}
    ratings = {r.id: r for texts in sources for r in texts.ratings if r.item_id in scripts}
    return RatedTexts(tuple(scripts.values()), tuple(ratings.values())) if scripts else None


def rating_sources(texts: RatedTexts) -> list[RatingSource]:
    """The figures of every source of ratings: people, programs in their place, then judges in order of their names."""
    groups: dict[tuple[bool, str], list[Rating]] = defaultdict(list)
    for rating in texts.ratings:
        rater = rating.rated_by
        if rater.kind == "adjudicated":
            continue
        title = f"{rater.name} ({profile(rating)})" if rater.is_judge else who(rater)
        groups[(rater.is_judge, title)].append(rating)
    return [_source(title, not judge, rated, texts) for (judge, title), rated in sorted(groups.items())]


def rating_tables(source: RatingSource) -> list[FigureTable]:
    """Mean ratings by case, and (folded) as ScEdit's Table 3 has them, with what the unscored ones could change."""
    by = f"a program that answers by rules, {source.title}" if source.scripted else source.title
    raters = f"{len(source.raters)} raters: " if source.person else ""
    names = f"{raters}{', '.join(source.raters)}"
    caption = f"{names}. Integer ratings, points of 7; mean of case means with its interval by case."
    rows = [(label, *(row[a].by_case if a in row else None for a in ASPECTS)) for label, row in source.cells.items()]
    head = ("Method", *(f"{SHORT[a]} ↑" for a in ASPECTS))
    lines: list[tuple[Cell, ...]] = []
    for label, row in source.cells.items():
        for aspect, cell in row.items():
            low, high = cell.bounds or (None, None)
            lines.append((label, SHORT[aspect], cell.by_script, cell.scripts, cell.unscored, low, high))
    details = ("Method", "Aspect", "Mean over scripts", "Scripts", "Unscored", "all 1", "all 7")
    note = "Over scripts, ± 1.96·sd/√scripts. Last columns: the mean by case if all unscored scripts had a 1, or a 7."
    return [
        FigureTable(f"Rated by {by}", head, tuple(rows), caption),
        FigureTable(f"By script, rated by {by}", details, tuple(lines), note, folded=True),
    ]


def who(rater: Rater) -> str:
    """People, programs in their place, or a judge's name.

    Example:
        >>> [who(r) for r in (Rater.person("ann"), Rater.person("synthetic-a"), Rater.judge("gpt-4o"))]
        ['people', 'simulated raters', 'gpt-4o']
    """
    if rater.is_judge:
        return rater.name
    return PROGRAMS if rater.is_program else PEOPLE


def profile(rating: Rating) -> str:
    """A form's name and version without the aspect, so that the four aspects of one judge stand together.

    Example:
        >>> told = {"item_id": "0" * 20, "aspect": "coherence", "value": 7, "rater": "judge:m", "key": "k"}
        >>> profile(Rating(form="judge_coherence@2", **told)), profile(Rating(form="rate_script@1", **told))
        ('judge@2', 'rate_script@1')
    """
    name, _, version = rating.form.partition("@")
    bare = re.sub(rf"_?{rating.aspect}_?", "_", name).strip("_")
    return f"{bare or name}@{version}"


def script_values(ratings: Iterable[Rating]) -> dict[str, dict[str, float | None]]:
    """Aspect -> item id -> mean rating; None where every rating of it is unscored."""
    collected: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for r in ratings:
        values = collected[r.aspect][r.item_id]
        if r.value is not None:
            values.append(r.value)
    return {a: {i: sum(v) / len(v) if v else None for i, v in items.items()} for a, items in collected.items()}


def _source(title: str, person: bool, rated: Sequence[Rating], texts: RatedTexts) -> RatingSource:
    by_id = {s.id: s for s in texts.scripts}
    means = script_values(rated)
    cells: dict[str, dict[str, RatingCell]] = {}
    values: dict[str, dict[str, dict[str, float]]] = {}
    for aspect in ASPECTS:
        scale = {r.scale for r in rated if r.aspect == aspect}
        low, high = SCALES[next(iter(scale), "likert7")]
        of_aspect = means.get(aspect, {})
        for label in texts.editors:
            mine = {i: v for i, v in of_aspect.items() if by_id[i].editor == label}
            if not mine:
                continue
            scores = [(by_id[i].case, value) for i, value in mine.items()]
            cells.setdefault(label, {})[aspect] = rating_cell(scores, (low, high))
            scored = [(case, value) for case, value in scores if value is not None]
            values.setdefault(aspect, {})[label] = case_means([v for _, v in scored], [case for case, _ in scored])
    raters = tuple(sorted({r.rater.partition(":")[2] for r in rated}))
    return RatingSource(title, person, raters, cells, values)


MOST_DISAGREEMENTS = 40
AGREED = ("Aspect", "Scripts", "Raters", "Ratings", "Alpha (ordinal)", "AC2 (quadratic)", "Exact", "Within one")


class RatingAgreement(NamedTuple):
    """Agreement of the people and of the judges by aspect, judges against people, rubric check.

    ``against`` has a row for every judge and aspect, over the scripts that both rated: title of the judge, aspect,
    scripts, their cases; Spearman's rho with the mean of the people, the highest one that a perfect judge could reach,
    Krippendorff's alpha (interval) of the two as raters, and the mean of judge minus people in points. ``labels`` is
    the method of each script; ``doubled`` says why the people's agreement is undefined.
    """

    people: Mapping[str, Agreement]
    judges: Mapping[str, Agreement]
    against: tuple[tuple[Cell, ...], ...]
    rubric: RubricReport
    labels: Mapping[str, str]
    doubled: str


def rating_agreement(texts: RatedTexts, cases: Mapping[str, Case]) -> RatingAgreement | None:
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
        tables, doubled = agreement_by_aspect([(r.rater, r) for r in people], home), ""
    except UserError as error:
        tables, doubled = {}, str(error)
    first: dict[tuple[str, str, str], tuple[str, Rating]] = {}  # of a test-retest
    for name, rated in sorted(judges.items()):
        for r in rated:
            first.setdefault((name, r.item_id, r.aspect), (name, r))
    among = agreement_by_aspect(list(first.values()), home)
    scripts = {
        s.id: (raw_text(s.text), cases[s.case].fact)
        for s in texts.scripts
        if s.case in cases and cases[s.case].fact.new is not None
    }
    rubric = check_against_rubric(ratings, scripts)
    against = [
        one
        for name, rated in sorted(judges.items())
        for aspect in ASPECTS
        if (one := _judge_against_people(aspect, name, rated, people, home)) is not None
    ]
    by_people, by_judges = ({str(aspect): one for aspect, one in some.items()} for some in (tables, among))
    return RatingAgreement(
        by_people, by_judges, tuple(against), rubric, {s.id: s.editor for s in texts.scripts}, doubled
    )


def agreement_tables(found: RatingAgreement, *, raters: str) -> list[FigureTable]:
    """The tables of the section; ``raters``: what those who are no judges are called."""
    caption = "Where nearly all ratings are equal, alpha is about 0 despite near-perfect agreement: read AC2 and exact."
    tables = [
        FigureTable(f"Agreement among {raters}", AGREED, agreement_rows(found.people), found.doubled or caption),
        FigureTable("Agreement among judges", AGREED, agreement_rows(found.judges)),
        FigureTable(
            f"Judges compared with {raters}",
            ("Judge", "Aspect", "Scripts", "Cases", "Spearman", "Ceiling", "Alpha (interval)", "Judge less people"),
            found.against,
            "Ceiling: what a judge who knew these people's long-run mean could reach. ScEdit: alpha 0.43, rho 0.72.",
        ),
        *rubric_tables(found.rubric, found.labels),
    ]
    return [table for table in tables if table.rows]


def rubric_tables(
    found: RubricReport, labels: Mapping[str, str], *, most: int = MOST_DISAGREEMENTS
) -> list[FigureTable]:
    """How many ratings follow the rubric's fixed rules, and the first that do not; ``labels``: methods of scripts."""
    ruled = tuple(
        (rater, aspect, count, found.agreed[rater, aspect], count - found.agreed[rater, aspect])
        for (rater, aspect), count in sorted(found.ruled.items())
    )
    deviating = tuple(
        (d.rater, labels[d.item], d.aspect, d.given, d.rule, d.why, d.item[:12]) for d in found.disagreements[:most]
    )
    about = "Some ratings follow from the objects that a script names (ScEdit Figures 9 and 10). None is corrected."
    listed = f"Ratings that deviate ({min(most, len(found.disagreements))} of {len(found.disagreements)})"
    heads = ("Rater", "Method", "Aspect", "Given", "The rule", "Why", "Script")
    return [
        FigureTable(
            "Consistency with the rubric",
            ("Rater", "Aspect", "Covered by a rule", "Following it", "Deviating"),
            ruled,
            about,
        ),
        FigureTable(listed, heads, deviating, folded=True),
    ]


def agreement_rows(agreements: Mapping[str, Agreement]) -> tuple[tuple[Cell, ...], ...]:
    """Rows under ``AGREED``, an aspect each."""
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
) -> tuple[Cell, ...] | None:
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
        top = ceiling(table, k=max(1, round(k)))
    rho = spearman(x, y, cases, names=("ratings of the judge", "ratings of people"))
    same = alpha(two, level="interval")
    return name, aspect, len(both), len(set(cases)), rho, top, same, severity(x, y, cases)
