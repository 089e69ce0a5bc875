"""The command that writes a release: ``publish``."""

from __future__ import annotations

import json
from contextlib import ExitStack
from datetime import date as day
from pathlib import Path

import click

from curation.cli.options import json_option, shared_option, store_option
from curation.export.formats import EXPORTERS, chosen_exporter
from curation.export.metadata import PublisherDetails
from curation.export.publish import PublishResult
from curation.export.publish import publish as write
from curation.rules.release import note_published
from curation.shipped import SPLITS, shipped_split
from curation.splits.split_file import Split, load_split
from curation.store.store import Store
from schemas.core.clock import today
from schemas.core.errors import UserError
from schemas.text.counting import counted


@click.command()
@click.argument("name")
@click.argument("out_dir", type=click.Path(path_type=Path))
@store_option(required=False, also="Gives split, verdicts, ratings, lineage.")
@shared_option("--split-file", type=click.Path(path_type=Path), also="Instead of a split in --store.")
@click.option("--formats", help="Formats divided by commas; all that can hold a case of the split when left out.")
@click.option(
    "--knowedit-lists",
    is_flag=True,
    help="With easyedit: also the lists of portability and locality that EasyEdit's own KnowEdit reader looks for.",
)
@click.option("--creator", help="Who publishes it, for the metadata.")
@click.option("--url", help="Where it will be found, for the metadata.")
@click.option("--cite", help="How to cite it, for the metadata.")
@click.option("--date", help="Date of publication (YYYY-MM-DD); today when left out.")
@shared_option("--force", is_flag=True, also="Only an earlier release, and only its own files.")
@json_option
def publish(
    name: str,
    out_dir: Path,
    store_path: Path | None,
    split_file: Path | None,
    formats: str | None,
    knowedit_lists: bool,
    creator: str | None,
    url: str | None,
    cite: str | None,
    date: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write the frozen split NAME as a release: all formats, dataset card, Croissant metadata, checksums.

    \b
    OUT_DIR must be new or empty. datasets.load_dataset(OUT_DIR) works on it, offline too.
    The split comes from the store, or from --split-file; shipped ones need neither.

    Example: scedit split publish mini release --store my.duckdb
    """  # noqa: D301 - click wants the character
    _refuse_missing_store(name, store_path)
    details = PublisherDetails(creator=creator, url=url, cite=cite, date=_date_or_today(date))
    chosen = _names(formats) if formats is not None else None
    with ExitStack() as stack:
        store = stack.enter_context(Store.open(store_path)) if store_path else None
        split = _split(name, store, split_file)
        done = write(
            split, out_dir, store=store, formats=chosen, publisher=details, replace=force, knowedit_lists=knowedit_lists
        )
        _note_gaps(split, knowedit_lists)
    if store_path and split_file is None:
        note_published(store_path, split)
    if as_json:
        files = {f.path: f.sha256 for f in done.files}
        click.echo(json.dumps({"folder": str(out_dir), "cases": done.cases, "skipped": done.skipped, "files": files}))
        return
    size = counted(len(split.all_cases), "case")
    click.echo(f"{out_dir}: {split.name}@{split.version} ({split.digest[:12]}), {size}")
    _list_formats(done)


def _refuse_missing_store(name: str, path: Path | None) -> None:
    if path and not path.exists():
        fix = f"name the store that holds the split '{name}', or its file with --split-file"
        raise UserError("there is no such store", where=str(path), fix=fix)


def _list_formats(done: PublishResult) -> None:
    """Say how many cases each format holds."""
    for format_name, cases in done.cases.items():
        click.echo(f"{cases:>7}  {format_name}")
    if done.skipped:
        click.echo(f"hold no case of this split and were passed over: {', '.join(done.skipped)}")


def _note_gaps(split: Split, knowedit_lists: bool) -> None:
    """Say what EasyEdit's classes look for in vain, where a file is written for them."""
    for gap in chosen_exporter("easyedit", knowedit_lists=True).gaps(split) if knowedit_lists else ():
        click.echo(f"Note: {gap}", err=True)


def _split(name: str, store: Store | None, file: Path | None) -> Split:
    """The split by that name, from the file, the store, or (a shipped one) the package."""
    if file is not None:
        split = load_split(file)
        if name not in (split.name, f"{split.name}@{split.version}"):
            raise UserError(f"the file holds the split '{split.name}@{split.version}', not '{name}'", where=str(file))
        return split
    if store is not None:
        return store.open_split(name)
    if name in SPLITS:
        return shipped_split(name)
    raise UserError(f"where is the split '{name}'?", fix="say --store STORE or --split-file FILE")


def _names(formats: str) -> list[str]:
    names = [f.strip() for f in formats.split(",") if f.strip()]
    if not names:
        raise UserError("--formats names no format", allowed=", ".join(EXPORTERS.names()))
    return names


def _date_or_today(date: str | None) -> str:
    if date is None:
        return today()
    try:
        day.fromisoformat(date)
    except ValueError:
        raise UserError(f"--date takes YYYY-MM-DD, got '{date}'") from None
    return date
