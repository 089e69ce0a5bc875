"""Ratings out of a store: what their lineage says, how reliable each judge is, and the rubric's fixed rules.

Some ratings follow from which of the two objects a script names (ScEdit Figures 9 and 10): both objects bring Coherence
2, only the old one 1, neither 3; a script that names fewer than two objects has Consistency 7. Disagreements are
reported and never corrected: in the paper's own Table 7 two of its ratings deviate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from curation.stats.agreement import Agreement, agreement
from curation.stats.bootstrap import DEFAULT, Resampling, case_means
from curation.stats.bounded import clustered_interval
from curation.stats.correlation import spearman
from curation.stats.estimates import Estimate, undefined
from curation.stats.intervals import Interval, mean_interval
from curation.stats.rating_table import rating_table
from evaluation.editors.baselines import CONTROL_METHODS
from evaluation.judge.inputs import JudgeInput
from schemas.facts import Fact
from schemas.lineage import Lineage
from schemas.raters import Rater
from schemas.ratings import RUBRICS, Aspect, Rating
from schemas.text.mentions import find

if TYPE_CHECKING:
    from curation.store.store import Store


JUDGE_STAGE = "judge"  # of the lineage that judges' ratings come with
_PEOPLE_STAGE = "annotation"
_GENERATED_STAGE = "generate"


POINTS = "points"


class RatingCell(NamedTuple):
    """One method on one aspect by one source.

    Attributes:
        by_case: Mean of case means with its interval on the scale: cases are what is independent.
        by_script: Mean over scripts ± 1.96·sd/√scripts, as if scripts were independent (ScEdit's Table 3 looks so).
        scripts: Rated scripts.
        unscored: Scripts that the source left unscored; they are in no mean.
        bounds: ``by_case``'s mean if every unscored script had the lowest or the highest rating; None where none is.
    """

    by_case: Interval
    by_script: Interval
    scripts: int
    unscored: int
    bounds: tuple[float, float] | None


def rating_cell(case_scores: Sequence[tuple[str, float | None]], scale: tuple[float, float]) -> RatingCell:
    """The figures of one method on one aspect.

    Args:
        case_scores: Case and score of every script; None where it is unscored.
        scale: Lowest and highest rating.
    """
    scored = [(case, score) for case, score in case_scores if score is not None]
    values, lost = [score for _, score in scored], len(case_scores) - len(scored)

    def mean_if(unscored: float) -> float:
        filled = [unscored if score is None else score for _, score in case_scores]
        return fmean(case_means(filled, [case for case, _ in case_scores]).values())

    return RatingCell(
        clustered_interval(values, [case for case, _ in scored], scale=scale)._replace(unit=POINTS),
        mean_interval(values)._replace(unit=POINTS),
        len(scored),
        lost,
        (mean_if(scale[0]), mean_if(scale[1])) if lost else None,
    )


class RatedScript(NamedTuple):
    """A rating with what its lineage says.

    Attributes:
        rating: The rating.
        detail: Of the lineage: ``samples``, ``retest``; ``probability``, ``synthetic`` for people.
        line: The lineage; None where the store has none.
    """

    rating: Rating
    detail: dict[str, Any]
    line: Lineage | None

    @property
    def score(self) -> float | None:
        """The rating as a number; None where it is unscored."""
        return None if self.rating.value is None else float(self.rating.value)

    @property
    def rater(self) -> Rater:
        """Who rated."""
        return self.rating.rated_by

    @property
    def adjudicated(self) -> bool:
        """Whether it is a lead's decision between others."""
        return self.rater.kind == "adjudicated"


def rated_scripts(store: Store, items: Iterable[str] | None = None) -> list[RatedScript]:
    """Ratings of people and judges with their lineage, all or those of some texts, in the order of their keys.

    Args:
        store: Where they are.
        items: Content ids of texts; None for all.
    """
    ratings = list(store.all(Rating)) if items is None else store.of_parents(Rating, items)
    lines: dict[str, Lineage] = {}
    for stage in (JUDGE_STAGE, _PEOPLE_STAGE):
        for line in store.lineages(stage=stage):
            if line.item_id not in lines or "retest" in line.detail or "retest" not in lines[line.item_id].detail:
                lines[line.item_id] = line
    known = [(rating, lines.get(rating.id)) for rating in ratings]
    return [RatedScript(rating, {} if line is None else dict(line.detail), line) for rating, line in known]


def control_labels(store: Store, texts: Iterable[JudgeInput]) -> frozenset[str]:
    """Which labels stand for a control method: by the method that the lineage names, else by the label itself.

    Args:
        store: Where the texts are.
        texts: Scripts or open answers, as they are judged.
    """
    editors = {text.item: text.editor for text in texts}
    methods: dict[str, set[str]] = {label: set() for label in editors.values()}
    for line in store.lineages(stage=_GENERATED_STAGE):
        if line.item_id in editors and (method := line.detail.get("method")):
            methods[editors[line.item_id]].add(method)
    return frozenset(label for label, known in methods.items() if (known or {label}) & CONTROL_METHODS)


def question_authors(store: Store) -> set[str]:
    """Models that wrote the questions, by the lineage."""
    return {line.model for line in store.lineages(stage="questions") if line.model}


ORDER = tuple(dict.fromkeys(aspect for rubric in RUBRICS.values() for aspect in rubric.aspects))


def judge_agreement(
    ratings: Sequence[RatedScript], asks: Mapping[str, JudgeInput], *, resampling: Resampling = DEFAULT
) -> dict[Aspect, Agreement]:
    """Agreement among judges, one aspect a table; aspects with fewer than two judges are left out."""
    judged = [(g.rating.rater, g.rating) for g in ratings if g.rater.is_judge and g.rating.item_id in asks]
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


NamedObjects = Literal["both", "old", "new", "neither"]

_COHERENCE: Mapping[NamedObjects, int | None] = {"both": 2, "old": 1, "neither": 3, "new": None}
_WORDS: Mapping[NamedObjects, str] = {
    "both": "names both objects",
    "old": "names the old object only",
    "new": "names the new object only",
    "neither": "names neither object",
}


def named_objects(text: str, fact: Fact) -> NamedObjects:
    """Which objects of an edit a text names, literally: their own text as whole words, case aside, no other names.

    What is only part of a longer mention of the other object does not count ("York" where the other is New York).

    Raises:
        UserError: the fact has no new object.

    Example:
        >>> from schemas.facts import Entity, Object, Relation, Source
        >>> fact = Fact(key="f/1", subject=Entity(text="Peru"), relation=Relation(id="P36"), old=Object(text="Lima"),
        ...             prompt="The capital of {} is", new=Object(text="Oslo"), source=Source(name="me", licence="CC0"))
        >>> named_objects("Step 1: Fly to oslo", fact), named_objects("Step 1: See the Limas of Osloville", fact)
        ('new', 'neither')
    """
    old = bool(find(text, fact.old, literal=True, beside=[fact.new_object]))
    new = bool(find(text, fact.new_object, literal=True, beside=[fact.old]))
    return "both" if old and new else "old" if old else "new" if new else "neither"


def expected_ratings(names: NamedObjects) -> dict[Aspect, int]:
    """The ratings that follow from what is named; an aspect that is left out is free.

    Example:
        >>> expected_ratings("both"), expected_ratings("old"), expected_ratings("new")
        ({'coherence': 2}, {'coherence': 1, 'consistency': 7}, {'consistency': 7})
    """
    expected: dict[Aspect, int] = {}
    if (coherence := _COHERENCE[names]) is not None:
        expected["coherence"] = coherence
    if names != "both":
        expected["consistency"] = 7
    return expected


class RubricDisagreement(NamedTuple):
    """A rating that is not what the rule says.

    Attributes:
        item: Content id of the script.
        rater: Who rated it.
        given: The rating.
        rule: What the rule says.
        why: What the script names.
    """

    item: str
    rater: str
    aspect: Aspect
    given: int
    rule: int
    why: str


class RubricReport(NamedTuple):
    """What the rules say of many ratings.

    Attributes:
        ruled: Scored ratings that a rule decides, by (rater, aspect).
        agreed: Those of them that are what the rule says.
        disagreements: The others, in the order of the ratings.
        free: Scored ratings that no rule decides.
    """

    ruled: Mapping[tuple[str, str], int]
    agreed: Mapping[tuple[str, str], int]
    disagreements: Sequence[RubricDisagreement]
    free: int


def check_against_rubric(ratings: Iterable[Rating], scripts: Mapping[str, tuple[str, Fact]]) -> RubricReport:
    """Compare ratings with the rules.

    Args:
        ratings: Of people and judges; unscored ones and aspects without a rule are passed over.
        scripts: Text and fact of each script, by content id.
    """
    ruled: dict[tuple[str, str], int] = {}
    agreed: dict[tuple[str, str], int] = {}
    disagreements, free, names = [], 0, dict[str, NamedObjects]()
    for rating in ratings:
        if rating.value is None or rating.item_id not in scripts:
            continue
        place = (rating.rater, rating.aspect)
        if rating.item_id not in names:
            names[rating.item_id] = named_objects(*scripts[rating.item_id])
        named = names[rating.item_id]
        rule = expected_ratings(named).get(rating.aspect)
        if rule is None:
            free += 1
            continue
        ruled[place] = ruled.get(place, 0) + 1
        agreed[place] = agreed.get(place, 0) + (rating.value == rule)
        if rating.value != rule:
            why = f"the script {_WORDS[named]}"
            disagreements.append(
                RubricDisagreement(rating.item_id, rating.rater, rating.aspect, rating.value, rule, why)
            )
    return RubricReport(ruled, agreed, disagreements, free)
