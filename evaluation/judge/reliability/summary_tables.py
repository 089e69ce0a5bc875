"""A summary of ratings as text for a terminal, and as data for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from curation.stats.estimates import Estimate
from evaluation.judge.reliability.rubric import RubricReport
from evaluation.judge.reliability.summary import JudgeReliability, JudgeSummary, MethodRating
from evaluation.judge.session import JudgeResult
from evaluation.judge.stored_ratings import ESTIMATORS
from schemas.ratings import RUBRICS, SCRIPT, Rubric
from schemas.text.counting import counted
from schemas.text.table_lines import aligned

_TEXTS = {"script": "scripts", "tendency": "open answers", "consistency": "pairs of answers"}
_SHOWN = 10  # disagreements with the rubric that text shows; JSON has all


def as_data(summary: JudgeSummary, outcome: JudgeResult | None, flagged: Sequence[str]) -> dict[str, Any]:
    """Everything, as JSON values."""
    return {
        "outcome": None if outcome is None else _outcome(outcome),
        "quorum": summary.quorum,
        "rated_under": summary.rubric_name,
        "estimator": summary.estimator,
        "cells": [c._asdict() for c in summary.cells],
        "trust": [
            {
                **{"rater": t.rater, "aspect": t.aspect, "retest": t.retest._asdict(), "weighted": t.weighted},
                **{"scored": t.scored, "repeats": estimate_data(t.repeats), "length": estimate_data(t.length)},
            }
            for t in summary.reliability
        ],
        "agreement": {
            aspect: {
                **{"alpha": estimate_data(a.alpha), "ac1": estimate_data(a.ac1), "ac2": estimate_data(a.ac2)},
                **{"exact": estimate_data(a.exact), "within_one": estimate_data(a.within_one)},
                **{"level": a.level, "units": a.units, "raters": a.raters},
            }
            for aspect, a in summary.agreement.items()
        },
        "rubric": rubric_data(summary.rubric),
        "unscored": {r: dict(k) for r, k in summary.unscored.items()},
        "flags": list(flagged),
        "plumbing": list(summary.smoke_test),
    }


def rubric_data(rubric: RubricReport) -> dict[str, Any]:
    """What the rubric's rules say, as JSON values."""
    by = [
        {"rater": r, "aspect": a, "ruled": n, "agreed": rubric.agreed[r, a]}
        for (r, a), n in sorted(rubric.ruled.items())
    ]
    listed = [d._asdict() for d in rubric.disagreements]
    return {"by": by, "free": rubric.free, "disagreements": listed}


def as_text(summary: JudgeSummary, outcome: JudgeResult | None, flagged: Sequence[str]) -> str:
    """The same for a reader; long lists are cut and say so."""
    parts = [] if outcome is None else [_outcome_text(outcome), ""]
    parts += _cells(summary.cells, RUBRICS[summary.rubric_name])
    if summary.cells and summary.rubric_name == SCRIPT.name:
        parts.append(f"Judges' scores ({summary.estimator}): {ESTIMATORS[summary.estimator]}.")
    parts += ["", *_reasons(summary)] if summary.unscored else []
    parts += ["", *_reliability(summary.reliability)] if summary.reliability else []
    parts += ["", *_agreement(summary)] if summary.agreement else []
    parts += ["", *_rubric(summary.rubric)] if summary.rubric_name == SCRIPT.name else []
    notes = [
        f"the ratings of {r} are of smoke-test quality: they only show that the pipeline runs"
        for r in summary.smoke_test
    ]
    notes += flagged
    parts += ["", *(f"Note: {note}." for note in notes)] if notes else []
    return "\n".join(parts)


def _outcome(outcome: JudgeResult) -> dict[str, Any]:
    data, control_result = outcome._asdict(), outcome.controls
    del data["controls"]
    controls = (
        None
        if control_result is None
        else {**control_result._asdict(), "missed": [m._asdict() for m in control_result.missed]}
    )
    return {**data, "control_items": controls}


def _outcome_text(o: JudgeResult) -> str:
    text = (
        f"{o.rater}: {counted(o.ratings, 'rating')} ({o.new} new, {o.unscored} unscored), "
        f"{counted(o.calls, 'call')}; {o.spent}."
    )
    if o.controls is not None:
        text += f"\nControl items: {o.controls.accepted} of {o.controls.asked} ratings are within the accepted range."
        for m in o.controls.missed:
            rating = "unscored" if m.given is None else m.given
            wanted = f"{m.accepted[0]}" if m.accepted[0] == m.accepted[1] else f"{m.accepted[0]} to {m.accepted[1]}"
            text += f"\n  missed: {m.aspect} of '{m.name}': {rating}, accepted {wanted}"
    return text


def _cells(cells: Sequence[MethodRating], rubric: Rubric) -> list[str]:
    if not cells:
        return ["No rating so far."]
    texts = _TEXTS[rubric.name]
    lines: list[str] = []
    for rater, writer in dict.fromkeys((c.rater, c.writer) for c in cells):
        rows = [("method", "aspect", "mean [95 % by case]", texts.split()[-1], "cases", "unscored", "worst-best")]
        for c in cells:
            if (c.rater, c.writer) != (rater, writer):
                continue
            ends = "" if c.low is None or c.high is None else f" [{c.low:.2f}, {c.high:.2f}]"
            mean = "none" if c.mean is None else f"{c.mean:.2f}{ends}"
            lost = c.scripts - c.scored
            bounds = f"{c.worst:.2f}-{c.best:.2f}" if lost and c.worst is not None and c.best is not None else ""
            rows.append((c.editor, c.aspect, mean, str(c.scripts), str(c.cases), str(lost), bounds))
        lines += ["", f"{rater} on {texts} of {writer}:", *(f"  {line}" for line in aligned(rows, left=2))]
    del lines[0]
    low, high = rubric.points
    lines.append(
        f"Means of case means on {low} to {high} with 95 % intervals over cases. Unscored ones are in no mean;"
    )
    lines.append(f"worst-best: the mean if all of them were a {low}, or a {high}.")
    return lines


def _reasons(summary: JudgeSummary) -> list[str]:
    lines = ["Unscored, by reason:"]
    for rater, kinds in summary.unscored.items():
        lines += [f"  {rater}: {n} {kind}" for kind, n in kinds.items()]
    return lines


def _reliability(judges: Sequence[JudgeReliability]) -> list[str]:
    lines = ["Reliability of each judge:"]
    for t in judges:
        again = f"{t.retest.same} of {t.retest.n} rated the same when asked twice" if t.retest.n else "none asked twice"
        again += f" ({t.retest.near} within 1)" if t.retest.n else ""
        again += f", {t.retest.lost} lost" if t.retest.lost else ""
        weighted = f"log-probabilities given: {t.weighted} of {t.scored}"
        if not t.weighted:
            weighted = "no log-probabilities"
        lines.append(f"  {t.rater} {t.aspect}: {again}; length {t.length.text(2)}; {weighted}")
    return lines


def _agreement(summary: JudgeSummary) -> list[str]:
    lines = ["Agreement among judges:"]
    for aspect, a in summary.agreement.items():
        lines.append(
            f"  {aspect}: alpha (ordinal) {a.alpha.text(2)}, AC2 {a.ac2.text(2)}, same {a.exact.text(2)}, "
            f"within 1 {a.within_one.text(2)}; {a.units} scripts, {a.raters} judges"
        )
    return lines


def _rubric(rubric: RubricReport) -> list[str]:
    lines = ["Deterministic rules of the rubric, applied literally (reported only, no rating is corrected):"]
    for (rater, aspect), n in sorted(rubric.ruled.items()):
        lines.append(f"  {rater} {aspect}: {rubric.agreed[rater, aspect]} of {n} follow the rule")
    for d in rubric.disagreements[:_SHOWN]:
        lines.append(f"    {d.item}  {d.rater} {d.aspect}: {d.given}, the rule says {d.rule}: {d.why}")
    if len(rubric.disagreements) > _SHOWN:
        lines.append(f"    ... and {len(rubric.disagreements) - _SHOWN} more (--json lists all)")
    if len(lines) == 1:
        lines.append("  no rating is decided by a rule")
    return lines


def estimate_data(e: Estimate) -> dict[str, Any]:
    """An estimate as JSON values."""
    fields = ("value", "low", "high", "n", "cases", "p", "reason", "note")
    return {name: getattr(e, name) for name in fields}
