"""A strictness curve of locality: how many prompts count as unmoved, from two targets in order to a tiny divergence."""

from __future__ import annotations

from typing import NamedTuple

from curation.stats.bounded import SHARE, clustered_interval
from curation.stats.intervals import Interval
from evaluation.metrics.base import Answers, Normalisation, Preference, target_values
from evaluation.metrics.distribution.locality import next_tokens_of
from evaluation.metrics.distribution.next_tokens import agreement, divergence
from evaluation.metrics.distribution.probes import Region, distribution_probes
from evaluation.metrics.token_level.ns import NS
from evaluation.metrics.token_level.s_ns import SNS
from evaluation.runs.results import EditorRun, Run, answers_by_probe, cases_by_key
from evaluation.runs.validity_variants import asked_case
from schemas.answers import NextTokens
from schemas.cases import Case

REGIONS: dict[Region, str] = {
    "neighbour": "neighbour prompts",
    "script_neighbour": "scripts of neighbours",
    "unrelated": "unrelated prompts",
}
THRESHOLDS = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Divergences in nats up to which a prompt counts as unmoved."""
TWO_TARGETS, SAME_FIRST = "old > new", "same first token"
CRITERIA = (TWO_TARGETS, SAME_FIRST, *(f"KL ≤ {t:g}" for t in THRESHOLDS))


class StrictnessCurve(NamedTuple):
    """One method in one region: by criterion the share of prompts that meet it, over ``prompts`` that have them all.

    The first criterion, the two-target one, is None where there are no two targets (unrelated prompts) or the run did
    not ask for them.
    """

    label: str
    region: Region
    prompts: int
    shares: tuple[Interval | None, ...]


class _Moved(NamedTuple):
    case: str
    cluster: str | None
    two_targets: bool | None
    same_first: bool
    divergence: float


def strictness_curves(run: Run, normalisation: Normalisation = "mean") -> list[StrictnessCurve]:
    """Every method but the unedited model in every region that was asked for distributions."""
    cases = cases_by_key(run)
    out = []
    for region in REGIONS:
        for editor in run.editors[1:]:
            moved = [m for key, case in cases.items() for m in _of_case(run, editor, key, case, region, normalisation)]
            if moved:
                out.append(_curve(editor.label, region, moved))
    return out


def _of_case(
    run: Run, editor: EditorRun, key: str, case: Case, region: Region, normalisation: Normalisation
) -> list[_Moved]:
    result, base = editor.results.get(key), run.baseline.results.get(key)
    if result is None or result.error is not None or base is None or base.error is not None:
        return []
    after, before = answers_by_probe(result.answers), answers_by_probe(base.answers)
    case = asked_case(case, editor.manifest.components)
    orders = _two_targets(case, region, after, normalisation)
    out = []
    for probe in distribution_probes(case, region):
        then, now = next_tokens_of(before.get(probe.id)), next_tokens_of(after.get(probe.id))
        if isinstance(then, NextTokens) and isinstance(now, NextTokens):
            same = agreement(then, now, 1) == 1.0
            place = (probe.prompt, probe.separator)
            out.append(_Moved(key, probe.cluster, orders.get(place), same, divergence(then, now)))
    return out


def _two_targets(
    case: Case, region: Region, after: Answers, normalisation: Normalisation
) -> dict[tuple[str, str], bool]:
    """By prompt and separator whether the old object is ahead of the new one."""
    metric: Preference | None = {"neighbour": NS(), "script_neighbour": SNS()}.get(region)
    out = {}
    for probe in () if metric is None else metric.probes(case):
        values = target_values(probe, after.get(probe.id), normalisation)
        if not isinstance(values, str):
            out[probe.prompt, probe.separator] = values[1] > values[0]
    return out


def _curve(label: str, region: Region, moved: list[_Moved]) -> StrictnessCurve:
    known = all(m.two_targets is not None for m in moved)

    def share(values: list[bool]) -> Interval:
        clusters = [m.cluster for m in moved]
        return clustered_interval([float(v) for v in values], [m.case for m in moved], clusters, SHARE)

    shares = [share([bool(m.two_targets) for m in moved]) if known else None, share([m.same_first for m in moved])]
    shares += [share([m.divergence <= t for m in moved]) for t in THRESHOLDS]
    return StrictnessCurve(label, region, len(moved), tuple(shares))
