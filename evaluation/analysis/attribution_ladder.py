"""Attribution by stage: on the same cases from the fact prompt to the judged script, where do edits get lost?

ES, PS, S-ES, S-ES-gen, Coherence: a rate at each stage, the paired drop from the stage before, and how many cases
flip between the two, over cases in which the model knew the old object before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from curation.stats.bounded import bounded_interval, difference_interval
from curation.stats.estimates import Estimate
from curation.stats.intervals import Interval
from curation.stats.proportions import binomial_interval
from evaluation.analysis.comparison import score_run
from evaluation.metrics.base import Metric, Normalisation, Role
from evaluation.metrics.text_level.probes import objects, rest_of_step
from evaluation.metrics.text_level.script_parser import names
from evaluation.runs.generated_scripts import generation_of
from evaluation.runs.plan import load_metrics, metrics_with_roles
from evaluation.runs.results import Run, cases_by_key

KnownCases = Literal["preferred", "named", "all"]
KNOWN_CASES: dict[KnownCases, str] = {
    "preferred": "cases in which the unedited model prefers the old object after the fact prompt",
    "named": "cases in which the unedited model names the old object first at half of the script prompts or more",
    "all": "all cases",
}
STAGES: tuple[Role, ...] = ("efficacy", "generalisation", "script_efficacy", "text_efficacy")
"""Roles of the stages' metrics, in order; the metrics are the run's own, else those of this program."""
COHERENCE = "coherence"
MIDDLE = 4  # of the scale from 1 to 7
PASS = 0.5
"""A case passes a stage with more than half of its prompts; the last one with a mean Coherence above the middle."""


class AttributionStage(NamedTuple):
    """One stage.

    Attributes:
        metric: Name of the metric.
        title: As shown.
        rate: Mean of case means with its interval, over the breakdown's cases.
        drop: Paired difference to the stage before, case by case; None on the first stage.
        passed: Cases that pass this stage.
        lost: Of the cases that passed the stage before, the share that fails this one; None on the first stage.
        gained: Of the cases that failed the stage before, the share that passes this one; None on the first stage.
    """

    metric: str
    title: str
    rate: Interval
    drop: Interval | None
    passed: int
    lost: Estimate | None
    gained: Estimate | None


class StageBreakdown(NamedTuple):
    """One editor's stages, over ``cases`` cases that have a value at every stage and meet the condition ``known``."""

    label: str
    known: KnownCases
    cases: int
    stages: tuple[AttributionStage, ...]


def stage_breakdowns(
    run: Run,
    *,
    known: KnownCases = "preferred",
    normalisation: Normalisation = "mean",
    coherence: Mapping[str, Mapping[str, float]] | None = None,
    rater: str = "",
) -> list[StageBreakdown]:
    """The stages of all editors but the unedited model, on the same cases.

    A stage without any value (no texts were written, nothing was rated) is left out for everyone.

    Args:
        run: A run folder read back.
        known: Which cases count; see ``KNOWN_CASES``.
        normalisation: Of the scored stages.
        coherence: Mean Coherence rating (1 to 7) by label and case, where scripts were rated. The stage is the share
            of cases above the middle of the scale: a text that names neither object is rated below it.
        rater: Who rated, for the title.
    """
    metrics = stage_metrics(run, STAGES)
    scores = score_run(run, metrics, normalisation)
    labels = [e.label for e in run.editors if e.label != run.baseline.label]
    steps = [(m.name, m.title, {label: scores.means(label, m.name) for label in labels}) for m in metrics]
    if coherence is not None:
        rated = {label: {k: float(v > MIDDLE) for k, v in coherence.get(label, {}).items()} for label in labels}
        steps.append((COHERENCE, f"Coherence above {MIDDLE}" + (f", {rater}" if rater else ""), rated))
    steps = [step for step in steps if any(step[2][label] for label in labels)]
    if not steps:
        return []
    common = known_cases(run, known, normalisation)
    for _, _, values in steps:
        for label in labels:
            if values[label]:
                common &= values[label].keys()
    keys = sorted(common)
    return [
        StageBreakdown(
            label, known, len(keys), attribution_stages([(m, t, {k: v[label][k] for k in keys}) for m, t, v in mine])
        )
        for label in labels
        if (mine := [step for step in steps if step[2][label]])
    ]


def stage_metrics(run: Run, roles: Sequence[Role]) -> tuple[Metric, ...]:
    """The metrics of stages: the run's own with these roles, else ours (another metric may have asked the same)."""
    generation = generation_of(run)
    return metrics_with_roles(roles, load_metrics(run.about["metrics"], generation), generation)


def attribution_stages(steps: Sequence[tuple[str, str, Mapping[str, float]]]) -> tuple[AttributionStage, ...]:
    """Stages from the values by case of each metric in order, as (name, title, values); all over the same cases.

    Example:
        >>> low, high = attribution_stages([("es", "ES", {"a": 1.0, "b": 1.0}), ("ps", "PS", {"a": 1.0, "b": 0.0})])
        >>> high.rate.mean, high.drop.mean, high.passed, high.lost.value, high.gained.value
        (0.5, -0.5, 1, 0.5, None)
    """
    out: list[AttributionStage] = []
    before: Mapping[str, float] | None = None
    for metric, title, values in steps:
        passed = {k for k, v in values.items() if v > PASS}
        drop = lost = gained = None
        if before is not None:
            had = {k for k, v in before.items() if v > PASS}
            drop = difference_interval(values, before)
            lost = binomial_interval(len(had - passed), len(had))
            gained = binomial_interval(len(passed - had), len(before) - len(had))
        out.append(
            AttributionStage(metric, title, bounded_interval(list(values.values())), drop, len(passed), lost, gained)
        )
        before = values
    return tuple(out)


def known_cases(run: Run, known: KnownCases, normalisation: Normalisation = "mean") -> set[str]:
    """Cases in which the unedited model knew the old object, in one of the senses of ``KNOWN_CASES``."""
    cases = cases_by_key(run)
    if known == "all":
        return set(cases)
    base = run.baseline
    if known == "preferred":
        metrics = stage_metrics(run, ["efficacy"])
        (old_scores,) = score_run(run._replace(editors=(base,)), metrics, normalisation).by_editor[base.label].values()
        return {k for k, s in old_scores.items() if s.mean == 0.0 and not any(i.tie for i in s.items)}
    generation, out = generation_of(run), set()
    for key, result in base.results.items():
        answers = {a.probe: a.written for a in result.answers if a.written is not None}
        probe_ids = [(p, rest_of_step(cases[key], p, generation).id) for p in cases[key].prompts]
        named = [names(answers[i].text, *objects(cases[key], p)).first == "old" for p, i in probe_ids if i in answers]
        if named and 2 * sum(named) >= len(named):
            out.add(key)
    return out
