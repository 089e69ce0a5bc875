"""The command ``results item-analysis``: does a split tell methods apart, and which items and relations do it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curation.cli.options import json_options, shared_option
from evaluation.cli.results.options import metrics_option, normalisation_option

if TYPE_CHECKING:
    from evaluation.analysis.method_order import ItemAnalysis

DEFAULT_METRICS = ("s_es", "s_ns")
MOST_RELATIONS = 8


@click.command(epilog="Example: scedit results item-analysis runs/open --metrics s_es")
@click.argument("folder", type=click.Path(path_type=Path))
@metrics_option
@normalisation_option
@click.option("--draws", type=click.IntRange(1), default=2000, show_default=True, help="Random halves of the cases.")
@shared_option("--seed", type=int, default=0, show_default=True)
@json_options
def item_analysis(
    folder: Path, metrics: tuple[str, ...], normalisation: Any, draws: int, seed: int, as_json: bool
) -> None:
    """Show which cases of the run in FOLDER discriminate between its methods.

    Split-half reliability of the methods' order, how many items all methods or none pass, how items correlate with the
    other cases, and which relations move the result most when they are left out. Null methods do not take part.
    Without --metrics: s_es and s_ns, or the run's first metric where it has neither.
    """
    from evaluation.analysis.method_order import analyse
    from evaluation.runs.frame import score_run
    from evaluation.runs.generated_scripts import generation_of
    from evaluation.runs.plan import load_metrics
    from evaluation.runs.results import load_run

    run = load_run(folder)
    there = run.about["metrics"]
    names = metrics or [n for n in DEFAULT_METRICS if n in there]
    chosen = load_metrics(names or there[:1], generation_of(run))
    scores = score_run(run, chosen, normalisation or run.about["normalisation"])
    for metric in chosen:
        figures = analyse(run, scores, metric, draws=draws, seed=seed)
        if as_json:
            click.echo(json.dumps(plain_analysis(figures), ensure_ascii=False))
        else:
            click.echo(analysis_text(figures, metric.title))


def plain_analysis(figures: ItemAnalysis) -> dict[str, Any]:
    """The figures as a JSON value."""
    data = figures._asdict()
    data["halves"] = figures.halves._asdict()
    data["items"] = figures.items and figures.items._asdict()
    data["relations"] = [relation._asdict() for relation in figures.relations]
    return data


def analysis_text(figures: ItemAnalysis, title: str) -> str:
    """The figures of one metric as lines of text."""
    halves, items = figures.halves, figures.items
    means = ", ".join(f"{label} {_points(mean)}" for label, mean in figures.means.items())
    lines = [
        f"{title}, {figures.cases} cases in common, best first: {means}",
        f"  two halves of the cases: Kendall's tau-b {_coefficient(halves.tau)} between the orders, the same best "
        f"method in {halves.same_first:.0%} of {halves.draws:,} divisions; reliability of the means "
        f"{_coefficient(halves.reliability)}",
    ]
    if items is not None and items.items:
        idle, none, whole = items.idle, items.passed_by[0], items.passed_by[-1]
        lines.append(
            f"  {items.items:,} items: no method passes {none:,}, all pass {whole:,}; {1 - idle / items.items:.0%} "
            "tell methods apart"
        )
    if items is not None and items.discrimination:
        ranked = sorted(items.discrimination)
        against = sum(r < 0 for r in ranked)
        lines.append(
            f"  correlation of such an item with the other cases: median {_coefficient(ranked[len(ranked) // 2])}, "
            f"negative for {against:,} of {len(ranked):,}"
        )
    for relation in figures.relations[:MOST_RELATIONS]:
        lines.append(
            f"  without {relation.relation} ({relation.cases} cases): {relation.method} "
            f"{_points(relation.shift, signed=True)}, order {_coefficient(relation.tau)}"
        )
    return "\n".join(lines)


def _points(value: float, *, signed: bool = False) -> str:
    """A share in points."""
    return f"{100 * value:+.1f}" if signed else f"{100 * value:.1f}"


def _coefficient(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"
