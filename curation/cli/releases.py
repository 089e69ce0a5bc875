"""Commands of versions: diff, errata, release."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import click

from curation.cli.options import (
    error_with_lines,
    json_option,
    json_options,
    seed_option,
    shared_option,
    show,
    split_of,
    store_option,
    writes,
)
from curation.quality.report import report as make_report
from curation.quality.report import summary, text
from curation.quality.sample import draw as take
from curation.quality.sample import keep_sample, sample_named
from curation.rules.release import compare
from curation.rules.release import release as make
from curation.splits.split_file import write_split
from curation.splits.versions import Errata, Erratum, add_erratum, merge_errata, read_errata, withdraw_errata
from curation.splits.versions import changelog as write
from curation.splits.versions import diff as compare_files
from curation.store.store import Store
from schemas.core.clock import today
from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.text.counting import counted

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("old")
@click.argument("new")
@store_option(required=False, also="Needed for splits by name, and for reasons.")
@click.option("--changelog", is_flag=True, help="Print a changelog entry in Markdown.")
@json_options
def diff(old: str, new: str, store_path: Path | None, changelog: bool, as_json: bool) -> None:
    """Compare two splits: files, or names (NAME@VERSION) in a store. Added, dropped, changed cases and the reasons.

    Example: scedit split diff mine@1.0.0 mine@2.0.0-candidate --store my.duckdb
    """
    if store_path:
        with Store.open(store_path) as store:
            comparison = compare(store, split_of(store, old), split_of(store, new))
    else:
        comparison = compare_files(split_of(None, old), split_of(None, new))
    if changelog:
        click.echo(write(comparison, date=today()), nl=False)
        return
    for change in comparison.changes:
        if as_json:
            click.echo(json.dumps(change._asdict(), ensure_ascii=False))
        else:
            click.echo(f"{change.what:<8} {change.key}" + (f": {change.text}" if change.text else ""))
    counts = ", ".join(f"{len(comparison.of(w))} {w}" for w in ("added", "dropped", "changed"))
    total = {
        "level": comparison.level,
        "suggested": comparison.suggested,
        "old": comparison.old.digest,
        "new": comparison.new.digest,
    }
    line = (
        f"{counts}: a {comparison.level} change, version {comparison.suggested} or later after {comparison.old.version}"
    )
    same = f"the same {counted(len(comparison.new.all_cases), 'case')} (digest {comparison.new.digest[:12]})"
    click.echo(json.dumps(total) if as_json else line if comparison.changes else same)


@click.command("add")
@click.argument("item")
@click.argument("what")
@shared_option("--errata", "--file", "path", type=_PATH, required=True, also="Created if absent.")
@click.option(
    "--action",
    type=click.Choice(["drop", "hold", "note"]),
    default="drop",
    show_default=True,
    help="What freezing does with the item.",
)
@store_option(required=False, also="Checks the item, and points the entry at its present content.")
@click.option("--date", help="ISO date; today when left out.")
def errata_add(item: str, what: str, path: Path, action: str, store_path: Path | None, date: str | None) -> None:
    """Add an erratum: ITEM is a key, WHAT says the fault in a sentence.

    With a store the entry points at the item's present content, and no longer applies once that is corrected.

    Example: scedit split errata add facts/cf/P36/france "wrong capital" --errata errata.jsonl --store my.duckdb
    """
    data: dict[str, object] = {"item": item, "what": what, "action": action, "date": date or today()}
    if store_path:
        with Store.open(store_path) as store:
            record = store.get(item.removeprefix("case/"))
        data |= {"item": item if item.startswith("case/") else record.key, "id": record.id}
    added = add_erratum(path, validate(Erratum, data, where=item))
    click.echo(f"{path}: {'added' if added else 'there already'}: {action} {data['item']}")


@click.command("withdraw")
@click.argument("item")
@click.argument("why")
@shared_option("--errata", "--file", "path", type=_PATH, required=True, also="Created if absent.")
@click.option("--split", "split_name", help="Those in the header of this split.")
@store_option(required=False, also="Needed with --split.")
@click.option("--date", help="ISO date; today when left out.")
def errata_withdraw(
    item: str, why: str, path: Path, split_name: str | None, store_path: Path | None, date: str | None
) -> None:
    """Take back all errata on ITEM; WHY says in a sentence what was wrong with them. They stay stored.

    Freeze with the file afterwards: the next version has the item again and keeps the entries and their withdrawal.

    Example: scedit split errata withdraw facts/cf/P36/france "is right" --errata errata.jsonl --split mine -s my.duckdb
    """
    header = None
    if split_name:
        if store_path is None:
            raise UserError("--split names a split in a store", fix="give --store FILE")
        with Store.open(store_path) as store:
            header = store.open_split(split_name).header
    taken = withdraw_errata(path, item, why, date=date or today(), header=header)
    for entry in taken:
        click.echo(f"{path}: withdrawn: {entry.date} {entry.action} {entry.item}: {entry.what}")


@click.command("list")
@shared_option("--errata", "--file", "path", type=_PATH)
@click.option("--split", "split_name", help="Those in the header of this split.")
@store_option(required=False, also="Says also whether each still applies.")
@json_options
def errata_list(path: Path | None, split_name: str | None, store_path: Path | None, as_json: bool) -> None:
    """List errata of a file or of a split, and whether they still apply.

    Example: scedit split errata list --split mine --store my.duckdb
    """
    if path is None and (split_name is None or store_path is None):
        raise UserError("nothing to list", fix="give --file FILE, or --split NAME with --store FILE")
    entries: Errata | None = read_errata(path) if path else None
    status: dict[int, str] = {}
    if store_path:
        with Store.open(store_path) as store:
            header = store.open_split(split_name).header if split_name else {}
            entries = merge_errata(header, entries.entries if entries else ())
            for n, entry in enumerate(entries.entries):
                if entry not in entries.standing(entry.item):
                    status[n] = "" if entry.action == "withdraw" else "withdrawn"
                    continue
                try:
                    content = store.get(entry.item.removeprefix("case/")).id
                    status[n] = "applies" if entry.id in (None, content) else "corrected since"
                except UserError:
                    status[n] = "no such item"
    for n, entry in enumerate(entries.entries if entries else ()):
        if as_json:
            click.echo(json.dumps({**entry.model_dump(), "status": status.get(n)}, ensure_ascii=False))
        else:
            state = f" ({status[n]})" if status.get(n) else ""
            click.echo(f"{entry.date} {entry.action:<8} {entry.item}: {entry.what}{state}")


@click.command()
@click.argument("name")
@store_option()
@click.option("--version", help="The new version; what the changes ask for when left out.")
@click.option("--without-sample", help="Why this release does not wait for a quality sample; kept in its header.")
@click.option("--out", type=_PATH, help="Also write the released split file here.")
@writes("out")
@json_option
def release(
    name: str, store_path: Path, version: str | None, without_sample: str | None, out: Path | None, as_json: bool
) -> None:
    """Release the frozen split NAME: a version that hides no change, its changelog, what people said of it.

    Freeze a candidate first (scedit split freeze NAME --version 1.0.0-candidate), then release it.

    Example: scedit split release mine --store my.duckdb --out mine-1.0.0.jsonl
    """
    with error_with_lines(), Store.open(store_path, write=True) as store:
        released = make(store, name, version=version, without_sample=without_sample)
        if out:
            write_split(released.split, out)
    click.echo(json.dumps(released.split.header, ensure_ascii=False) if as_json else released.changelog, nl=as_json)


@click.command()
@click.argument("name")
@store_option()
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
@json_option
def draw(
    name: str, store_path: Path, percent: float, unit: str, min_per_stratum: int, seed: int, as_json: bool
) -> None:
    """Draw a stratified sample of the split NAME and keep it, with its probabilities, in the store.

    The same command draws the same items. Campaigns of the rating task quality ask about the sample drawn last.

    Example: scedit split sample draw mine --store my.duckdb
    """
    with Store.open(store_path, write=True) as store:
        drawn = take(
            store.open_split(name), unit="case" if unit == "case" else "prompt", percent=percent,
            min_per_stratum=min_per_stratum, number=seed,
        )  # fmt: skip
        keep_sample(store, drawn)
    row = {"sample": drawn.name, "items": len(drawn.items), "population": drawn.population}
    row["strata"] = dict(sorted(Counter(item.stratum for item in drawn.items).items()))
    first = f"sample {drawn.name}: {len(drawn.items):,} of {counted(drawn.population, unit)}"
    following = f"Next: scedit annotate new NAME --task quality --store {store_path} --ratings FILE"
    show(row, f"{first}\n{following}", as_json=as_json)


@click.command()
@click.argument("name", default="")
@store_option()
@shared_option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True)
@json_option
def report(name: str, store_path: Path, resamples: int, as_json: bool) -> None:
    """Report a sample: acceptance, and apart from it the agreement between people. NAME is the sample or its split.

    Without NAME it is the sample drawn last.

    Example: scedit split sample report --store my.duckdb
    """
    with Store.open(store_path) as store:
        quality = make_report(store, sample_named(store, name), resamples=resamples)
    show(summary(quality), text(quality), as_json=as_json)
