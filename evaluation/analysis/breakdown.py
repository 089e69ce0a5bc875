"""Where a metric is high or low: by relation of the edited fact, and by the step at which the script was cut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from curation.stats.intervals import Interval
from evaluation.analysis.comparison import Scores
from evaluation.metrics.base import Metric, case_mean_interval, metric_of
from evaluation.runs.results import Run, cases_by_key
from schemas.answers import CaseScores, ItemScore

MOST = 12  # relations shown; the others are one line
LATE = 6  # steps from here on are one line: late cuts are few
OTHERS = "all others"


class BreakdownRow(NamedTuple):
    """One relation or step: how many cases and prompts it has, and the interval of every method, clustered by case."""

    name: str
    cases: int
    prompts: int
    values: dict[str, Interval]


class Breakdown(NamedTuple):
    """One metric cut up one way."""

    title: str
    by: str
    lines: tuple[BreakdownRow, ...]


def by_relation(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[Breakdown]:
    """Script efficacy (else the first metric where more is better) by relation, most frequent relations first."""
    metric = metric_of(metrics, "script_efficacy") or next((m for m in metrics if m.better == "higher"), None)
    if metric is None:
        return []
    cases = cases_by_key(run)
    groups: dict[str, list[str]] = defaultdict(list)
    for key, case in cases.items():
        relation = case.fact.relation
        groups[relation.label or relation.id].append(key)
    ranked = sorted(groups, key=lambda g: (-len(groups[g]), g))
    shown = {g: groups[g] for g in ranked[:MOST]}
    if len(ranked) > MOST:
        shown[f"{OTHERS} ({len(ranked) - MOST} relations)"] = [k for g in ranked[MOST:] for k in groups[g]]
    lines = [_of_cases(name, keys, run, scores, metric) for name, keys in shown.items()]
    return [Breakdown(metric.title, "relation", tuple(x for x in lines if x.prompts))]


def _of_cases(name: str, keys: Sequence[str], run: Run, scores: Scores, metric: Metric) -> BreakdownRow:
    values, prompts = {}, 0
    for editor in run.editors:
        case_scores = scores.by_editor[editor.label][metric.name]
        mine = [case_scores[k] for k in keys if k in case_scores]
        values[editor.label] = case_mean_interval(metric, mine)
        prompts = max(prompts, sum(i.value is not None for s in mine for i in s.items))
    return BreakdownRow(name, len(keys), prompts, values)


def by_step(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[Breakdown]:
    """S-ES, S-NS and S-BO by the step that was cut; a case counts once in each line that it has prompts in."""
    steps = _steps(run)
    out = []
    for metric in metrics:
        if metric.role not in ("script_efficacy", "script_locality", "bleed_over"):
            continue
        by_label = {e.label: _scores_by_step(scores, e.label, metric.name, steps) for e in run.editors}
        names = sorted({s for by_case in by_label.values() for s in by_case}, key=lambda s: (s == "not stated", s))
        lines = []
        for name in names:
            rows = {label: by_case.get(name, {}) for label, by_case in by_label.items()}
            lines.append(
                BreakdownRow(
                    name,
                    max(len(r) for r in rows.values()),
                    max(sum(len(one.items) for one in r.values()) for r in rows.values()),
                    {label: case_mean_interval(metric, r.values()) for label, r in rows.items()},
                )
            )
        if lines:
            out.append(Breakdown(metric.title, "step that was cut", tuple(lines)))
    return out


def _steps(run: Run) -> dict[str, str]:
    """Name of the step by key of the script prompt."""
    out = {}
    for case in cases_by_key(run).values():
        for prompt in [*case.prompts, *(p for n in case.neighbours for p in n.prompts)]:
            step = prompt.step
            name = "not stated" if step is None else f"step {step}" if step < LATE else f"step {LATE} or later"
            out[prompt.key] = name
    return out


def _scores_by_step(
    scores: Scores, label: str, metric: str, steps: Mapping[str, str]
) -> dict[str, dict[str, CaseScores]]:
    """Step -> case -> its scored prompts."""
    out: dict[str, dict[str, CaseScores]] = defaultdict(dict)
    for key, one in scores.by_editor[label][metric].items():
        by_step: dict[str, list[ItemScore]] = defaultdict(list)
        for item in one.items:
            if item.value is not None:
                by_step[steps.get(item.item, "not stated")].append(item)
        for step, items in by_step.items():
            out[step][key] = one.model_copy(update={"items": tuple(items)})
    return out
