"""Commands that sample a split for people to judge: draw, import, report."""

from __future__ import annotations

import json
from pathlib import Path

import click

from curation.cli.options import json_option, json_options, seed_option, shared_option, store_option, writes
from curation.quality.report import report as make
from curation.quality.report import summary, text
from curation.quality.sample import draw as take
from curation.quality.sample import keep_sample, sample_named, sheet, strata_counts
from curation.quality.sheets import check_people, import_sheets, sheet_path, write_sheet
from curation.store.store import Store
from schemas.text.counting import counted

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("name")
@store_option()
@click.option("--out", type=_PATH, required=True, help="Folder for one sheet per person.")
@click.option("--person", "people", multiple=True, required=True, help="Who judges; repeat it for each person.")
@click.option("--percent", type=float, default=10.0, show_default=True, help="How much of the split (the paper: 10).")
@click.option(
    "--unit",
    type=click.Choice(["prompt", "case"]),
    default="prompt",
    show_default=True,
    help="What is drawn: prompts or cases.",
)
@click.option(
    "--min-per-stratum",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Minimum number of items per stratum.",
)
@seed_option(also="Another one draws other items.")
@shared_option(
    "--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True, also="Of each sheet."
)
@writes(folders=("out",))
@json_option
def draw(
    name: str,
    store_path: Path,
    out: Path,
    people: tuple[str, ...],
    percent: float,
    unit: str,
    min_per_stratum: int,
    seed: int,
    form: str,
    as_json: bool,
) -> None:
    """Draw a stratified sample of the split NAME and write a blind sheet for every person.

    The same command draws the same items. The sampling probabilities are kept in the store.

    Example: scedit split sample draw mine --store my.duckdb --person ann --person bob --out sheets --format csv
    """
    check_people(people)
    with Store.open(store_path, write=True) as store:
        split = store.open_split(name)
        drawn = take(
            split, unit="case" if unit == "case" else "prompt", percent=percent, min_per_stratum=min_per_stratum,
            number=seed, people=people,
        )  # fmt: skip
        for person in people:
            write_sheet(sheet(drawn, split.cases, person), sheet_path(out, person, form))
        keep_sample(store, drawn)
    row = {"sample": drawn.name, "items": len(drawn.items), "population": drawn.population}
    if as_json:
        click.echo(json.dumps({**row, "strata": strata_counts(drawn)}, ensure_ascii=False))
        return
    number = f"{len(drawn.items):,} of {counted(drawn.population, unit)}"
    click.echo(f"sample {drawn.name}: {number}, {counted(len(people), 'sheet')} in {out}")


@click.command("import")
@click.argument("sheets", type=_PATH, nargs=-1, required=True)
@store_option()
@click.option("--partial", is_flag=True, help="Take a sheet that is not filled in to the end.")
@json_options
def import_(sheets: tuple[Path, ...], store_path: Path, partial: bool, as_json: bool) -> None:
    """Read filled SHEETS back as verdicts; all or nothing, and every fault is named by line.

    Example: scedit split sample import sheets/ann.csv sheets/bob.csv --store my.duckdb
    """
    with Store.open(store_path, write=True) as store:
        filled = import_sheets(store, sheets, partial=partial)
    for path, f in zip(sheets, filled, strict=True):
        items = sum(v.label is not None for v in f.verdicts)
        counts = {
            "sheet": str(path),
            "person": f.person,
            "items": items,
            "dropped": sum(v.label == "drop" for v in f.verdicts),
            "repeated": len(f.repeated),
            "missing": len(f.missing),
        }
        if as_json:
            click.echo(json.dumps({**counts, "repeated_items": f.repeated}, ensure_ascii=False))
        else:
            click.echo(
                f"{path}: {counted(items, 'item')} by {f.person}, {counts['dropped']} not accepted, "
                f"{counts['repeated']} answered again (the last answer holds), {counts['missing']} missing"
            )


@click.command()
@click.argument("name", default="")
@store_option()
@shared_option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True)
@json_option
def report(name: str, store_path: Path, resamples: int, as_json: bool) -> None:
    """Report a sample: acceptance, and apart from it the agreement between people. NAME is the sample or its split.

    Example: scedit split sample report --store my.duckdb
    """
    with Store.open(store_path) as store:
        quality = make(store, sample_named(store, name), resamples=resamples)
    click.echo(json.dumps(summary(quality), ensure_ascii=False) if as_json else text(quality))
