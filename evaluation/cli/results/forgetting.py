"""The command ``results forgetting``: what a sequence of edits leaves of its earlier ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curation.cli.options import json_options
from curation.stats.intervals import Interval
from evaluation.cli.results.options import metrics_option, normalisation_option

if TYPE_CHECKING:
    from evaluation.analysis.sequences import ForgettingPoint, SequenceState


@click.command(epilog="Example: scedit results forgetting runs/sequence")
@click.argument("folder", type=click.Path(path_type=Path))
@metrics_option
@normalisation_option
@click.option("--states", is_flag=True, help="Show the model itself: perplexity, norms, seconds and memory an edit.")
@json_options
def forgetting(folder: Path, metrics: tuple[str, ...], normalisation: Any, states: bool, as_json: bool) -> None:
    """Show the forgetting curve of the run in FOLDER, which was in the regime 'sequential'.

    For every number of edits in the model: the mean over all cases edited so far, the same cases right after their own
    edits, and the difference, paired by case. With --states: perplexity of 24 plain texts, how far the weights are
    from what they were, seconds and memory an edit.

    Of a run in the regime 'batch' with several sizes: for every number of edits made together, the mean over the cases
    that every size has, the same cases with the fewest edits, and the difference.
    """
    from evaluation.analysis.sequences import batch_size_curve, is_in_batches
    from evaluation.analysis.sequences import forgetting_curve as curve
    from evaluation.runs.generated_scripts import generation_of
    from evaluation.runs.plan import load_metrics
    from evaluation.runs.results import load_run

    run = load_run(folder)
    if states:
        from evaluation.analysis.sequences import sequence_states

        _print_states(sequence_states(run), as_json=as_json)
        return
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
    return {name: _plain(value) for name, value in point._asdict().items()}


def _plain(value: Any) -> Any:
    """An interval as JSON, what else it is as it is."""
    if not isinstance(value, Interval):
        return value
    data = {"mean": value.mean, "half_width_95": value.half, "cases": value.n}
    return data | {"low_95": value.low, "high_95": value.high}


def _print_states(states: list[SequenceState], *, as_json: bool) -> None:
    from evaluation.analysis.sequences import state_table
    from evaluation.report.formatting import table_lines

    if as_json:
        for state in states:
            data = {name: _plain(value) for name, value in state._asdict().items()}
            norms = [norm.model_dump(mode="json") for norm in state.norms]
            click.echo(json.dumps({**data, "norms": norms}, ensure_ascii=False))
        return
    table = state_table(states)
    click.echo("\n".join([*table_lines(table), table.caption]))


def _print_points(points: list[ForgettingPoint], *, together: bool) -> None:
    from evaluation.analysis.tables import DELTA
    from evaluation.report.formatting import one_cell, percent
    from schemas.text.table_lines import aligned

    heads = ("method", "metric", "edits", "all so far", "after own edit", "difference", "last edit")
    if together:
        heads = ("method", "metric", "edits", "made together", "with the fewest", "difference", "")
    fewest = min((p.edits for p in points), default=0)
    rows = []
    for p in points:
        itself = together and p.edits == fewest
        before = percent(None) if itself else one_cell(p.new)
        lost = percent(None) if itself else one_cell(p.lost, DELTA)
        rows.append(
            (p.label, p.metric, str(p.edits), one_cell(p.all), before, lost, "" if together else percent(p.latest))
        )
    click.echo("\n".join(aligned([heads, *rows])))
    over = "the cases that every size has" if together else "the cases edited so far"
    click.echo(f"Percent [95 % interval] over {over}; differences are paired by case.")
