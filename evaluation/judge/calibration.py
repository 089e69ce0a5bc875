"""From a store's ratings to calibrated estimates: which ratings count, by method and aspect, and differences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, Literal, NamedTuple

from curation.stats.estimates import Estimate
from curation.stats.paired import holm
from curation.stats.prediction_powered import (
    CalibratedEstimates,
    LabelBudget,
    Unit,
    calibrate,
    difference,
    scripts_needed,
)
from evaluation.editors.baselines import CONTROL_METHODS
from evaluation.judge.inputs import JudgeInput
from evaluation.judge.ratings import RatedScript
from evaluation.judge.summary import estimate_data
from schemas.core.errors import UserError
from schemas.raters import Rater
from schemas.ratings import SCRIPT, Aspect, Rubric

ESTIMAND = (
    "what this panel of people would say on average (mean over cases of the mean over scripts of the panel's mean "
    "rating); not the truth about the scripts, and another panel has another mean"
)


UNEDITED = "none"


class Method(NamedTuple):
    """Who wrote scripts: the model, and the label of the editing method."""

    writer: str
    editor: str

    @property
    def text(self) -> str:
        """For tables."""
        return f"{self.editor} ({self.writer})"


class CalibrationRow(NamedTuple):
    """One method on one aspect; ``needed`` for the wanted width, where one is wanted."""

    method: Method
    aspect: Aspect
    calibrated: CalibratedEstimates
    needed: LabelBudget | None


DifferenceFamily = Literal["among", "against", "control"]


class CalibratedDifference(NamedTuple):
    """Two methods on one aspect: first less second.

    ``p`` is corrected by Holm over the family: the pairs of methods of the aspect (``among``), every method less the
    unedited model (``against``), or every control method less it (``control``). Such a method (``boost``) is no rival:
    it is in no pair of methods, and it makes no question about a method harder to decide.
    """

    first: Method
    second: Method
    aspect: Aspect
    estimate: Estimate
    p: float | None
    family: DifferenceFamily = "among"


class Calibration(NamedTuple):
    """Everything about one judge.

    Attributes:
        judge: Its name in ratings.
        rows: By aspect and method.
        gaps: Differences, by aspect.
        people: Who rated.
        synthetic: Those among them that are programs; their agreement is no finding.
        left_out: Ratings of people, and scripts, that do not count, by reason.
        rubric: Name of the rubric.
    """

    judge: str
    rows: Sequence[CalibrationRow]
    gaps: Sequence[CalibratedDifference]
    people: Sequence[str]
    synthetic: Sequence[str]
    left_out: Mapping[str, int]
    rubric: str = SCRIPT.name

    @property
    def estimand(self) -> str:
        """What is estimated, in words."""
        return ESTIMAND if self.rubric == SCRIPT.name else ESTIMAND.replace("scripts", "answers")


class CalibrationRequest(NamedTuple):
    """What to estimate.

    Attributes:
        judge: A judge's name; None for the only one there is.
        people: People that must have rated a script for its mean to count.
        width: Half width of the interval that is wanted.
        against: Label of the method that all are compared with; None for all pairs.
        rubric: Whose ratings are calibrated.
        unranked: Labels of control methods: compared with no edit only.
    """

    judge: str | None = None
    people: int = 1
    width: float | None = None
    against: str | None = None
    rubric: Rubric = SCRIPT
    unranked: Collection[str] = CONTROL_METHODS


def calibrate_judge(
    ratings: Sequence[RatedScript], asks: Sequence[JudgeInput], wanted: CalibrationRequest
) -> Calibration:
    """Calibrate a judge to the people who rated a random sample of the same texts.

    Raises:
        UserError: no such judge, several and none named, nobody of the people rated, or no such method.
    """
    by_item = {a.item: a for a in asks}
    mine = [g for g in ratings if g.rating.item_id in by_item and g.rating.rubric == wanted.rubric.name]
    left: Counter[str] = Counter()
    name, scores = _judge(mine, wanted, left)
    humans = _people(mine, by_item, wanted.people, left)
    if not humans:
        raise UserError(
            "no rating of people counts" + (f" ({', '.join(left)})" if left else ""),
            fix="sample scripts for people with: scedit annotate new",
        )
    units = _units(scores, humans, by_item, left)
    rows = []
    scale = wanted.rubric.ends
    for aspect in wanted.rubric.aspects:
        for method, some in sorted(units.get(aspect, {}).items()):
            labels = scripts_needed(some, wanted.width) if wanted.width is not None else None
            rows.append(CalibrationRow(method, aspect, calibrate(some, scale=scale), labels))
    people = {g.rater for g in mine if not g.rater.is_judge}
    names, synthetic = sorted({p.name for p in people}), sorted({p.name for p in people if p.is_program})
    gaps = _gaps(units, wanted)
    return Calibration(name, rows, gaps, names, synthetic, dict(left), wanted.rubric.name)


def _judge(
    ratings: Sequence[RatedScript], wanted: CalibrationRequest, left: Counter[str]
) -> tuple[str, dict[tuple[str, Aspect], float]]:
    """The judge that is meant, and its scores by script and aspect."""
    there = sorted({g.rating.rater for g in ratings if g.rater.is_judge})
    name = None if wanted.judge is None else Rater.judge(wanted.judge).stored
    if name is None and len(there) == 1:
        name = there[0]
    if name is None or name not in there:
        what = "there are several judges" if name is None and there else f"no rating is by '{name or 'a judge'}'"
        fix = "name one with --judge" if there else "judge first: scedit judge"
        raise UserError(what, allowed=", ".join(there) or "none so far", fix=fix)
    scores = {(g.rating.item_id, g.rating.aspect): g.score for g in ratings if g.rating.rater == name}
    left["unscored by the judge"] += sum(s is None for s in scores.values())
    return name, {place: s for place, s in scores.items() if s is not None}


def _people(
    ratings: Sequence[RatedScript],
    asks: Mapping[str, JudgeInput],
    min_people: int,
    left: Counter[str],
) -> dict[tuple[str, Aspect], tuple[float, float]]:
    """The people's mean and the sampling probability, by script and aspect.

    Only items of a random sample count: those with a recorded probability. Training and attention items never come into
    a store; a lead's decisions are left out here.
    """
    scores_by_place: dict[tuple[str, Aspect], list[float]] = defaultdict(list)
    chances: dict[tuple[str, Aspect], set[float]] = defaultdict(set)
    for g in ratings:
        if g.rater.is_judge or g.score is None:
            continue
        probability = g.detail.get("probability")
        if g.adjudicated:
            left["decided by a lead"] += 1
        elif probability is None:
            left["without a recorded sampling probability"] += 1
        else:
            scores_by_place[g.rating.item_id, g.rating.aspect].append(g.score)
            chances[g.rating.item_id, g.rating.aspect].add(float(probability))
    out = {}
    for place, scores in scores_by_place.items():
        if len(chances[place]) > 1:
            left["sampled twice with different probabilities"] += len(scores)
        elif len(scores) < min_people:
            left[f"on scripts with fewer than {min_people} people"] += len(scores)
        else:
            out[place] = fmean(scores), next(iter(chances[place]))
    return out


def _units(
    scores: Mapping[tuple[str, Aspect], float],
    humans: Mapping[tuple[str, Aspect], tuple[float, float]],
    asks: Mapping[str, JudgeInput],
    left: Counter[str],
) -> dict[Aspect, dict[Method, list[Unit]]]:
    units: dict[Aspect, dict[Method, list[Unit]]] = defaultdict(lambda: defaultdict(list))
    for item, aspect in sorted(scores):
        ask, human = asks[item], humans.get((item, aspect))
        unit = Unit(ask.case, scores[item, aspect], *(human or ()))
        units[aspect][Method(ask.writer, ask.editor)].append(unit)
    left["rated by people and not scored by the judge"] += sum(place not in scores for place in humans)
    for reason in [r for r, n in left.items() if not n]:
        del left[reason]
    return units


def _gaps(
    units: Mapping[Aspect, Mapping[Method, Sequence[Unit]]], wanted: CalibrationRequest
) -> list[CalibratedDifference]:
    against, rubric = wanted.against, wanted.rubric
    there = sorted({m.editor for methods in units.values() for m in methods})
    if against is not None and against not in there:
        raise UserError(f"no script is of the method '{against}'", allowed=", ".join(there))
    out = []
    for aspect in rubric.aspects:
        methods = units.get(aspect, {})
        for family, pairs in _families(methods, against, wanted.unranked).items():
            differences = [
                CalibratedDifference(a, b, aspect, difference(methods[a], methods[b], scale=rubric.ends), None, family)
                for a, b in pairs
            ]
            corrected = holm({str(n): g.estimate.p for n, g in enumerate(differences)})
            out += [g._replace(p=corrected[str(n)]) for n, g in enumerate(differences)]
    return out


def _families(
    methods: Collection[Method], against: str | None, unranked: Collection[str]
) -> dict[DifferenceFamily, list[tuple[Method, Method]]]:
    """Pairs of rivals, methods and control methods with the unedited one; ``against``: that method's pairs only."""
    pairs = [(a, b) for a, b in combinations(sorted(methods), 2) if a.writer == b.writer]
    among = [(a, b) for a, b in pairs if a.editor not in unranked and b.editor not in unranked]
    plain = [(b, a) if a.editor == UNEDITED else (a, b) for a, b in pairs if UNEDITED in (a.editor, b.editor)]
    if against is not None:
        among = [(b, a) if a.editor == against else (a, b) for a, b in among if against in (a.editor, b.editor)]
        plain = [(a, b) for a, b in plain if against in (a.editor, b.editor)]
    controls = [(a, b) for a, b in plain if a.editor in unranked]
    return {"among": among, "against": [pair for pair in plain if pair not in controls], "control": controls}


FAMILIES = {
    "among": "Differences between methods",
    "against": "Methods less no edit",
    "control": "Control methods less no edit",
}


def as_data(calibration: Calibration) -> dict[str, Any]:
    """Everything, as JSON values."""
    return {
        "judge": calibration.judge,
        "estimand": calibration.estimand,
        "rated_under": calibration.rubric,
        "people": list(calibration.people),
        "synthetic": list(calibration.synthetic),
        "left_out": dict(calibration.left_out),
        "rows": [
            {
                **{"writer": r.method.writer, "editor": r.method.editor, "aspect": r.aspect},
                **{"powered": estimate_data(r.calibrated.powered), "human": estimate_data(r.calibrated.human)},
                **{"judge": estimate_data(r.calibrated.judge), "bias": estimate_data(r.calibrated.bias)},
                **{"weight": r.calibrated.weight, "labelled": r.calibrated.labelled},
                **{"cases": r.calibrated.cases, "saved": r.calibrated.saved},
                "needed": None if r.needed is None else r.needed._asdict(),
            }
            for r in calibration.rows
        ],
        "gaps": [
            {
                **{"writer": g.first.writer, "first": g.first.editor, "second": g.second.editor, "aspect": g.aspect},
                **{"difference": estimate_data(g.estimate), "p": g.p, "family": g.family},
            }
            for g in calibration.gaps
        ],
    }
