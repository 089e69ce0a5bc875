"""The command ``data construct-hops``: edits whose script questions need one step further, as a split."""

from __future__ import annotations

import json
from pathlib import Path

import click

from curation.cli.options import json_option, writes
from schemas.text.counting import counted


@click.command()
@click.argument("name")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File of the split.")
@writes("out")
@json_option
def construct_hops(name: str, source: Path, out: Path, as_json: bool) -> None:
    """Build the split NAME of a SOURCE (TOML): tables of what follows from an object, and edits with a script each.

    The step from the edited object stays with every probe as its premise. A script that names its answer, and an
    edit whose object no table knows, are refused. No model is asked.

    Example: scedit data construct-hops mine hops.toml --out mine.jsonl
    """
    from construction.documents.hops import read_hops
    from curation.splits.split_file import check_name, make_split, write_split
    from schemas.facts import Source

    origin = Source(name=check_name(name), licence="not stated")
    cases = read_hops(source, name, origin)
    split = make_split(name, cases)
    write_split(split, out)
    probes = sum(len(case.probes) for case in cases)
    if as_json:
        row = {"split": name, "digest": split.digest, "cases": len(cases), "probes": probes, "out": str(out)}
        click.echo(json.dumps(row))
        return
    click.echo(f"{counted(len(cases), 'edit')} with {counted(probes, 'probe')} in {out}.")
    click.echo(f'Next: split = {{ file = "{out}" }} in a configuration, with em_hop and s_es_hop among its metrics.')
