"""Do two models order the methods alike? The open split's cases that both were asked, side by side.

``python -m benchmarks.open.two_models runs/open-local runs/open --page results/open-split.md`` takes the cases and the
methods of the first run, and the second run's answers about them; the tables go between the page's markers: every
metric under both models, the hours of the first run, the order of the methods under each metric with Kendall's tau-b
between the models (percentile interval over resamples of the cases), and the pairs that each model decides.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.open_methods import finished, methods_table
from benchmarks.open_split import publish
from benchmarks.support.tables import table
from curation.stats.estimates import Floats
from evaluation.analysis.method_order import kendall_taus
from evaluation.metrics.base import Metric
from evaluation.report.sections import ReportSection, make_section
from evaluation.runs.results import Run, load_run
from schemas.core.errors import UserError

MARKS = ("<!-- two models -->", "<!-- end of two models -->")
ORDERED = ("es", "ps", "ns", "s_es", "s_ns")
DRAWS = 2_000


class OrderInBoth(NamedTuple):
    """One metric: the methods from best to worst under each model (equal ones together), and how alike they are."""

    title: str
    first: tuple[tuple[str, ...], ...]
    second: tuple[tuple[str, ...], ...]
    tau: float
    ends: tuple[float, ...] | None
    cases: int


def restricted(run: Run, like: Run) -> Run:
    """A run with the cases and the methods of another alone.

    Raises:
        UserError: it lacks one of them.
    """
    labels = [e.label for e in like.editors]
    editors = {e.label: e for e in run.editors}
    if missing := [*(label for label in labels if label not in editors), *(set(like.cases) - set(run.cases))]:
        raise UserError(f"the run has no {missing[0]}", where=str(run.folder), fix="run it on the same split first")
    kept = (editors[label] for label in labels)
    few = tuple(e._replace(results={k: e.results[k] for k in like.cases if k in e.results}) for e in kept)
    return finished(run._replace(cases=like.cases, editors=few))


def order_in_both(first: ReportSection, second: ReportSection, metric: Metric) -> OrderInBoth:
    """The orders of the methods, null methods aside, over the cases that all methods of both have a value for."""
    labels = [row.label for row in first.tables[0].rows if not row.null]
    if len(labels) < 2:
        raise UserError(
            f"the run has {len(labels)} finished methods to order",
            where=str(first.run.folder),
            allowed="two or more, null methods aside",
            fix="run more methods",
        )
    means = [[s.scores.means(label, metric.name) for label in labels] for s in (first, second)]
    keys = [k for k in first.run.cases if all(k in by_case for side in means for by_case in side)]
    values = np.array([[[by_case[k] for k in keys] for by_case in side] for side in means])  # (model, method, case)
    signed = values * (1.0 if metric.better == "higher" else -1.0)
    whole = signed.mean(axis=2)
    places = np.random.default_rng(0).integers(0, len(keys), size=(DRAWS, len(keys)))
    draws: Floats = np.stack([signed[:, :, p].mean(axis=2) for p in places])  # (draw, model, method)
    taus = kendall_taus(draws[:, 0], draws[:, 1])
    taus = taus[~np.isnan(taus)]  # NaN where a draw's methods are all alike
    ends = tuple(np.quantile(taus, (0.025, 0.975)).tolist()) if len(taus) else None
    orders = [_from_best(labels, side) for side in whole]
    tau = float(kendall_taus(whole[None, 0], whole[None, 1])[0])
    return OrderInBoth(metric.title, orders[0], orders[1], tau, ends, len(keys))


def _from_best(labels: Sequence[str], values: Floats) -> tuple[tuple[str, ...], ...]:
    """Labels by value, the highest first; those with the same value stand together."""
    groups: dict[float, list[str]] = {}
    for i in np.argsort(-values, kind="stable"):
        groups.setdefault(round(float(values[i]), 9), []).append(labels[i])
    return tuple(map(tuple, groups.values()))


def _order_text(order: tuple[tuple[str, ...], ...]) -> str:
    return " > ".join(" = ".join(f"`{label}`" for label in group) for group in order)


def orders_table(first: ReportSection, second: ReportSection, names: tuple[str, str]) -> str:
    """A line a metric."""
    rows = []
    for metric in (m for name in ORDERED for m in first.metrics if m.name == name):
        one = order_in_both(first, second, metric)
        tau = "-" if one.ends is None else f"{one.tau:.2f} [{one.ends[0]:.2f}, {one.ends[1]:.2f}]"
        rows.append([one.title, one.cases, _order_text(one.first), _order_text(one.second), tau])
    return table(["metric", "cases", f"order, {names[0]}", f"order, {names[1]}", "tau-b"], rows)


def decided_table(first: ReportSection, second: ReportSection, names: tuple[str, str]) -> str:
    """Every pair of methods under every metric: who is better by each model's corrected test, and do they agree."""
    by_pair: list[dict[tuple[str, str, str], str]] = [
        {
            (t.metric, t.first, t.second): {"first": t.first, "second": t.second}.get(t.verdict, "undecided")
            for t in tests
        }
        for tests in ([t for f in s.contests if f.kind == "among" for t in f.contests] for s in (first, second))
    ]
    titles = [m.title for name in ORDERED for m in first.metrics if m.name == name]
    rows = []
    for key in sorted((k for k in by_pair[0] if k[0] in titles and k in by_pair[1]), key=lambda k: titles.index(k[0])):
        verdicts = [side[key] for side in by_pair]
        alike = (
            "both undecided" if set(verdicts) == {"undecided"} else "one decides" if "undecided" in verdicts else None
        )
        agree = alike or ("the same" if verdicts[0] == verdicts[1] else "**the opposite**")
        cells = [v if v == "undecided" else f"`{v}`" for v in verdicts]
        rows.append([key[0], f"`{key[1]}` - `{key[2]}`", *cells, agree])
    return table(["metric", "pair", f"better, {names[0]}", f"better, {names[1]}", "the two"], rows)


def hours_table(run: Run) -> str:
    """Hours on the clock that every method took, edits and scoring apart."""
    rows = []
    for editor in run.editors:
        edit, score = (
            sum(getattr(r, name) for r in editor.results.values()) for name in ("seconds_edit", "seconds_score")
        )
        rows.append([f"`{editor.label}`", f"{edit / 3600:.2f}", f"{score / 3600:.2f}", f"{(edit + score) / 3600:.2f}"])
    return table(["method", "hours of edits", "hours of scoring", "together"], rows)


def parts(first: Run, second: Run) -> Iterator[str]:
    """All tables with their headings."""
    sections = make_section(first, None, None), make_section(second, None, None)
    names = tuple(str(run.about["model"]) for run in (first, second))
    for run, section in zip((first, second), sections, strict=True):
        precision = run.editors[0].manifest.dtype
        yield f"`{run.about['model']}`, {precision}, {len(run.cases)} cases of `{run.about['split']}`:"
        yield methods_table(section)
    yield f"Hours of `{names[0]}` on the clock, beside other work:"
    yield hours_table(first)
    yield "Orders, best first, and how alike they are (1: the same, -1: reversed):"
    yield orders_table(*sections, (names[0], names[1]))
    yield "Pairs, each decided by its model's own corrected tests:"
    yield decided_table(*sections, (names[0], names[1]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables to a page, or print them."""
    parser = argparse.ArgumentParser(prog="benchmarks.open.two_models", description=__doc__)
    parser.add_argument("first", type=Path, help="the run whose cases and methods are taken")
    parser.add_argument("second", type=Path, help="a run of another model that has them, too")
    parser.add_argument("--page", type=Path, help="the page that gets the tables; printed where left out")
    options = parser.parse_args(arguments)
    first = finished(load_run(options.first))
    text = "\n\n".join(parts(first, restricted(load_run(options.second), first)))
    publish(text, options.page, marks=MARKS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
