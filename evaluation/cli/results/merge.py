"""The command ``results merge``: the parts of a run joined into one folder."""

from __future__ import annotations

import json
from pathlib import Path

import click

from curation.cli.options import json_options, writes
from schemas.text.counting import counted

_PATH = click.Path(path_type=Path)


@click.command(epilog="Example: scedit results merge runs/mine/part-* --out runs/mine")
@click.argument("folders", nargs=-1, required=True, type=_PATH)
@click.option("--out", type=_PATH, required=True, help="Folder of the whole run.")
@writes(folders=("out",))
@json_options
def merge(folders: tuple[Path, ...], out: Path, as_json: bool) -> None:
    """Join the parts that `scedit run --part i/n` wrote; the result equals that of an undivided run.

    FOLDERS are those of all parts, each finished.
    """
    from evaluation.runs.merge_parts import merge_parts

    run = merge_parts(folders, out)
    if as_json:
        click.echo(json.dumps({"out": str(out), "parts": len(folders), "cases": len(run.cases)}))
    else:
        click.echo(f"{counted(len(run.cases), 'case')} of {counted(len(folders), 'part')}. Next: scedit report {out}")
