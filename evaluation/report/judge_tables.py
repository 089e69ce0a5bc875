"""Judges: what they said, how reliable they are, and what people would say of all scripts; for page and terminal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from curation.stats.prediction_powered import LabelBudget
from evaluation.analysis.tables import Cell, FigureTable, Section
from evaluation.analysis.text_ratings import AGREED, agreement_rows, rubric_tables
from evaluation.editors.baselines import CONTROL_METHODS
from evaluation.judge.calibration import ESTIMAND, FAMILIES, Calibration, CalibrationRequest, calibrate_judge
from evaluation.judge.inputs import texts_to_rate
from evaluation.judge.judging import ControlResult, JudgeResult, stored_controls
from evaluation.judge.model_families import family_conflicts
from evaluation.judge.ratings import control_labels, question_authors, rated_scripts
from evaluation.judge.summary import JudgeReliability, JudgeSummary, MethodRating, summarise_ratings
from evaluation.report.formatting import tables_text
from schemas.core.errors import UserError
from schemas.raters import Rater
from schemas.ratings import RUBRICS, SCRIPT, Rubric
from schemas.text.counting import counted

_TEXTS = {"script": "scripts", "tendency": "open answers", "consistency": "pairs of answers"}
_SHOWN = 10  # deviating ratings that a terminal shows; JSON has all


class JudgeCalibration(NamedTuple):
    """One judge: its calibration, or why there is none; and what it has in common with those it judges.

    Attributes:
        judge: Its name in ratings.
        title: The same, and what it rates where that is no script.
        calibration: None where there is none; ``why`` says why.
        flags: What it has in common with those it judges.
        reliability: By aspect: whether it repeats itself, whether it likes length, log-probabilities.
        unscored: Kinds of unscored ratings with their number.
        cost: Dollars of its cached calls; None where no price was known.
        tokens: Of the same calls.
        controls: Control items found and missed; None where none is stored.
    """

    judge: str
    title: str
    calibration: Calibration | None = None
    why: str = ""
    flags: tuple[str, ...] = ()
    reliability: tuple[JudgeReliability, ...] = ()
    unscored: Mapping[str, int] = MappingProxyType({})
    cost: float | None = None
    tokens: int = 0
    controls: ControlResult | None = None


def calibration_section(found: Sequence[JudgeCalibration]) -> Section:
    """Every judge: reliability, cost, and what people would have said of all texts."""
    caption = f"Estimated: {ESTIMAND}."
    return Section("calibrated", "Judges calibrated to people", tuple(t for c in found for t in _tables(c)), caption)


def _tables(c: JudgeCalibration) -> list[FigureTable]:
    controls, calibration = c.controls, c.calibration
    about = [f"{flag}." for flag in c.flags]
    if controls is not None:
        about.append(f"Control items: {controls.accepted} of {controls.asked} ratings are in the accepted range.")
    else:
        about.append("No control item of this judge is stored.")
    cost = "no price known" if c.cost is None else f"${c.cost:.4f}"
    lost = ", ".join(f"{n} {kind}" for kind, n in c.unscored.items())
    about.append(f"Cached calls: {c.tokens:,} tokens, {cost}." + (f" Unscored: {lost}." if lost else ""))
    caption = " ".join(about + ([] if calibration is None else _left_out(calibration)))
    missed = () if controls is None else controls.missed
    lines = tuple((m.name, m.aspect, m.given, " to ".join(map(str, m.accepted))) for m in missed)
    tables = [
        _reliability_table(c.title, c.reliability)._replace(caption=caption),
        FigureTable("Control items missed", ("Item", "Aspect", "Given", "Accepted"), lines, folded=True),
    ]
    if calibration is None:
        tables.append(FigureTable(f"{c.title}: not calibrated", ("Why",), ((c.why,),)))
    else:
        tables += calibration_tables(calibration, c.title)
    return [table for table in tables if table.rows]


def calibration_tables(calibration: Calibration, title: str) -> list[FigureTable]:
    """What people would have said of all texts, by method and aspect, and differences of methods."""
    rows = tuple(
        (r.method.text, r.aspect, *(k.powered, k.human, k.judge, k.bias), k.weight, k.labelled, k.cases)
        for r in calibration.rows
        if (k := r.calibrated).powered.value is not None or k.human.value is not None
    )
    figures = ("Calibrated", "People alone", "Judge alone", "Judge less people")
    tables = [FigureTable(f"{title}, calibrated", ("Method", "Aspect", *figures, "Weight", "Rated", "of"), rows)]
    for family, about in FAMILIES.items():
        gaps = tuple(
            (f"{g.first.text} - {g.second.text}", g.aspect, g.estimate, g.p)
            for g in calibration.gaps
            if g.family == family and g.estimate.value is not None
        )
        head = ("Pair", "Aspect", "Difference", "p, Holm")
        tables.append(FigureTable(f"{about}, calibrated", head, gaps, folded=True))
    return tables


def calibration_text(calibration: Calibration) -> str:
    """A calibration for a terminal; differences are paired by case, and p is corrected over those of an aspect."""
    people = calibration.people
    first = f"{calibration.judge}, calibrated to {counted(len(people), 'person', 'people')} ({', '.join(people)})."
    tables = [table for table in calibration_tables(calibration, calibration.judge) if table.rows]
    needed = [
        f"{r.method.text}, {r.aspect}: {_more_needed(r.needed)}" for r in calibration.rows if r.needed is not None
    ]
    notes = [
        f"Estimated is {calibration.estimand}.",
        "Rated: cases with a rating of people, of those with a judge's score.",
        *_left_out(calibration),
    ]
    return "\n\n".join(filter(None, [first, tables_text(tables), "\n".join(needed), "\n".join(notes)]))


def _more_needed(n: LabelBudget) -> str:
    if n.scripts is None:
        return n.reason
    alone = "more than there are" if n.alone is None else n.alone
    wanted = f"{counted(n.scripts, 'script')} rated by people, {n.more} more"
    return f"for the wanted width: {wanted}; without the judge: {alone}"


def _reliability_table(title: str, reliability: Sequence[JudgeReliability]) -> FigureTable:
    rows = tuple((r.aspect, r.retest.same if r.retest.n else None, r.retest.n, r.length, r.scored) for r in reliability)
    heads = ("Aspect", "Same when asked twice", "of", "Correlation with length", "Scored")
    return FigureTable(title, heads, rows)


def summary_text(summary: JudgeSummary, outcome: JudgeResult | None, flagged: Sequence[str]) -> str:
    """What judges said, for a terminal: what came of this judging, tables, notes."""
    smoke = [
        f"the ratings of {r} are of smoke-test quality: they only show that the pipeline runs"
        for r in summary.smoke_test
    ]
    notes = "\n".join(f"Note: {note}." for note in (*smoke, *flagged))
    first = "" if outcome is None else _outcome_text(outcome)
    return "\n\n".join(filter(None, [first, tables_text(summary_tables(summary)) or "No rating so far.", notes]))


def _outcome_text(o: JudgeResult) -> str:
    counts = f"{counted(o.ratings, 'rating')} ({o.new} new, {o.unscored} unscored), {counted(o.calls, 'call')}"
    text = f"{o.rater}: {counts}; {o.spent}."
    if o.controls is not None:
        text += f"\nControl items: {o.controls.accepted} of {o.controls.asked} ratings are within the accepted range."
        for m in o.controls.missed:
            rating = "unscored" if m.given is None else m.given
            wanted = " to ".join(map(str, dict.fromkeys(m.accepted)))
            text += f"\n  missed: {m.aspect} of '{m.name}': {rating}, accepted {wanted}"
    return text


def summary_tables(summary: JudgeSummary) -> list[FigureTable]:
    """Means by rater, writer, method and aspect; unscored ratings, reliability, agreement, the rubric's rules."""
    low, high = RUBRICS[summary.rubric_name].points
    texts = _TEXTS[summary.rubric_name]
    counts = (texts.split()[-1].capitalize(), "Cases", "Unscored", f"all {low}", f"all {high}")
    head = ("Method", "Aspect", "Mean", *counts)
    caption = (
        f"Means of case means on {low} to {high} with 95 % intervals over cases. Unscored ones are in no mean; the "
        f"last columns are the mean if all of them were a {low}, or a {high}."
    )
    tables = []
    for rater, writer in dict.fromkeys((c.rater, c.writer) for c in summary.cells):
        rows = tuple(_rating_row(c) for c in summary.cells if (c.rater, c.writer) == (rater, writer))
        tables.append(FigureTable(f"{rater} on {texts} of {writer}", head, rows))
    tables[-1:] = [table._replace(caption=caption) for table in tables[-1:]]
    unscored = tuple((rater, why, n) for rater, kinds in summary.unscored.items() for why, n in kinds.items())
    tables.append(FigureTable("Unscored ratings", ("Rater", "Reason", "Ratings"), unscored))
    for rater in dict.fromkeys(r.rater for r in summary.reliability):
        mine = [r for r in summary.reliability if r.rater == rater]
        tables.append(_reliability_table(f"Reliability of {rater}", mine))
    agreement = {str(aspect): one for aspect, one in summary.agreement.items()}
    tables.append(FigureTable("Agreement among judges", AGREED, agreement_rows(agreement)))
    if summary.rubric_name == SCRIPT.name:
        tables += rubric_tables(summary.rubric, summary.labels, most=_SHOWN)
    return [table for table in tables if table.rows]


def _rating_row(c: MethodRating) -> tuple[Cell, ...]:
    worst, best = c.cell.bounds or (None, None)
    mean, scripts = c.cell.by_case, c.cell.scripts + c.cell.unscored
    return (c.editor, c.aspect, mean, scripts, mean.n, c.cell.unscored, worst, best)


def _left_out(calibration: Calibration) -> list[str]:
    """What is in no calibrated figure, what has no interval, and why."""
    powered = [r.calibrated.powered for r in calibration.rows]
    absent = [e for e in powered if e.value is None]
    alone = [e for e in powered if e.value is not None and e.low is None]
    notes = [f"Without a calibrated figure: {len(absent)}, {absent[0].reason}."] if absent else []
    notes += [f"Without an interval: {len(alone)}, {alone[0].note}."] if alone else []
    if calibration.left_out:
        notes.append(f"Left out: {'; '.join(f'{n} {why}' for why, n in calibration.left_out.items())}.")
    if calibration.synthetic:
        names = ", ".join(calibration.synthetic)
        notes.append(f"Synthetic raters ({names}) are programs: this only shows that the pipeline runs.")
    return notes


def calibrations(stores: Sequence[Path], unranked: Collection[str] = CONTROL_METHODS) -> list[JudgeCalibration]:
    """Every judge with ratings in the stores; ``unranked`` are the labels of control methods.

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
            name = f"judges in {path.name}"
            return [JudgeCalibration(name, name, why=str(error))]
        ratings = rated_scripts(store, [a.item for a in asks]) if asks else []
        ratings = [g for g in ratings if g.rating.rubric == rubric.name]
        authors, controls, control_names = question_authors(store), stored_controls(store), control_labels(store, asks)
    writers, out = {a.writer for a in asks}, []
    summary = summarise_ratings([g for g in ratings if g.rater.is_judge], asks, rubric=rubric)
    what = {"tendency": ", open answers", "consistency": ", pairs of answers"}.get(rubric.name, "")
    for judge in sorted({g.rating.rater for g in ratings if g.rater.is_judge}):
        lines = [g.line for g in ratings if g.rating.rater == judge and g.line is not None]
        costs = [line.cost for line in lines if line.cost is not None]
        found = JudgeCalibration(
            judge,
            judge + what,
            flags=tuple(family_conflicts(Rater.judge(judge).name, writers=writers, authors=authors)),
            reliability=tuple(r for r in summary.reliability if r.rater == judge),
            unscored=summary.unscored.get(judge, {}),
            cost=sum(costs) if costs else None,
            tokens=sum((line.tokens_in or 0) + (line.tokens_out or 0) for line in lines),
            controls=controls.get(judge),
        )
        try:
            wanted = CalibrationRequest(judge=judge, rubric=rubric, unranked=control_names.union(unranked))
            found = found._replace(calibration=calibrate_judge(ratings, asks, wanted))
        except UserError as error:
            found = found._replace(why=str(error))
        out.append(found)
    return out
