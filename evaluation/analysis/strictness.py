"""A strictness curve of locality: how many prompts count as unmoved, from two targets in order to a tiny divergence."""

from __future__ import annotations

from typing import Any

from curation.stats.intervals import Interval
from evaluation.analysis.tables import FigureTable, Plot, PlotPoint, Rate, by_value, head_of, rates
from evaluation.metrics.base import Answers, Normalisation, Preference, target_values
from evaluation.metrics.distribution import Region, agreement, distribution_probes, divergence, next_tokens_of
from evaluation.metrics.token_level import NS, SNS
from evaluation.runs.frame import finished_cases, unedited_run
from evaluation.runs.results import Run
from schemas.answers import NextTokens
from schemas.cases import Case

REGIONS: dict[Region, str] = {
    "neighbour": "neighbour prompts",
    "script_neighbour": "scripts of neighbours",
    "unrelated": "unrelated prompts",
}
THRESHOLDS = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Divergences in nats up to which a prompt counts as unmoved."""
CRITERIA = ("old > new", "same first token", *(f"KL ≤ {t:g}" for t in THRESHOLDS))
_COLUMNS = tuple(Rate(name, name) for name in CRITERIA)


def unmoved_prompts(run: Run, normalisation: Normalisation = "mean") -> list[dict[str, Any]]:
    """Every prompt with distributions before and after an edit, and the criteria that it meets.

    The first criterion is None where there are no two targets (unrelated prompts), or the run did not ask for them.
    """
    unedited = {editor.label: unedited_run(run, editor) for editor in run.editors[1:]}
    answers = {one.label: {case.key: a for case, a in finished_cases(run, one)} for one in unedited.values()}
    rows = []
    for region in REGIONS:
        for editor in run.editors[1:]:
            before = answers[unedited[editor.label].label]
            for case, after in finished_cases(run, editor):
                found = _of_case(case, region, after, before[case.key], normalisation) if case.key in before else []
                rows += [{"region": region, "method": editor.label, "case": case.key, **values} for values in found]
    return rows


def _of_case(
    case: Case, region: Region, after: Answers, before: Answers, normalisation: Normalisation
) -> list[dict[str, Any]]:
    orders, out = _two_targets(case, region, after, normalisation), []
    for probe in distribution_probes(case, region):
        then, now = next_tokens_of(before.get(probe.id)), next_tokens_of(after.get(probe.id))
        if isinstance(then, NextTokens) and isinstance(now, NextTokens):
            distance = divergence(then, now)
            first = (orders.get((probe.prompt, probe.separator)), agreement(then, now, 1) == 1.0)
            met = (*first, *(distance <= t for t in THRESHOLDS))
            out.append({"neighbour": probe.cluster, **dict(zip(CRITERIA, met, strict=True))})
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


def strictness_parts(run: Run, normalisation: Normalisation) -> list[FigureTable | Plot]:
    """A picture and a table of each region that was asked for distributions."""
    out: list[FigureTable | Plot] = []
    for region, values in by_value(unmoved_prompts(run, normalisation), "region").items():
        title = f"How strict locality is: {REGIONS[region]}"
        rows = rates(values, ["method"], _COLUMNS)
        points = [
            PlotPoint(str(label), name, share)
            for label, _, *shares in rows
            for name, share in zip(CRITERIA, shares, strict=True)
            if isinstance(share, Interval) and share.mean is not None
        ]
        caption = "Share of prompts that count as unmoved, from loose criteria to strict ones (divergence in nats)."
        out.append(Plot("lines", title, tuple(points), "criterion", "unmoved prompts, %", caption))
        out.append(FigureTable(title, head_of(("Method",), "Prompts", _COLUMNS), rows, folded=True))
    return out
