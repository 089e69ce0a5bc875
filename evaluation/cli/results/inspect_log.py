"""The command ``results inspect-log``: finished runs as eval logs that Inspect reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from curation.cli.options import json_options, writes
from evaluation.cli.results.options import metrics_option, normalisation_option
from schemas.text.counting import counted

_PATH = click.Path(path_type=Path)


@click.command(epilog="Example: scedit results inspect-log runs/mine --out logs, then: inspect view --log-dir logs")
@click.argument("folders", nargs=-1, required=True, type=_PATH)
@click.option("--out", type=_PATH, required=True, help="New or empty folder of the logs.")
@metrics_option
@normalisation_option
@writes(folders=("out",))
@json_options
def inspect_log(
    folders: tuple[Path, ...], out: Path, metrics: tuple[str, ...], normalisation: Any, as_json: bool
) -> None:
    """Write the runs in FOLDERS as logs of Inspect (inspect_ai), one JSON file a method.

    A sample is one prompt of one case with its answer and its scores; figures and intervals are those of the report.
    Read them with inspect view or inspect_ai.log.read_eval_log; Inspect need not be installed to write them.
    """
    from curation.files.atomic import atomic_folder
    from evaluation.analysis.exports import write_inspect_logs
    from evaluation.runs.results import load_run

    runs = [load_run(folder) for folder in folders]
    with atomic_folder(out) as folder:
        logs = write_inspect_logs(runs, folder, metrics=metrics, normalisation=normalisation)
    for log in logs:
        path = out / log.path.name
        if as_json:
            data = {"file": str(path), "method": log.label, "samples": log.samples}
            click.echo(json.dumps(data, ensure_ascii=False))
        else:
            click.echo(f"{path}: {counted(log.samples, 'sample')}")
