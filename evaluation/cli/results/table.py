"""The command ``results table``: all answers, scores and figures of finished runs as Parquet files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from curation.cli.options import json_options, writes
from evaluation.cli.results.options import metrics_option, normalisation_option
from schemas.text.counting import counted

_PATH = click.Path(path_type=Path)


@click.command(epilog="Example: scedit results table runs/mine runs/other --out tables")
@click.argument("folders", nargs=-1, required=True, type=_PATH)
@click.option("--out", type=_PATH, required=True, help="New or empty folder of the tables.")
@metrics_option
@normalisation_option
@writes(folders=("out",))
@json_options
def table(folders: tuple[Path, ...], out: Path, metrics: tuple[str, ...], normalisation: Any, as_json: bool) -> None:
    """Write every answer, score and figure of the runs in FOLDERS as Parquet tables.

    answers.parquet has one row an answer of a method (prompt, targets, log-probabilities, text), scores.parquet one row
    a metric and prompt, figures.parquet one row a metric and method with its interval and its gain over no edit. Read
    them with pandas, polars, DuckDB or R; in Python, load_run(FOLDER).frame() is the
    data frame of all scores.
    """
    from curation.files.atomic import atomic_folder
    from evaluation.analysis.exports import write_run_tables
    from evaluation.runs.results import load_run

    runs = [load_run(folder) for folder in folders]
    with atomic_folder(out) as folder:
        counts = write_run_tables(runs, folder, metrics=metrics, normalisation=normalisation)
    if as_json:
        click.echo(json.dumps({"out": str(out), "rows": counts}, ensure_ascii=False))
        return
    for name, rows in counts.items():
        click.echo(f"{out / name}.parquet: {counted(rows, 'row')}")
