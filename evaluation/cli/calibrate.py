"""The command ``results calibrate``: human ratings estimated from a judge and a human-rated sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from curation.cli.options import json_option, shared_option

if TYPE_CHECKING:
    from evaluation.judge.stored_ratings import Estimator

_FILE = click.Path(path_type=Path)
_ESTIMATOR = "A judge's score: its integer rating, or weighted by its log-probabilities where it gives them."
_RUBRICS = ("script", "tendency", "consistency")
_WIDTH = "Also say how many scripts people must rate for an interval of ± this, in points."


@click.command(epilog="Example: scedit results calibrate my.duckdb --judge gpt-4.1 --width 0.2 --against none")
@click.argument("store_or_run", type=_FILE)
@shared_option("--rubric", type=click.Choice(_RUBRICS), also="Default: scripts, or answers where there are none.")
@click.option("--judge", help="Judge to calibrate, by its name in ratings; not needed if there is only one.")
@click.option(
    "--quorum", type=click.IntRange(min=1), help="Calibrate the panel of all judges; a score needs this many of them."
)
@click.option(
    "--people",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="People who must have rated a script.",
)
@click.option("--width", type=click.FloatRange(min=0, min_open=True), help=_WIDTH)
@click.option("--against", metavar="LABEL", help="Compare all methods with this one, instead of all pairs.")
@click.option(
    "--estimator", type=click.Choice(["integer", "weighted"]), default="integer", show_default=True, help=_ESTIMATOR
)
@json_option
def calibrate(
    store_or_run: Path,
    rubric: str | None,
    judge: str | None,
    quorum: int | None,
    people: int,
    width: float | None,
    against: str | None,
    estimator: Estimator,
    as_json: bool,
) -> None:
    """Estimate human ratings of all scripts, or open answers, of STORE_OR_RUN, from a judge and a human-rated sample.

    The estimate is prediction-powered (PPI++): the judge's mean over all scripts, corrected by the difference between
    people and judge on the sample. People alone and the judge alone are shown too. Only ratings with a recorded
    sampling probability count (scedit annotate new --percent); decisions of a lead do not.
    """
    from curation.store.store import Store
    from evaluation.judge.from_run import scripts_store
    from evaluation.judge.inputs import texts_to_rate
    from evaluation.judge.reliability.calibration import CalibrationRequest, calibrate_judge
    from evaluation.judge.reliability.calibration_tables import as_data, as_text
    from evaluation.judge.stored_ratings import null_labels, rated_scripts
    from schemas.ratings import RUBRICS, TENDENCY

    with Store.open(scripts_store(store_or_run)) as opened:
        asks = texts_to_rate(opened, rubric)
        name = rubric or (asks[0].rubric.name if asks else TENDENCY.name)
        ratings = rated_scripts(opened, [a.item for a in asks], estimator=estimator)
        nulls = null_labels(opened, asks)
    request = CalibrationRequest(judge, quorum, people, width, against, estimator, RUBRICS[name], nulls)
    calibration = calibrate_judge(ratings, asks, request)
    click.echo(json.dumps(as_data(calibration), ensure_ascii=False) if as_json else as_text(calibration))
