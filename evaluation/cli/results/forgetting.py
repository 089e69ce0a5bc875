"""The command ``results forgetting``: what a sequence of edits leaves of its earlier ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curation.cli.options import json_options
from evaluation.cli.results.options import metrics_option, normalisation_option

if TYPE_CHECKING:
    from evaluation.analysis.forgetting_curve import ForgettingPoint


@click.command(epilog="Example: scedit results forgetting runs/sequence")
@click.argument("folder", type=click.Path(path_type=Path))
@metrics_option
@normalisation_option
@json_options
def forgetting(folder: Path, metrics: tuple[str, ...], normalisation: Any, as_json: bool) -> None:
    """Show the forgetting curve of the run in FOLDER, which was in the regime 'sequential'.

    For every number of edits in the model: the mean over all cases edited so far, the same cases right after their own
    edits, and the difference, paired by case.

    Of a run in the regime 'batch' with several sizes: for every number of edits made together, the mean over the cases
    that every size has, the same cases with the fewest edits, and the difference.
    """
    from evaluation.analysis.facts.batch_size_curve import batch_size_curve, is_in_batches
    from evaluation.analysis.forgetting_curve import forgetting_curve as curve
    from evaluation.runs.generated_scripts import generation_of
    from evaluation.runs.plan import load_metrics
    from evaluation.runs.results import load_run

    run = load_run(folder)
    points = (batch_size_curve if is_in_batches(run) else curve)(
        run,
        load_metrics(metrics or run.about["metrics"], generation_of(run)),
        normalisation or run.about["normalisation"],
    )
    if as_json:
        for point in points:
            click.echo(json.dumps(_plain_point(point), ensure_ascii=False))
        return
    _print_points(points, together=is_in_batches(run))


def _plain_point(point: ForgettingPoint) -> dict[str, Any]:
    data = point._asdict()
    for name in ("all", "new", "lost"):
        interval = data[name]
        data[name] = {"mean": interval.mean, "half_width_95": interval.half, "cases": interval.n}
        data[name] |= {"low_95": interval.low, "high_95": interval.high}
    return data


def _print_points(points: list[ForgettingPoint], *, together: bool) -> None:
    from evaluation.report.formatting import mean_with_interval, percent

    wide = max([len(p.label) for p in points] + [6]) + 2
    heads = ("metric", "edits", "all so far", "after own edit", "difference", "last edit")
    if together:
        heads = ("metric", "edits", "made together", "with the fewest", "difference", "")
    widths = (12, 7, 22, 22, 24, 11)
    click.echo("method".ljust(wide) + "".join(h.rjust(w) for h, w in zip(heads, widths, strict=True)))
    for p in points:
        last = "" if together else percent(p.latest)
        cells = (
            *(p.metric, str(p.edits), mean_with_interval(p.all), mean_with_interval(p.new)),
            *(mean_with_interval(p.lost, signed=True), last),
        )
        click.echo(p.label.ljust(wide) + "".join(c.rjust(w) for c, w in zip(cells, widths, strict=True)))
    over = "the cases that every size has" if together else "the cases edited so far"
    click.echo(f"Percent [95 % interval] over {over}; differences are paired by case.")
