"""Attribution by stage: on the same cases from the fact prompt to the judged script, where do edits get lost?

ES, PS, S-ES, S-ES-gen, Coherence: a rate at each stage, the paired change from the stage before, and the share of cases
that flip between the two, over cases in which the model knew the old object before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from curation.stats.bounded import bounded_interval, difference_interval
from curation.stats.intervals import Interval
from evaluation.analysis.tables import DELTA, FigureTable
from evaluation.analysis.written_facts import text_values
from evaluation.metrics.base import Metric, Normalisation, Role
from evaluation.metrics.generation import load_metrics
from evaluation.runs.frame import score_run
from evaluation.runs.generated_scripts import generation_of
from evaluation.runs.plan import metrics_with_roles
from evaluation.runs.results import Run

KnownCases = Literal["preferred", "named", "all"]
KNOWN_CASES: dict[KnownCases, str] = {
    "preferred": "cases in which the unedited model prefers the old object after the fact prompt",
    "named": "cases in which the unedited model names the old object first at half of the script prompts or more",
    "all": "all cases",
}
STAGES: tuple[Role, ...] = ("efficacy", "generalisation", "script_efficacy", "text_efficacy")
"""Roles of the stages' metrics, in order; the metrics are the run's own, else those of this program."""
MIDDLE = 4  # of the scale from 1 to 7
PASS = 0.5
CHANGES = ("Method", "Stage", f"{DELTA} from the stage before", "Lost", "Gained")
PASSED = "Lost: of the cases that passed the stage before, the share that fails this one; gained: the reverse."


Stages = dict[str, dict[str, float]]
"""Title of a stage -> case -> value, in the order of the stages."""


def stage_values(
    run: Run,
    *,
    known: KnownCases = "preferred",
    normalisation: Normalisation = "mean",
    coherence: Mapping[str, Mapping[str, float]] | None = None,
    rater: str = "",
) -> dict[str, Stages]:
    """The stages of every editor but the unedited model, all over the same cases.

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
    steps = {m.title: {label: scores.means(label, m.name) for label in labels} for m in metrics}
    if coherence is not None:
        rated = {label: {k: float(v > MIDDLE) for k, v in coherence.get(label, {}).items()} for label in labels}
        steps[f"Coherence above {MIDDLE}" + (f", {rater}" if rater else "")] = rated
    known_values = [by_case for values in steps.values() for by_case in values.values() if by_case]
    common = known_cases(run, known, normalisation).intersection(*known_values)
    stages = {
        label: {t: {k: v[label][k] for k in sorted(common)} for t, v in steps.items() if v[label]} for label in labels
    }
    return {label: mine for label, mine in stages.items() if mine}


def stage_tables(run: Run, **options: Any) -> list[FigureTable]:
    """For each sense of "known": the rates by stage, and what every stage takes away; options as for the stages."""
    out = []
    for known, title in KNOWN_CASES.items():
        stages = stage_values(run, known=known, **options)
        cases = max((len(values) for mine in stages.values() for values in mine.values()), default=0)
        if not cases:
            continue
        titles = list(dict.fromkeys(stage for mine in stages.values() for stage in mine))
        rows, changes = [], []
        for label, mine in stages.items():
            rates = {stage: bounded_interval(list(values.values())) for stage, values in mine.items()}
            rows.append((label, *map(rates.get, titles)))
            changes += [(label, after, *stage_change(mine[before], mine[after])) for before, after in pairwise(mine)]
        folded, over = known != "preferred", f"over {title} ({cases})"
        out.append(FigureTable(f"Stages {over}", ("Method", *titles), tuple(rows), folded=folded))
        out.append(FigureTable(f"Changes between stages {over}", CHANGES, tuple(changes), PASSED, folded=True))
    return out


def stage_change(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[Interval, Interval, Interval]:
    """The paired change from a stage to the next, and the shares of cases that are lost and gained.

    Example:
        >>> change = stage_change({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 0.0})
        >>> [figure.mean for figure in change]
        [-0.5, 0.5, None]
    """
    lost = [float(after[k] <= PASS) for k, value in before.items() if value > PASS]
    gained = [float(after[k] > PASS) for k, value in before.items() if value <= PASS]
    return difference_interval(after, before), bounded_interval(lost), bounded_interval(gained)


def stage_metrics(run: Run, roles: Sequence[Role]) -> tuple[Metric, ...]:
    """The metrics of stages: the run's own with these roles, else ours (another metric may have asked the same)."""
    generation = generation_of(run)
    return metrics_with_roles(roles, load_metrics(run.about["metrics"], generation), generation)


def known_cases(run: Run, known: KnownCases, normalisation: Normalisation = "mean") -> set[str]:
    """Cases in which the unedited model knew the old object, in one of the senses of ``KNOWN_CASES``."""
    if known == "all":
        return set(run.cases)
    base = run.baseline
    if known == "preferred":
        metrics = stage_metrics(run, ["efficacy"])
        (old_scores,) = score_run(run._replace(editors=(base,)), metrics, normalisation).by_editor[base.label].values()
        return {k for k, s in old_scores.items() if s.mean == 0.0 and not any(i.tie for i in s.items)}
    named: dict[str, list[bool]] = defaultdict(list)
    for text in text_values(run._replace(editors=(base,)), "script prompt"):
        named[text["case"]].append(text["old"])
    return {key for key, some in named.items() if 2 * sum(some) >= len(some)}
