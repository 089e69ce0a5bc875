"""Commands that make and use splits: freeze, add, export, explain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import click

from curation.cli.options import (
    echo_keys,
    error_with_lines,
    identity_options,
    json_option,
    shared_option,
    show,
    split_of,
    store_option,
    update_text,
    writes,
)
from curation.export.formats import EXPORTERS, chosen_exporter
from curation.export.formats import export as write
from curation.export.metadata import PublisherDetails
from curation.export.publish import publish as write_release
from curation.loaders.importer import Identity, import_split
from curation.rules.explain import explain as ask
from curation.rules.explain import rule_of
from curation.rules.release import freeze_with_report as make
from curation.rules.release import note_published, rule_for
from curation.rules.rule import SplitRule, read_rule
from curation.shipped import named_split, read_config
from curation.splits.split_file import Split, write_split
from curation.splits.versions import merge_errata, read_errata
from curation.store.store import Store
from schemas.cases import Case
from schemas.core.clock import today
from schemas.core.config import override
from schemas.core.errors import UserError
from schemas.text.counting import counted

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("name")
@store_option()
@click.option("--version", default="1.0.0", show_default=True, help="Version of the split.")
@shared_option("--rule", "rule_path", type=click.Path(path_type=Path))
@shared_option("--set", "settings", multiple=True, metavar="NAME=VALUE", also="Of the rule, such as unsure=keep.")
@shared_option("--errata", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Also write the split file here.")
@writes("out")
@json_option
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
    known = read_errata(errata).entries if errata else ()
    with error_with_lines(), Store.open(store_path, write=True) as store:
        rule = _rule(rule_path, settings, store)
        split, unprompted, named, alone = make(store, name, rule, version=version, errata=known)
        if out:
            write_split(split, out)
        sizes = store.split_sizes(f"{split.name}@{split.version}")
    _print_split(split, sizes, as_json=as_json, unprompted=unprompted)
    for found in named:
        click.echo(f"Warning: {found.text}; in a batch or sequence only one of them can hold", err=True)
    if alone and not as_json:
        cases = f"{alone:,} of {counted(len(split.all_cases), 'case')}"
        click.echo(f"Warning: {cases} have no neighbour prompt: S-NS and S-BO have no value there", err=True)


@click.command()
@click.argument("source")
@store_option(also="Created if absent.")
@identity_options
@json_option
def add(source: str, store_path: Path, identity: Identity, as_json: bool) -> None:
    """Add a frozen split file, or a shipped split ('mini', 'open', 'open:test'), and all its records to a store.

    A key that stands in the store with other content is a conflict: nothing is added. --as NAME keeps both, as a split
    NAME of its own.

    Example: scedit split add mini --store my.duckdb
    """
    split = named_split(source)
    beside = _edits_beside(split)
    with error_with_lines():
        update = import_split(split, store_path, origin=source, identity=identity)
    with Store.open(store_path) as store:
        split = store.open_split(f"{identity.prefix or split.name}@{split.version}")
        sizes = store.split_sizes(f"{split.name}@{split.version}")
    _print_split(split, sizes, as_json=as_json)
    if not as_json:
        click.echo(f"{counted(update.put.seen, 'record')}, {update_text(update)}; source '{update.source}'")
    echo_keys(update)
    if beside and not as_json:
        click.echo(
            f"Note: {counted(beside, 'neighbour')} can be edited, too: 'split freeze' makes cases of them as well; "
            f"the split as it came is {split.name}@{split.version}",
            err=True,
        )


def _edits_beside(split: Split) -> int:
    """Facts of neighbours that no case edits and of which a rule can make cases: they have a change and prompts."""
    cases = [case for case in split.all_cases if isinstance(case, Case)]
    near = {n.fact.key for case in cases for n in case.neighbours if n.fact.new is not None and n.prompts}
    return len(near - {case.fact.key for case in cases})


@click.command()
@click.argument("name")
@click.argument("path", type=click.Path(path_type=Path))
@store_option(required=False, also="Left out: a split file, or a shipped split (mini, open, open:dev, open:test).")
@shared_option(
    "--format",
    "format_name",
    default="split",
    show_default=True,
    also="One of split, scedit-cf, scedit-t, counterfact, facts, csv, easyedit, parquet or datasets.",
)
@click.option(
    "--knowedit-lists",
    is_flag=True,
    help="With easyedit: also the lists of portability and locality that EasyEdit's own KnowEdit reader looks for.",
)
@writes(folders=("path",))
def export(name: str, path: Path, store_path: Path | None, format_name: str, knowedit_lists: bool) -> None:
    """Write the frozen split NAME to PATH, in our format or in one of other tools.

    Example: scedit split export mini ScEdit-CF.json --format scedit-cf --store my.duckdb
    """
    exporter = chosen_exporter(format_name, knowedit_lists)
    with ExitStack() as stack:
        store = stack.enter_context(Store.open(store_path)) if store_path else None
        split = split_of(store, name)
        written = write(split, path, format_name, knowedit_lists, store=store)
        left = Counter(case.group for case in split.all_cases) if written < len(split.all_cases) else Counter()
        left.pop(exporter.only or "", None)
    click.echo(
        f"{path}: {counted(written, 'case')} of {split.name}@{split.version} ({split.digest[:12]}) as {format_name}"
    )
    if missing := len(split.all_cases) - written:
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(left.items()))
        click.echo(f"Note: {counted(missing, 'case')} left out, which {format_name} cannot hold: {kinds}", err=True)
    for gap in exporter.gaps:
        click.echo(f"Note: {gap}", err=True)


@click.command()
@click.argument("item")
@store_option()
@click.option("--split", "split_name", help="Explain by the rule and errata of this frozen split.")
@shared_option("--rule", "rule_path", type=_PATH, also="The default rule when left out.")
@shared_option("--set", "settings", multiple=True, metavar="NAME=VALUE", also="Of the rule, such as unsure=keep.")
@shared_option("--errata", "errata_path", type=_PATH)
@json_option
def explain(
    item: str,
    store_path: Path,
    split_name: str | None,
    rule_path: Path | None,
    settings: tuple[str, ...],
    errata_path: Path | None,
    as_json: bool,
) -> None:
    """Say why ITEM (key or id of a fact, question, script, prompt, neighbour or case) is in a split or out of it.

    The verdicts that decide are marked with *.

    Example: scedit split explain facts/cf/P36/france --store my.duckdb --rule configs/rules/scedit.toml
    """
    if split_name and rule_path:
        raise UserError("give either a split or a rule", fix="--split NAME or --rule FILE")
    new_entries = read_errata(errata_path).entries if errata_path else ()
    with Store.open(store_path) as store:
        header = store.open_split(split_name).header if split_name else {}
        rule = rule_of(header) if split_name else _rule(rule_path, settings, store)
        explanation = ask(store, rule, item, errata=merge_errata(header, new_entries))
    show(explanation.payload(), explanation.text(), as_json=as_json)


def _rule(path: Path | None, settings: tuple[str, ...], store: Store) -> SplitRule:
    """The rule of a file or the default one; a store without facts gets one for its edits."""
    table = override(read_config(path).get("rule", {}) if path else {}, settings)
    return rule_for(store, table, where="--set") if path is None else read_rule(table, where=str(path))


def _print_split(
    split: Split, sizes: tuple[int, int], *, as_json: bool, unprompted: Mapping[str, int] | None = None
) -> None:
    more = {"unprompted": unprompted} if unprompted is not None else {}
    names = {"event": ("fact question", "tendency question"), "document": ("probe",)}
    counts = zip(sizes, names.get(split.type, ("script prompt", "neighbour prompt")), strict=False)
    first = (
        f"split {split.name}@{split.version}: {counted(len(split.all_cases), 'case')}, "
        f"{', '.join(counted(n, name) for n, name in counts)}, digest {split.digest[:12]}"
    )
    reasons = [*split.header.get("counts", {}).items(), *(unprompted or {}).items()]
    text = "\n".join([first, *(f"{n:>7}  {reason}" for reason, n in reasons)])
    show(split.header | more, text, as_json=as_json)


@click.command()
@click.argument("name")
@click.argument("out_dir", type=click.Path(path_type=Path))
@store_option(required=False, also="Gives split, verdicts, ratings, lineage.")
@click.option("--formats", help="Formats divided by commas; all that can hold a case of the split when left out.")
@click.option(
    "--knowedit-lists",
    is_flag=True,
    help="With easyedit: also the lists of portability and locality that EasyEdit's own KnowEdit reader looks for.",
)
@click.option("--creator", help="Who publishes it, for the metadata.")
@click.option("--url", help="Where it will be found, for the metadata.")
@click.option("--cite", help="How to cite it, for the metadata.")
@click.option(
    "--date", type=click.DateTime(["%Y-%m-%d"]), help="Date of publication (YYYY-MM-DD); today when left out."
)
@shared_option("--force", is_flag=True, also="Only an earlier release, and only its own files.")
@json_option
def publish(
    name: str,
    out_dir: Path,
    store_path: Path | None,
    formats: str | None,
    knowedit_lists: bool,
    creator: str | None,
    url: str | None,
    cite: str | None,
    date: datetime | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write the frozen split NAME as a release: all formats, dataset card, Croissant metadata, checksums.

    \b
    OUT_DIR must be new or empty. datasets.load_dataset(OUT_DIR) works on it, offline too.
    NAME is a split in the store, a split file, or (without a store) a shipped split.

    Example: scedit split publish mini release --store my.duckdb
    """  # noqa: D301 - click wants the character
    if store_path and not store_path.exists():
        fix = f"name the store that holds the split '{name}', or its file in place of its name"
        raise UserError("there is no such store", where=str(store_path), fix=fix)
    details = PublisherDetails(creator=creator, url=url, cite=cite, date=f"{date:%Y-%m-%d}" if date else today())
    chosen = _names(formats) if formats is not None else None
    with ExitStack() as stack:
        store = stack.enter_context(Store.open(store_path)) if store_path else None
        split = split_of(store, name)
        done = write_release(
            split, out_dir, store=store, formats=chosen, publisher=details, replace=force, knowedit_lists=knowedit_lists
        )
    for gap in chosen_exporter("easyedit", knowedit_lists=True).gaps if knowedit_lists else ():
        click.echo(f"Note: {gap}", err=True)
    if store_path:
        note_published(store_path, split)
    data = {"folder": str(out_dir), "cases": done.cases, "skipped": done.skipped}
    lines = [f"{out_dir}: {split.name}@{split.version} ({split.digest[:12]}), {counted(len(split.all_cases), 'case')}"]
    lines += [f"{cases:>7}  {format_name}" for format_name, cases in done.cases.items()]
    lines += [f"hold no case of this split and were passed over: {', '.join(done.skipped)}"] if done.skipped else []
    show(data | {"files": {f.path: f.sha256 for f in done.files}}, "\n".join(lines), as_json=as_json)


def _names(formats: str) -> list[str]:
    names = [f.strip() for f in formats.split(",") if f.strip()]
    if not names:
        raise UserError("--formats names no format", allowed=", ".join(EXPORTERS.names()))
    return names
