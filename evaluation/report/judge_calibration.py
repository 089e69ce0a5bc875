"""Judges of a store calibrated to the people who rated a random sample: what people would say of all scripts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from evaluation.analysis.tables import FigureTable, Section
from evaluation.editors.baselines import NULL_METHODS
from evaluation.judge.calibration import ESTIMAND, FAMILIES, Calibration, CalibrationRequest, calibrate_judge
from evaluation.judge.inputs import texts_to_rate
from evaluation.judge.judging import ControlResult, stored_controls
from evaluation.judge.model_families import family_conflicts
from evaluation.judge.ratings import RatedScript, null_labels, question_authors, rated_scripts
from evaluation.judge.summary import JudgeReliability, JudgeSummary, summarise_ratings
from schemas.core.errors import UserError
from schemas.raters import Rater
from schemas.ratings import RUBRICS, SCRIPT, Rubric


class JudgeCalibration(NamedTuple):
    """One judge: its calibration, or why there is none; and what it has in common with those it judges.

    Attributes:
        judge: Its name in ratings.
        calibration: None where there is none; ``why`` says why.
        flags: What it has in common with those it judges.
        reliability: By aspect: whether it repeats itself, whether it likes length, log-probabilities.
        unscored: Kinds of unscored ratings with their number.
        rubric: Name of the rubric that it rated under.
        controls: Control items found and missed; None where none is on record.
        cost: Dollars of its calls on record; None where no price was known.
        tokens: Of the same calls.
    """

    judge: str
    calibration: Calibration | None
    why: str
    flags: tuple[str, ...]
    estimand: str = ESTIMAND
    reliability: tuple[JudgeReliability, ...] = ()
    unscored: Mapping[str, int] = MappingProxyType({})
    cost: float | None = None
    tokens: int = 0
    controls: ControlResult | None = None
    rubric: str = SCRIPT.name

    @property
    def title(self) -> str:
        """The judge, and what it rates where that is no script.

        Example:
            >>> JudgeCalibration("judge:m", None, "", (), rubric="tendency").title
            'judge:m, open answers'
        """
        what = {"tendency": ", open answers", "consistency": ", pairs of answers"}
        return self.judge + what.get(self.rubric, "")


def calibration_section(found: Sequence[JudgeCalibration]) -> Section:
    """Every judge: reliability, cost, and what people would have said of all texts."""
    caption = f"Estimated: {ESTIMAND}."
    return Section("calibrated", "Judges calibrated to people", tuple(t for c in found for t in _tables(c)), caption)


def _tables(c: JudgeCalibration) -> list[FigureTable]:
    about = [f"{flag}." for flag in c.flags]
    if c.controls is not None:
        about.append(f"Control items: {c.controls.accepted} of {c.controls.asked} ratings are in the accepted range.")
    else:
        about.append("No control item of this judge is stored.")
    cost = "no price known" if c.cost is None else f"${c.cost:.4f}"
    lost = ", ".join(f"{n} {kind}" for kind, n in c.unscored.items())
    about.append(f"Cached calls: {c.tokens:,} tokens, {cost}." + (f" Unscored: {lost}." if lost else ""))
    reliability = tuple((r.aspect, r.retest.same, r.retest.n, r.length, r.scored, r.weighted) for r in c.reliability)
    heads = ("Aspect", "Same when asked twice", "of", "Correlation with length", "Scored", "With log-probabilities")
    tables = [FigureTable(c.title, heads, reliability, " ".join(about + _left_out(c)))]
    missed = () if c.controls is None else c.controls.missed
    lines = tuple((m.name, m.aspect, m.given, " to ".join(map(str, m.accepted))) for m in missed)
    tables.append(FigureTable("Control items missed", ("Item", "Aspect", "Given", "Accepted"), lines, folded=True))
    if c.calibration is None:
        tables.append(FigureTable(f"{c.title}: not calibrated", ("Why",), ((c.why,),)))
        return [table for table in tables if table.rows]
    rows = tuple(
        (r.method.text, r.aspect, *(k.powered, k.human, k.judge, k.bias), k.weight, k.labelled, k.cases)
        for r in c.calibration.rows
        if (k := r.calibrated).powered.value is not None or k.human.value is not None
    )
    columns = (
        "Method",
        "Aspect",
        "Calibrated",
        "People alone",
        "Judge alone",
        "Judge less people",
        "Weight",
        "Rated",
        "of",
    )
    tables.append(FigureTable(f"{c.title}, calibrated", columns, rows))
    for family, title in FAMILIES.items():
        gaps = tuple(
            (f"{g.first.text} - {g.second.text}", g.aspect, g.estimate, g.p)
            for g in c.calibration.gaps
            if g.family == family and g.estimate.value is not None
        )
        tables.append(
            FigureTable(f"{title}, calibrated", ("Pair", "Aspect", "Difference", "p, Holm"), gaps, folded=True)
        )
    return [table for table in tables if table.rows]


def _left_out(c: JudgeCalibration) -> list[str]:
    """What is in no calibrated figure, and why."""
    if c.calibration is None:
        return []
    absent = [r.calibrated.powered for r in c.calibration.rows if r.calibrated.powered.value is None]
    notes = [f"Without a calibrated figure: {len(absent)}, {absent[0].reason}."] if absent else []
    if c.calibration.left_out:
        notes.append(f"Left out: {'; '.join(f'{n} {why}' for why, n in c.calibration.left_out.items())}.")
    if c.calibration.synthetic:
        names = ", ".join(c.calibration.synthetic)
        notes.append(f"Synthetic raters ({names}) are programs: this only shows that the pipeline runs.")
    return notes


def calibrations(stores: Sequence[Path], unranked: Collection[str] = NULL_METHODS) -> list[JudgeCalibration]:
    """Every judge with ratings in the stores; ``unranked`` are the labels of null methods.

    Raises:
        StoreError: a store cannot be read.
    """
    return [one for path in stores for rubric in RUBRICS.values() for one in _of_store(path, rubric, unranked)]


def _of_store(path: Path, rubric: Rubric, unranked: Collection[str]) -> list[JudgeCalibration]:
    """Every judge of one store under one rubric."""
    from curation.store.store import Store

    with Store.open(path) as store:
        try:
            asks = texts_to_rate(store, rubric.name)
        except UserError as error:  # a script without its question or fact: the report goes on and says so
            return [JudgeCalibration(f"judges in {path.name}", None, str(error), ())]
        ratings = rated_scripts(store, [a.item for a in asks]) if asks else []
        ratings = [g for g in ratings if g.rating.rubric == rubric.name]
        authors, controls, nulls = question_authors(store), stored_controls(store), null_labels(store, asks)
    writers, out = {a.writer for a in asks}, []
    summary = summarise_ratings([g for g in ratings if g.rater.is_judge], asks, rubric=rubric)
    for judge in sorted({g.source for g in ratings if g.rater.is_judge}):
        mine = [g for g in ratings if g.source == judge]
        record = _on_record(judge, mine, summary) | {"controls": controls.get(judge), "rubric": rubric.name}
        conflicts = tuple(family_conflicts(Rater.judge(judge).name, writers=writers, authors=authors))
        try:
            wanted = CalibrationRequest(judge=judge, rubric=rubric, unranked=nulls.union(unranked))
            calibration = calibrate_judge(ratings, asks, wanted)
            out.append(JudgeCalibration(judge, calibration, "", conflicts)._replace(**record))
        except UserError as error:
            out.append(JudgeCalibration(judge, None, str(error), conflicts)._replace(**record))
    return out


def _on_record(judge: str, ratings: Sequence[RatedScript], summary: JudgeSummary) -> dict[str, Any]:
    """How reliable a judge is, what it left unscored, and what its calls cost."""
    lines = [g.line for g in ratings if g.line is not None]
    costs = [line.cost for line in lines if line.cost is not None]
    return {
        "reliability": tuple(r for r in summary.reliability if r.rater == judge),
        "unscored": summary.unscored.get(judge, {}),
        "cost": sum(costs) if costs else None,
        "tokens": sum((line.tokens_in or 0) + (line.tokens_out or 0) for line in lines),
    }
