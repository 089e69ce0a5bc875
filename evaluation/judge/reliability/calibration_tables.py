"""A calibration as JSON values and as a text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from curation.stats.estimates import Estimate
from curation.stats.intervals import NO_SPREAD
from curation.stats.label_budget import LabelBudget
from evaluation.judge.reliability.calibration import Calibration
from evaluation.judge.reliability.summary_tables import estimate_data
from evaluation.judge.stored_ratings import ESTIMATORS
from schemas.text.counting import counted
from schemas.text.table_lines import aligned

FAMILIES = {
    "among": "Differences between methods",
    "against": "Methods less no edit",
    "null": "Null methods less no edit",
}


def as_data(calibration: Calibration) -> dict[str, Any]:
    """Everything, as JSON values."""
    return {
        "judge": calibration.judge,
        "estimand": calibration.estimand,
        "rated_under": calibration.rubric,
        "estimator": calibration.estimator,
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


def as_text(calibration: Calibration) -> str:
    """The same for a reader."""
    people = calibration.people
    rows: list[Sequence[str]] = [
        ("method", "aspect", "calibrated", "people alone", "judge alone", "judge-people", "weight", "rated")
    ]
    for r in calibration.rows:
        c = r.calibrated
        bias = "-" if c.bias.value is None else f"{c.bias.value:+.2f}"
        weight = "-" if c.weight is None else f"{c.weight:.2f}"
        estimates = (_short_text(e) for e in (c.powered, c.human, c.judge))
        rows.append((r.method.text, r.aspect, *estimates, bias, weight, f"{c.labelled} of {c.cases}"))
    lines = [f"{calibration.judge}, calibrated to {counted(len(people), 'person', 'people')} ({', '.join(people)})."]
    lines += aligned(rows, left=2)
    lines += [
        f"{r.method.text}, {r.aspect}: {_more_needed(r.needed)}" for r in calibration.rows if r.needed is not None
    ]
    for family, title in FAMILIES.items():
        some = [g for g in calibration.gaps if g.family == family]
        lines += ["", f"{title} on the same cases (p after Holm, over those of an aspect):"] if some else []
        for g in some:
            p = "" if g.p is None else f", p = {g.p:.3f}" if g.p >= 0.0005 else ", p < 0.001"
            lines.append(f"  {g.aspect}: {g.first.text} less {g.second.text}: {g.estimate.text(2)}{p}")
    return "\n".join([*lines, *_notes(calibration, lines)])


def _notes(calibration: Calibration, lines: list[str]) -> list[str]:
    """What stands below the tables: the estimand, and why a figure is missing."""
    notes = ["", f"Judge's scores ({calibration.estimator}): {ESTIMATORS[calibration.estimator]}."]
    notes += [
        f"Estimated is {calibration.estimand}.",
        "Rated: cases with a rating of people, of those with a judge's score.",
    ]
    if any("[all agree]" in line for line in lines):
        notes.append(
            "[all agree]: no rated case differs, so there is no interval and no p; the exact bound is in --json."
        )
    if any("[too " in line for line in lines):
        notes.append(
            "[too few], [too unequal]: simulation supports no interval and no p for so few rated cases that differ, or "
            "samples drawn with such unequal probabilities; why is in --json. Have people rate more scripts."
        )
    notes += [f"Left out: {n} {reason}." for reason, n in calibration.left_out.items()]
    if calibration.synthetic:
        names = ", ".join(calibration.synthetic)
        notes.append(f"Synthetic raters ({names}) are programs: this only shows that the pipeline runs.")
    return notes


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
