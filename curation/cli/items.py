"""Commands of the store: import, show, list, stats, split."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curation.cli.releases import explain
from schemas.text.escaping import shown

if TYPE_CHECKING:
    from curation.splits.split_file import Split

_STORE = click.option(
    "--store", "-s", "store_path", type=click.Path(path_type=Path), required=True, help="The store (a DuckDB file)."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of text.")


@click.command("import")
@click.argument("facts")
@_STORE
@click.option("--format", "format_name", help="One of 'scedit formats'; found from the file when left out.")
@click.option(
    "--map", "pairs", multiple=True, metavar="FIELD=COLUMN", help="For a foreign table: which column is what."
)
@click.option("--mapping", type=click.Path(path_type=Path), help="The same as a TOML file.")
@click.option("--skip-bad", is_flag=True, help="Leave bad records out instead of stopping.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N facts, without what else the file holds.")
@_JSON
def import_(
    facts: str,
    store_path: Path,
    format_name: str | None,
    pairs: tuple[str, ...],
    mapping: Path | None,
    skip_bad: bool,
    limit: int | None,
    as_json: bool,
) -> None:
    """Bring FACTS (a file, or 'shipped') and what else the file holds into a store, which is made if need be.

    Formats: our JSONL and CSV, CounterFact, ScEdit-CF and -T, WikiFactDiff, zsRE, MQuAKE, KnowEdit, RippleEdits and
    more (scedit formats lists them); any other table with --map.

    Example: scedit import shipped --store my.duckdb
    """
    from curation.loaders.formats.custom_table import read_mapping
    from curation.loaders.importer import import_file

    table = read_mapping(mapping, pairs) if mapping or pairs else None
    done = import_file(facts, store_path, format=format_name, mapping=table, skip_bad=skip_bad, limit=limit)
    for problem in done.shown:
        click.echo(f"{problem.where}: {problem.kind}: {problem.what}", err=True)
    if done.problems > len(done.shown):
        more = done.problems - len(done.shown)
        click.echo(f"... and {more} more; all of them: scedit defects FILE --examples 99", err=True)
    counts = {"facts": done.facts, "new": done.put.new, "records": done.put.seen, "problems": done.problems}
    if as_json:
        click.echo(json.dumps({**counts, "format": done.format}))
        return
    others = f" and {done.put.seen - done.facts} other records" if done.put.seen > done.facts else ""
    click.echo(
        f"{done.facts} facts{others} read as {done.format}, {done.put.new} of them new, {done.problems} problems."
    )


@click.command()
@click.argument("item")
@_STORE
@_JSON
def show(item: str, store_path: Path, as_json: bool) -> None:
    """Show one ITEM (key, id or the beginning of an id) with its lineage and the verdicts on it.

    Example: scedit show facts/cf/P36/france --store my.duckdb
    """
    from curation.store.store import Store

    with Store.open(store_path) as store:
        record = store.get(item)
        lineage = [x.model_dump(mode="json", exclude_none=True) for x in store.lineage(record.id)]
        verdicts = [v.payload() for v in store.verdicts([record.id])]
    whole = {"kind": record.kind, "id": record.id, **record.payload(), "lineage": lineage, "verdicts": verdicts}
    if as_json:
        click.echo(json.dumps(whole, ensure_ascii=False))
        return
    click.echo(shown(f"{record.kind}  {record.key}\nid    {record.id}"))
    for name, value in record.payload().items():
        if name != "key" and value not in (None, "", [], {}):
            click.echo(shown(f"{name}: {_plain(value)}"))
    for line in lineage:
        who = " ".join(str(line[k]) for k in ("model", "prompt") if k in line)
        quality = line.get("detail", {}).get("quality")
        click.echo(
            f"made: {line['stage']} {line['made_at']} {who}".rstrip() + (f" [{quality} quality]" if quality else "")
        )
    for v in verdicts:
        value = "" if v["value"] is None else f" {v['value']} {v['unit']}"
        click.echo(shown(f"verdict: {v['label'] or 'measured'}{value} by {v['by']} {v['reason']}".rstrip()))


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value if "\n" not in value else "\n    " + value.replace("\n", "\n    ")
    if isinstance(value, list):
        return "".join(f"\n  - {_plain(v)}" for v in value)
    if isinstance(value, dict):
        return ", ".join(f"{k}={_plain(v)}" for k, v in value.items() if v not in (None, "", [], {}))
    return str(value)


@click.command("list")
@click.argument("kind")
@_STORE
@click.option("--like", default="", help="Only keys that contain this.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@_JSON
def list_(kind: str, store_path: Path, like: str, limit: int, as_json: bool) -> None:
    """List items of a KIND: fact, question, script, prompt, neighbour, verdict, rating, case, run, or split.

    Example: scedit list question --like france --store my.duckdb
    """
    from curation.store.store import Store

    with Store.open(store_path) as store:
        if kind == "split":
            rows = [(name, digest) for name, digest, _ in store.split_names()]
        else:
            rows = store.keys(kind, like=like, limit=limit + 1)
    for key, item in rows[:limit]:
        row = {"key": key, "id": item}
        click.echo(json.dumps(row, ensure_ascii=False) if as_json else shown(f"{item[:12]}  {key}"))
    if len(rows) > limit:
        click.echo(f"... more than {limit}; show them with --limit", err=True)


@click.command()
@_STORE
@_JSON
def stats(store_path: Path, as_json: bool) -> None:
    """Count what the store holds: records by kind, verdicts by check, splits, results.

    Example: scedit stats --store my.duckdb
    """
    from curation.store.store import Store

    with Store.open(store_path) as store:
        counts = store.stats()
    if as_json:
        click.echo(json.dumps(counts, ensure_ascii=False))
        return
    for kind, n in counts["records"].items():
        older = f" (and {n['versions'] - n['current']} earlier versions)" if n["versions"] > n["current"] else ""
        click.echo(f"{n['current']:>9}  {kind}{older}")
    click.echo(f"{counts['lineage']:>9}  lineage\n{counts['results']:>9}  results of runs")
    for v in counts["verdicts"]:
        click.echo(f"{v['count']:>9}  verdicts '{v['label']}' by {v['by']}")
    for s in counts["splits"]:
        click.echo(f"{s['cases']:>9}  cases in split {s['split']} ({s['digest'][:12]})")


@click.group()
def split() -> None:
    """Freeze splits, add them to a store, write them to files."""


@split.command()
@click.argument("name")
@_STORE
@click.option("--version", default="1.0.0", show_default=True)
@click.option("--rule", "rule_path", type=click.Path(path_type=Path), help="TOML file with a [rule] table.")
@click.option("--set", "settings", multiple=True, help="One setting of the rule, such as unsure=keep.")
@click.option("--errata", type=click.Path(path_type=Path), help="File of known faults (scedit errata add).")
@click.option("--out", type=click.Path(path_type=Path), help="Also write the split file here.")
@_JSON
def freeze(
    name: str,
    store_path: Path,
    version: str,
    rule_path: Path | None,
    settings: tuple[str, ...],
    errata: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Freeze the store's kept items as the split NAME, with a digest and the counts of what was left out.

    Example: scedit split freeze mine --store my.duckdb --set unsure=keep --out mine.jsonl
    """
    from curation.rules.release import freeze as make
    from curation.rules.rule import SplitRule
    from curation.splits.errata import read_errata
    from curation.splits.split_file import write_split
    from curation.store.store import Store
    from schemas.core.config import override, read_toml, validate

    table = read_toml(rule_path).get("rule", {}) if rule_path else {}
    rule = validate(SplitRule, override(table, settings), where=str(rule_path or "--set"))
    known = read_errata(errata).entries if errata else ()
    with Store.open(store_path, write=True) as store:
        made = make(store, name, rule, version=version, errata=known)
        if out:
            write_split(made, out)
        sizes = store.split_sizes(f"{made.name}@{made.version}")
    _tell(made, sizes, as_json=as_json)


@split.command()
@click.argument("source")
@_STORE
@_JSON
def add(source: str, store_path: Path, as_json: bool) -> None:
    """Add a frozen split file, or 'mini', and all its records to a store.

    Example: scedit split add mini --store my.duckdb
    """
    from curation.loaders.importer import keep_split
    from curation.shipped import mini_split
    from curation.splits.split_file import open_split
    from curation.store.store import Store

    made = mini_split() if source == "mini" else open_split(source)
    keep_split(made, store_path, origin=source)
    with Store.open(store_path) as store:
        sizes = store.split_sizes(f"{made.name}@{made.version}")
    _tell(made, sizes, as_json=as_json)


@split.command()
@click.argument("name")
@click.argument("path", type=click.Path(path_type=Path))
@_STORE
@click.option(
    "--format",
    "format_name",
    default="split",
    show_default=True,
    help="split, scedit-cf, scedit-t, counterfact, facts, easyedit, parquet or datasets.",
)
def export(name: str, path: Path, store_path: Path, format_name: str) -> None:
    """Write the frozen split NAME to PATH, in our format or in one of other tools.

    Example: scedit split export mini ScEdit-CF.json --format scedit-cf --store my.duckdb
    """
    from curation.export.formats import export as write
    from curation.store.store import Store

    with Store.open(store_path) as store:
        made = store.open_split(name)
        written = write(made, path, format_name)
    click.echo(f"{path}: {written} cases of {made.name}@{made.version} ({made.digest[:12]}) as {format_name}")


def _tell(made: Split, sizes: tuple[int, int], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(made.header, ensure_ascii=False))
        return
    click.echo(
        f"split {made.name}@{made.version}: {len(made.cases)} cases, {sizes[0]} script prompts, "
        f"{sizes[1]} neighbour prompts, "
        f"digest {made.digest[:12]}"
    )
    for reason, n in made.header.get("counts", {}).items():
        click.echo(f"{n:>7}  {reason}")


split.add_command(explain)
