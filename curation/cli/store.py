"""Commands that keep a store: sql, backup, merge, confirm, restore, dump, rebuild."""

from __future__ import annotations

import json
from pathlib import Path

import click

from curation.cli.options import error_with_lines, json_option, json_options, limit_option, store_option, writes
from curation.store.backup import dump as write
from curation.store.backup import query as ask
from curation.store.backup import rebuild as make
from curation.store.backup import restore as restore_backup
from curation.store.backup import snapshot
from curation.store.merge import Preference
from curation.store.merge import merge as merge_stores
from curation.store.store import Store
from schemas.text.counting import counted

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("query")
@store_option()
@limit_option(default=100, also="rows.")
@json_options
def sql(query: str, store_path: Path, limit: int, as_json: bool) -> None:
    """Run one SQL QUERY, read-only. Views: facts, questions, scripts, prompts, neighbours, verdicts.

    Example: scedit store sql "SELECT old, count(*) FROM facts GROUP BY old" --store my.duckdb
    """
    result = ask(store_path, query, limit=limit + 1)
    for row in result.rows[:limit]:
        if as_json:
            click.echo(json.dumps(dict(zip(result.columns, row, strict=True)), ensure_ascii=False, default=str))
    if not as_json:
        _table(result.columns, [tuple("" if v is None else str(v) for v in row) for row in result.rows[:limit]])
    if len(result.rows) > limit:
        click.echo(f"... more than {counted(limit, 'row')}; show them with --limit", err=True)


def _table(columns: list[str], rows: list[tuple[str, ...]]) -> None:
    widths = [min(60, max([len(c), *(len(r[i]) for r in rows)])) for i, c in enumerate(columns)]
    for row in [tuple(columns), tuple("-" * w for w in widths), *rows]:
        cells = (v if len(v) <= w else v[: w - 1] + "…" for v, w in zip(row, widths, strict=True))
        click.echo("  ".join(c.replace("\n", " ").ljust(w) for c, w in zip(cells, widths, strict=True)).rstrip())


@click.command()
@click.argument("path", type=_PATH)
@store_option()
@writes("path")
def backup(path: Path, store_path: Path) -> None:
    """Copy a store to PATH, consistently; an older copy of it there is replaced, and only by a whole one.

    Example: scedit store backup my-2026-11-21.duckdb --store my.duckdb
    """
    with Store.open(store_path) as store:
        snapshot(store, path)
    click.echo(f"{path}: {path.stat().st_size:,} bytes. Put it back with: scedit store restore {path} --store NEW")


@click.command()
@click.argument("path", type=_PATH)
@store_option()
def restore(path: Path, store_path: Path) -> None:
    """Make a store from the backup PATH; an existing store is never overwritten.

    Example: scedit store restore my-2026-11-21.duckdb --store my.duckdb
    """
    restore_backup(path, store_path)
    click.echo(f"{store_path}: restored from {path}")


@click.command()
@click.argument("other", type=_PATH)
@store_option()
@click.option("--keep", "prefer", type=click.Choice(["ours", "theirs"]), help="Whose version counts if both changed.")
@json_option
def merge(other: Path, store_path: Path, prefer: Preference | None, as_json: bool) -> None:
    """Take everything of the store OTHER into --store: records, judgements, splits, results, sources.

    A key that both stores changed is a conflict: nothing is merged, until --keep says whose version counts. Where one
    store changed what both had, its version counts. Of two judgements by one person or check ours stays.

    Example: scedit store merge hers.duckdb --store my.duckdb
    """
    with error_with_lines(), Store.open(store_path, write=True) as store:
        done = merge_stores(store, other, prefer=prefer)
    if as_json:
        click.echo(json.dumps(done._asdict()))
        return
    click.echo(
        f"{counted(done.new, 'new record')}, {counted(done.changed, 'changed key')}, {counted(done.splits, 'split')}, "
        f"{counted(done.results, 'result')}; {counted(done.two_versions, 'key')} with two versions"
    )
    for line in done.lines:
        click.echo(line)


@click.command()
@click.argument("keys", nargs=-1, required=True)
@store_option()
def confirm(keys: tuple[str, ...], store_path: Path) -> None:
    """Confirm that what was made from earlier versions of KEYS is right for their content now.

    scedit store check lists such stale records and the keys that changed.

    Example: scedit store confirm facts/cf/P36/france --store my.duckdb
    """
    with Store.open(store_path, write=True) as store:
        confirmed = store.confirm(keys)
    for item in confirmed:
        click.echo(f"confirmed: {item.kind} {item.key}")


@click.command()
@click.argument("path", type=_PATH)
@store_option()
@writes("path")
def dump(path: Path, store_path: Path) -> None:
    """Write everything a store holds to PATH as JSON lines, for keeping and for other tools.

    Example: scedit store dump my.dump.jsonl --store my.duckdb
    """
    with Store.open(store_path) as store:
        sizes = write(store, path)
    click.echo(f"{path}: {_sizes(sizes)}")


@click.command()
@click.argument("path", type=_PATH)
@store_option()
def rebuild(path: Path, store_path: Path) -> None:
    """Make a new store from a dump: the same keys, ids, verdicts, lineage, splits and results.

    Example: scedit store rebuild my.dump.jsonl --store again.duckdb
    """
    sizes = make(path, store_path)
    click.echo(f"{store_path}: {_sizes(sizes)} rebuilt")


def _sizes(sizes: dict[str, int]) -> str:
    lineage = counted(sizes.get("lineage", 0), "line of lineage", "lines of lineage")
    parts = [counted(sizes.get(f"{name}s", 0), name) for name in ("record", "split", "result")]
    return f"{parts[0]}, {lineage}, {parts[1]}, {parts[2]}"
