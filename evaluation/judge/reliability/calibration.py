"""From a store's ratings to calibrated estimates: which ratings count, by method and aspect, and differences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple

from curation.stats.estimates import Estimate
from curation.stats.intervals import NO_SPREAD
from curation.stats.label_budget import LabelBudget, needed
from curation.stats.paired import holm
from curation.stats.prediction_powered import Calibrated, Unit, calibrate, difference
from evaluation.editors.baselines import NULL_METHODS
from evaluation.judge.inputs import DEFAULT_ESTIMATOR, ESTIMATORS, Estimator, RatedScript, newest_sources
from evaluation.judge.prompt_files import ASPECTS
from evaluation.judge.reliability.panel import PANEL, panel_scores
from evaluation.judge.reliability.rubric import rated_under_old_form
from evaluation.judge.steps import JudgeInput
from schemas.core.errors import UserError
from schemas.raters import Rater
from schemas.ratings import Aspect, Shown
from schemas.text.counting import counted

ESTIMAND = (
    "what this panel of people would say on average (mean over cases of the mean over scripts of the panel's mean "
    "rating); not the truth about the scripts, and another panel has another mean"
)


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
    calibrated: Calibrated
    needed: LabelBudget | None


class CalibratedDifference(NamedTuple):
    """Two methods on one aspect: first less second; ``p`` after Holm's correction over all gaps of the aspect."""

    first: Method
    second: Method
    aspect: Aspect
    estimate: Estimate
    p: float | None


class Calibration(NamedTuple):
    """Everything about one judge.

    Attributes:
        judge: Its name in ratings, or ``judge:panel``.
        rows: By aspect and method.
        gaps: Differences, by aspect.
        people: Who rated. ``synthetic``: those among them that are programs; their agreement is no finding.
        left_out: Ratings of people, and scripts, that do not count, by reason.
        estimator: What the judge's scores are.
    """

    judge: str
    rows: Sequence[CalibrationRow]
    gaps: Sequence[CalibratedDifference]
    people: Sequence[str]
    synthetic: Sequence[str]
    left_out: Mapping[str, int]
    estimator: Estimator = DEFAULT_ESTIMATOR


class CalibrationRequest(NamedTuple):
    """What to estimate.

    Attributes:
        judge: A judge's name; None for the only one there is, or the panel where a quorum is declared.
        quorum: Of the panel of all judges.
        people: People that must have rated a script for its mean to count.
        width: Half width of the interval that is wanted.
        against: Label of the method that all are compared with; None for all pairs.
        estimator: What the ratings' scores are, as they were read (``rated_scripts``).
    """

    judge: str | None = None
    quorum: int | None = None
    people: int = 1
    width: float | None = None
    against: str | None = None
    estimator: Estimator = DEFAULT_ESTIMATOR


def calibrate_judge(
    ratings: Sequence[RatedScript], asks: Sequence[JudgeInput], wanted: CalibrationRequest
) -> Calibration:
    """Calibrate a judge to the people who rated a random sample of the same scripts.

    Raises:
        UserError: no such judge, several and none named, nobody of the people rated, or no such method.
    """
    by_item = {a.item: a for a in asks}
    mine = [g for g in ratings if g.rating.item_id in by_item]
    left: Counter[str] = Counter()
    name, scores = _judge(mine, wanted, left)
    shown = {g.rating.shown for g in mine if g.source == name or (name == PANEL and g.source == g.rating.rater)}
    humans = _people(mine, by_item, wanted.people, left, shown)
    if not humans:
        raise UserError(
            "no rating of people counts" + (f" ({', '.join(left)})" if left else ""),
            fix="sample scripts for people with: scedit annotate new",
        )
    units = _units(scores, humans, by_item, left)
    rows = []
    for aspect in ASPECTS:
        for method, some in sorted(units.get(aspect, {}).items()):
            labels = needed(some, wanted.width) if wanted.width is not None else None
            rows.append(CalibrationRow(method, aspect, calibrate(some), labels))
    people = {g.rater for g in mine if not g.rater.is_judge}
    names, synthetic = sorted({p.name for p in people}), sorted({p.name for p in people if p.is_program})
    return Calibration(name, rows, _gaps(units, wanted.against), names, synthetic, dict(left), wanted.estimator)


def _judge(
    ratings: Sequence[RatedScript], wanted: CalibrationRequest, left: Counter[str]
) -> tuple[str, dict[tuple[str, Aspect], float]]:
    """The judge that is meant, and its scores by script and aspect."""
    there = sorted({g.source for g in ratings if g.rater.is_judge})
    newest = newest_sources(ratings)
    name: str | None
    if wanted.quorum is not None and wanted.judge is None:
        scores = {(p.item, p.aspect): p.score for p in panel_scores(ratings, quorum=wanted.quorum)}
        name = PANEL
    else:
        name = None if wanted.judge is None else Rater.judge(wanted.judge).stored
        if name is None and len(newest) == 1:
            name = newest[0]
        if name is None or name not in there:
            what = "there are several judges" if name is None and there else f"no rating is by '{name or 'a judge'}'"
            fix = "name one with --judge, or a panel with --quorum" if there else "judge first: scedit judge"
            raise UserError(what, allowed=", ".join(there) or "none so far", fix=fix)
        scores = {(g.rating.item_id, g.rating.aspect): g.score for g in ratings if g.source == name}
    left["unscored by the judge"] += sum(s is None for s in scores.values())
    return name, {place: s for place, s in scores.items() if s is not None}


def _people(
    ratings: Sequence[RatedScript],
    asks: Mapping[str, JudgeInput],
    min_people: int,
    left: Counter[str],
    shown: Collection[Shown],
) -> dict[tuple[str, Aspect], tuple[float, float]]:
    """The people's mean and the sampling probability, by script and aspect.

    Only items of a random sample count: those with a recorded probability. Training and attention items never come into
    a store; a lead's decisions are left out here.
    """
    said: dict[tuple[str, Aspect], list[float]] = defaultdict(list)
    chances: dict[tuple[str, Aspect], set[float]] = defaultdict(set)
    for g in ratings:
        if g.rater.is_judge or g.score is None:
            continue
        probability = g.detail.get("probability")
        if g.adjudicated:
            left["decided by a lead"] += 1
        elif _other_text(g, asks[g.rating.item_id], shown):
            left["on another text than the judge read (parsed steps against raw text)"] += 1
        elif rated_under_old_form(g.rating, edited=asks[g.rating.item_id].edited):
            left["Coherence of an unedited script, rated against the old object"] += 1
        elif probability is None:
            left["without a recorded sampling probability"] += 1
        else:
            said[g.rating.item_id, g.rating.aspect].append(g.score)
            chances[g.rating.item_id, g.rating.aspect].add(float(probability))
    out = {}
    for place, scores in said.items():
        if len(chances[place]) > 1:
            left["sampled twice with different probabilities"] += len(scores)
        elif len(scores) < min_people:
            left[f"on scripts with fewer than {min_people} people"] += len(scores)
        else:
            out[place] = fmean(scores), next(iter(chances[place]))
    return out


def _other_text(g: RatedScript, ask: JudgeInput, shown: Collection[Shown]) -> bool:
    """Whether a person read another text of the script than the judge did."""
    return ask.shown(g.rating.shown) not in {ask.shown(kind) for kind in shown}


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


def _gaps(units: Mapping[Aspect, Mapping[Method, Sequence[Unit]]], against: str | None) -> list[CalibratedDifference]:
    there = sorted({m.editor for methods in units.values() for m in methods})
    if against is not None and against not in there:
        raise UserError(f"no script is of the method '{against}'", allowed=", ".join(there))
    out = []
    for aspect in ASPECTS:
        methods = units.get(aspect, {})
        pairs = [(a, b) for a, b in combinations(sorted(methods), 2) if a.writer == b.writer]
        pairs = [(a, b) for a, b in pairs if a.editor not in NULL_METHODS or b.editor not in NULL_METHODS]
        if against is not None:
            pairs = [(b, a) if a.editor == against else (a, b) for a, b in pairs if against in (a.editor, b.editor)]
        found = [CalibratedDifference(a, b, aspect, difference(methods[a], methods[b]), None) for a, b in pairs]
        corrected = holm({str(n): g.estimate.p for n, g in enumerate(found)})
        out += [g._replace(p=corrected[str(n)]) for n, g in enumerate(found)]
    return out


def as_data(calibration: Calibration) -> dict[str, Any]:
    """Everything, as JSON values."""
    return {
        "judge": calibration.judge,
        "estimand": ESTIMAND,
        "estimator": calibration.estimator,
        "people": list(calibration.people),
        "synthetic": list(calibration.synthetic),
        "left_out": dict(calibration.left_out),
        "rows": [
            {
                **{"writer": r.method.writer, "editor": r.method.editor, "aspect": r.aspect},
                **{"powered": _estimate(r.calibrated.powered), "human": _estimate(r.calibrated.human)},
                **{"judge": _estimate(r.calibrated.judge), "bias": _estimate(r.calibrated.bias)},
                **{"weight": r.calibrated.weight, "labelled": r.calibrated.labelled},
                **{"cases": r.calibrated.cases, "saved": r.calibrated.saved},
                "needed": None if r.needed is None else r.needed._asdict(),
            }
            for r in calibration.rows
        ],
        "gaps": [
            {
                **{"writer": g.first.writer, "first": g.first.editor, "second": g.second.editor, "aspect": g.aspect},
                **{"difference": _estimate(g.estimate), "p": g.p},
            }
            for g in calibration.gaps
        ],
    }


def as_text(calibration: Calibration) -> str:
    """The same for a reader."""
    wide = max([len("method"), *(len(r.method.text) for r in calibration.rows)]) + 2
    head = f"{'method'.ljust(wide)}{'aspect':15s}{'calibrated':>22s}{'people alone':>22s}{'judge alone':>22s}"
    people = calibration.people
    lines = [
        f"{calibration.judge}, calibrated to {counted(len(people), 'person', 'people')} ({', '.join(people)}).",
        head,
    ]
    lines[1] += f"{'judge-people':>14s}{'weight':>8s}{'rated':>12s}"
    for r in calibration.rows:
        c = r.calibrated
        cells = [_short_text(e) for e in (c.powered, c.human, c.judge)]
        bias = "-" if c.bias.value is None else f"{c.bias.value:+.2f}"
        weight = "-" if c.weight is None else f"{c.weight:.2f}"
        lines.append(
            f"{r.method.text.ljust(wide)}{r.aspect:15s}{cells[0]:>22s}{cells[1]:>22s}{cells[2]:>22s}{bias:>14s}{weight:>8s}"
            f"{f'{c.labelled} of {c.cases}':>12s}"
        )
        if r.needed is not None:
            lines.append(f"{'':{wide + 15}s}  {_more_needed(r.needed)}")
    if calibration.gaps:
        lines += ["", "Differences between methods on the same cases (p after Holm, over the pairs of an aspect):"]
    for g in calibration.gaps:
        p = "" if g.p is None else f", p = {g.p:.3f}" if g.p >= 0.0005 else ", p < 0.001"
        lines.append(f"  {g.aspect}: {g.first.text} less {g.second.text}: {g.estimate.text(2)}{p}")
    lines += ["", f"Judge's scores ({calibration.estimator}): {ESTIMATORS[calibration.estimator]}."]
    lines += [f"Estimated is {ESTIMAND}.", "Rated: cases with a rating of people, of those with a judge's score."]
    if any("[all agree]" in line for line in lines):
        lines.append(
            "[all agree]: no rated case differs, so there is no interval and no p; the exact bound is in --json."
        )
    if any("[too " in line for line in lines):
        lines.append(
            "[too few], [too unequal]: simulation supports no interval and no p for so few rated cases that differ, or "
            "samples drawn with such unequal probabilities; why is in --json. Have people rate more scripts."
        )
    lines += [f"Left out: {n} {reason}." for reason, n in calibration.left_out.items()]
    if calibration.synthetic:
        names = ", ".join(calibration.synthetic)
        lines.append(f"Synthetic raters ({names}) are programs: this only shows that the pipeline runs.")
    return "\n".join(lines)


def _short_text(e: Estimate) -> str:
    if e.value is None:
        return "undefined"
    if e.low is None or e.high is None:
        why = "all agree" if e.note.startswith(NO_SPREAD) else "too few" if e.note.startswith("too near") else ""
        why = why or ("too unequal" if e.note.startswith("drawn too") else "")
        return f"{e.value:.2f} [{why}]" if why else f"{e.value:.2f}"
    return f"{e.value:.2f} [{e.low:.2f}, {e.high:.2f}]"


def _more_needed(n: LabelBudget) -> str:
    if n.scripts is None:
        return n.reason
    alone = "more than there are" if n.alone is None else n.alone
    return (
        f"for the wanted width: {counted(n.scripts, 'script')} rated by people, {n.more} more; without "
        f"the judge: {alone}"
    )


def _estimate(e: Estimate) -> dict[str, Any]:
    return {
        **{"value": e.value, "low": e.low, "high": e.high, "n": e.n, "cases": e.cases, "p": e.p},
        **{"reason": e.reason, "note": e.note},
    }
