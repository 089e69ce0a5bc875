"""Commands that look into a store: show, list, stats."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import click

from curation.cli.options import error_with_lines, json_option, json_options, limit_option, store_option, writes
from curation.cli.options import show as echo
from curation.splits.visible_texts import case_lines
from curation.store.backup import Preference, snapshot
from curation.store.backup import dump as write
from curation.store.backup import merge as merge_stores
from curation.store.backup import query as ask
from curation.store.backup import rebuild as make
from curation.store.backup import restore as restore_backup
from curation.store.origins import JUDGEMENTS
from curation.store.store import Store
from schemas.lineage import quality_name
from schemas.scripts import Script
from schemas.text.counting import counted
from schemas.text.escaping import escape


@click.command()
@store_option()
@click.option("--split", "name", required=True, help="The frozen split whose cases are shown.")
@click.option("--after", default="", metavar="KEY", help="Begin after the case with this key.")
@limit_option(default=20, also="cases.")
def prompts(store_path: Path, name: str, after: str, limit: int) -> None:
    """Show the cases of a split as text: fact, questions and scripts with the cut marked, neighbours.

    A terminal shows them page by page.

    Example: scedit store prompts --split mine --store my.duckdb
    """
    with Store.open(store_path) as store:
        split = store.open_split(name)
        later = (case for case in split.all_cases if case.key > after)
        lines = []
        for case in islice(later, limit):
            keys = [p.script for p in getattr(case, "prompts", ())]
            keys += [p.script for n in getattr(case, "neighbours", ()) for p in n.prompts]
            lines += [*case_lines(case, {s.key: s for s in store.by_keys(Script, keys)}), ""]
        more = f"... more cases: --after {case.key}\n" if next(later, None) else ""
    click.echo_via_pager("\n".join(map(escape, lines)) + more)


@click.command()
@click.argument("item")
@store_option()
@json_option
def show(item: str, store_path: Path, as_json: bool) -> None:
    """Show one ITEM (key, id or the beginning of an id) with its lineage and the verdicts on it.

    Example: scedit store show facts/cf/P36/france --store my.duckdb
    """
    with Store.open(store_path) as store:
        record = store.get(item)
        lineage = [x.model_dump(mode="json", exclude_none=True) for x in store.lineage(record.id)]
        verdicts = [v.payload() for v in store.verdicts([record.id])]
        sources = store.sources_of(record.id)
    whole = {"kind": record.kind, "id": record.id, **record.payload(), "lineage": lineage, "verdicts": verdicts}
    whole["sources"] = sources
    fields = {k: v for k, v in record.payload().items() if k != "key" and v not in (None, "", [], {})}
    lines = [f"{record.kind}  {record.key}\nid    {record.id}"]
    lines += [f"{name}: {_plain_text(value)}" for name, value in fields.items()]
    lines += [f"from: {name}" for name in sources]
    for line in lineage:
        who = " ".join(str(line[k]) for k in ("model", "prompt") if k in line)
        quality = quality_name(line.get("detail", {}).get("quality"))
        lines.append(
            f"made: {line['stage']} {line['made_at']} {who}".rstrip() + (f" [{quality} quality]" if quality else "")
        )
    for v in verdicts:
        value = "" if v["value"] is None else f" {v['value']} {v['unit']}"
        lines.append(f"verdict: {v['label'] or 'measured'}{value} by {v['by']} {v['reason']}".rstrip())
    echo(whole, "\n".join(map(escape, lines)), as_json=as_json)


def _plain_text(value: Any) -> str:
    if isinstance(value, str):
        return value if "\n" not in value else "\n    " + value.replace("\n", "\n    ")
    if isinstance(value, list):
        return "".join(f"\n  - {_plain_text(v)}" for v in value)
    if isinstance(value, dict):
        return ", ".join(f"{k}={_plain_text(v)}" for k, v in value.items() if v not in (None, "", [], {}))
    return str(value)


@click.command("list")
@click.argument("kind")
@store_option()
@click.option("--like", default="", help="Only keys that contain this.")
@limit_option(default=50, also="items.")
@json_options
def list_(kind: str, store_path: Path, like: str, limit: int, as_json: bool) -> None:
    """List items of a KIND: fact, question, script, prompt, neighbour, verdict, rating, case, run, or split.

    Example: scedit store list question --like france --store my.duckdb
    """
    with Store.open(store_path) as store:
        if kind == "split":
            rows = [(name, digest) for name, digest, _ in store.split_names()]
        else:
            rows = store.keys(kind, like=like, limit=limit + 1)
    for key, item in rows[:limit]:
        row = {"key": key, "id": item}
        click.echo(json.dumps(row, ensure_ascii=False) if as_json else escape(f"{item[:12]}  {key}"))
    if len(rows) > limit:
        click.echo(f"... more than {limit}; show them with --limit", err=True)


@click.command()
@store_option()
@json_option
def stats(store_path: Path, as_json: bool) -> None:
    """Count what the store holds: records by kind, verdicts by check, splits, results.

    Example: scedit store stats --store my.duckdb
    """
    with Store.open(store_path) as store:
        counts = store.stats()
    lines = []
    for kind, n in counts["records"].items():
        earlier = n["versions"] - n["current"]
        older = f" (and {counted(earlier, 'earlier version')})" if earlier else ""
        lines.append(f"{n['current']:>9}  {kind}{older}")
    lines += [f"{counts['lineage']:>9}  lineage", f"{counts['results']:>9}  results of runs"]
    lines += [f"{v['count']:>9}  verdicts '{v['label']}' by {v['by']}" for v in counts["verdicts"]]
    lines += [f"{s['records']:>9}  records of source '{s['source']}' ({s['file']})" for s in counts["sources"]]
    lines += [f"{s['cases']:>9}  cases in split {s['split']} ({s['digest'][:12]})" for s in counts["splits"]]
    echo(counts, "\n".join(map(escape, lines)), as_json=as_json)


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
    text = (
        f"{counted(done.new, 'new record')}, {counted(done.changed, 'changed key')}, {counted(done.splits, 'split')}, "
        f"{counted(done.results, 'result')}; {counted(done.two_versions, 'key')} with two versions"
    )
    echo(done._asdict(), "\n".join([text, *done.lines]), as_json=as_json)


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
    made = [item for item in confirmed if item.kind not in JUDGEMENTS]
    for item in made:
        click.echo(f"confirmed: {item.kind} {item.key}")
    judgements = counted(len(confirmed) - len(made), "verdict or rating", "verdicts and ratings")
    click.echo(f"{counted(len(made), 'record')} and {judgements} confirmed.")


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
