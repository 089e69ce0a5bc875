"""The command ``results extract-scripts``: what the models of a run wrote, for judges and raters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from curation.cli.options import editors_option, json_options, store_option, writes
from schemas.core.errors import UserError
from schemas.text.counting import counted

if TYPE_CHECKING:
    from schemas.generated_scripts import GeneratedScript

_FILE = click.Path(path_type=Path)


@click.command(
    epilog="Example: scedit results extract-scripts runs/mine --store my.duckdb --out runs/mine/scripts.jsonl"
)
@click.argument("run", type=_FILE)
@click.option("--out", type=_FILE, help="JSONL file of the scripts; scripts.jsonl in the run's folder otherwise.")
@store_option("store", required=False, also="The scripts are put into it too.")
@editors_option(also="Only their scripts.")
@click.option("--ceiling", is_flag=True, help="Add hand-written scripts with the new object put in, as a ceiling.")
@writes("out")
@json_options
def extract_scripts(
    run: Path, out: Path | None, store: Path | None, editors: tuple[str, ...], ceiling: bool, as_json: bool
) -> None:
    """Extract the scripts that were generated in RUN (a run's folder) from its journal.

    `scedit annotate add-scripts` and `scedit judge` read the file. A store must hold the split's facts and questions
    already. Hand-written scripts come from the store or with the shipped split; the old object in them is replaced by
    the new one without a check.
    """
    from evaluation.runs.generated_scripts import by_hand, generation_of, scripts_of_run, shipped_steps, write_scripts
    from evaluation.runs.results import load_run

    finished = load_run(run)
    sources = scripts_of_run(finished, list(editors))
    if ceiling:
        sources += by_hand(finished, shipped_steps() if store is None else _steps(store))
    target = out or run / "scripts.jsonl"
    write_scripts(sources, target)
    fresh = None
    if store is not None:
        from curation.store.store import Store
        from evaluation.runs.generated_scripts import store_scripts

        with Store.open(store, write=True) as opened:
            try:
                fresh = store_scripts(sources, opened, generation_of(finished))[1]
            except UserError as error:
                raise UserError(
                    f"the store lacks what the scripts belong to: {error}",
                    where=str(store),
                    fix="name the store that the split came from",
                ) from None
    _print_result([w.script for w in sources], target, fresh, as_json=as_json)


def _steps(path: Path) -> dict[str, tuple[str, ...]]:
    from curation.store.store import Store
    from evaluation.runs.generated_scripts import stored_steps

    with Store.open(path) as store:
        return stored_steps(store)


def _print_result(scripts: list[GeneratedScript], target: Path, fresh: int | None, *, as_json: bool) -> None:
    for label in dict.fromkeys(s.editor for s in scripts):
        scripts_of_label = [s for s in scripts if s.editor == label]
        row = {
            "editor": label,
            "scripts": len(scripts_of_label),
            "without_steps": sum(not s.steps for s in scripts_of_label),
            "refused": sum(s.refused for s in scripts_of_label),
        }
        if as_json:
            click.echo(json.dumps({**row, "file": str(target)}, ensure_ascii=False))
        else:
            odd = f"{row['without_steps']} without steps, {row['refused']} refused"
            click.echo(f"{label}: {counted(len(scripts_of_label), 'script')}, {odd}")
    if not as_json:
        new = "" if fresh is None else f"; {fresh} new in the store"
        click.echo(f"Written to {target}{new}. Next: scedit annotate add-scripts, scedit judge")
