"""Commands that bring data in: import, formats, audit, convert."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from curation.cli.options import (
    UPDATED,
    F,
    echo_keys,
    error_with_lines,
    identity_options,
    json_option,
    json_options,
    limit_option,
    shared_option,
    show,
    store_option,
    update_text,
    writes,
)
from curation.loaders import LOADERS, LoadResult, Problem, load
from curation.loaders.audit import against_earlier
from curation.loaders.audit import defects as find
from curation.loaders.formats.native import read_mapping, write_records
from curation.loaders.importer import Identity, import_file
from curation.loaders.sources import OWN, UPSTREAM
from curation.splits.versions import Erratum, write_errata
from schemas.core.clock import today
from schemas.core.errors import DataError
from schemas.facts import Fact
from schemas.text.counting import counted

_SUFFIXES = (".json", ".jsonl", ".csv", ".tsv")


def _reading_options(command: F) -> F:
    """How a file of facts is read: its format, a foreign table's columns, and whether bad records end the command."""
    table = "A foreign table's column for a field, such as old=answer; repeatable."
    mapping = "A mapping as a TOML file: tables [columns], [values], [source]."
    for option in (
        click.option("--skip-bad", is_flag=True, help="Leave bad records out instead of stopping."),
        click.option("--mapping", type=click.Path(path_type=Path), help=mapping),
        click.option("--map", "columns", multiple=True, metavar="FIELD=COLUMN", help=table),
        shared_option("--format", "format_name", also="One of scedit data formats; detected when left out."),
    ):
        command = option(command)
    return command


@click.command("import")
@click.argument("facts")
@store_option(also="Created if absent.")
@_reading_options
@limit_option(also="facts, without what else the file holds.")
@identity_options
@json_option
def import_(
    facts: str,
    store_path: Path,
    format_name: str | None,
    columns: tuple[str, ...],
    mapping: Path | None,
    skip_bad: bool,
    limit: int | None,
    identity: Identity,
    as_json: bool,
) -> None:
    """Import FACTS (a file, or 'shipped') into a store, with everything else that the file holds.

    A key that another file or split uses for other content is a conflict: nothing is imported. A corrected file under
    the same --source replaces all that the source brought, and what it no longer holds is gone from the store.

    Formats: our JSONL and CSV, CounterFact, ScEdit-CF and -T, WikiFactDiff, zsRE, MQuAKE, KnowEdit, RippleEdits and
    more (scedit data formats lists them); any other table with --map.

    Example: scedit data import shipped --store my.duckdb
    """
    table = read_mapping(mapping, columns) if mapping or columns else None
    with error_with_lines():
        done = import_file(
            facts, store_path, format=format_name, mapping=table, skip_bad=skip_bad, limit=limit, identity=identity
        )
    for problem in done.shown:
        click.echo(f"{problem.where}: {problem.kind}: {problem.what}", err=True)
    if done.problems > len(done.shown):
        more = done.problems - len(done.shown)
        click.echo(f"... and {more} more; all of them: scedit data audit FILE --examples 99", err=True)
    counts = {"facts": done.facts, "new": done.update.new, "records": done.update.put.seen, "problems": done.problems}
    counts |= {name: getattr(done.update, name) for name in UPDATED}
    beside = done.update.put.seen - done.facts
    others = f" and {counted(beside, 'other record')}" if beside > 0 else ""
    text = (
        f"{counted(done.facts, done.noun)}{others} read as {done.format}, {update_text(done.update)}, "
        f"{counted(done.problems, 'problem')}; source '{done.update.source}'."
    )
    show({**counts, "format": done.format}, text, as_json=as_json)
    if not as_json:
        echo_keys(done.update)


@click.command()
@json_options
def formats(as_json: bool) -> None:
    """List the file formats that can be read, with source, licence and known numbers of records.

    Example: scedit data formats
    """
    for name in LOADERS.names():
        upstream = UPSTREAM.get(name, OWN)
        lines = [f"{name:<17} {upstream.name} ({upstream.licence}){' ' + upstream.url if upstream.url else ''}"]
        lines += [f"{'':<17}   {file}: {counted(count, 'record')}" for file, count in upstream.counts.items()]
        show({"format": name, **upstream._asdict()}, "\n".join(lines), as_json=as_json)


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@shared_option("--format", "format_name", also="One of scedit data formats; detected when left out.")
@click.option("--examples", type=click.IntRange(min=0), default=1, show_default=True, help="Examples of each kind.")
@click.option(
    "--propose-errata",
    "errata_path",
    type=click.Path(path_type=Path),
    help="Write errata for impossible answers here.",
)
@writes("errata_path")
@json_options
def audit(
    paths: tuple[Path, ...],
    format_name: str | None,
    examples: int,
    errata_path: Path | None,
    as_json: bool,
) -> None:
    """Load files (or all of a folder) and count what is wrong with them, by file and kind.

    Contradictions between files are listed with the later file. No file is changed: --propose-errata writes a list of
    what could be left out; review it and pass it to 'scedit split freeze --errata'.

    Example: scedit data audit data/counterfact --examples 2
    """
    earlier: dict[tuple[str, str], tuple[Path, Fact]] = {}
    named: list[Erratum] = []
    for path in _files(paths):
        try:
            loaded, problems = find(path, format_name)
            problems = (*problems, *against_earlier(earlier, path, loaded))
        except DataError as error:
            if len(paths) == 1 and path == paths[0]:
                raise
            click.echo(json.dumps({"file": str(path), "error": str(error)}) if as_json else f"{path}: {error.what}")
            continue
        named += [Erratum(item=p.item, what=p.what, date=today()) for p in problems if p.item is not None]
        if as_json:
            for problem in problems:
                row = {k: v for k, v in problem._asdict().items() if k != "item" or v is not None}
                click.echo(json.dumps({"file": str(path), **row}, ensure_ascii=False))
            continue
        click.echo(f"{path}: {_count_edits(loaded)} as {loaded.format}, {counted(len(problems), 'problem')}")
        _print_problems(problems, path, examples=examples)
    if errata_path is not None:
        write_errata(named, errata_path)
        click.echo(f"{errata_path}: {counted(len(named), 'erratum', 'errata')}", err=as_json)


def _count_edits(loaded: LoadResult) -> str:
    return " and ".join(counted(n, noun) for noun, n in loaded.edits.items()) or counted(0, "fact")


def _files(paths: Sequence[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        inside = (p for p in sorted(path.rglob("*")) if p.is_file() and p.suffix.lower() in _SUFFIXES)
        files += inside if path.is_dir() else [path]
    return files


def _print_problems(problems: Sequence[Problem], path: Path, *, examples: int) -> None:
    kinds: dict[str, list[Any]] = {}
    for problem in problems:
        kinds.setdefault(problem.kind, []).append(problem)
    for kind, problems_of_kind in kinds.items():
        click.echo(f"{len(problems_of_kind):>8,}  {kind}{' (cannot be used)' if problems_of_kind[0].lost else ''}")
        for problem in problems_of_kind[:examples]:
            place = problem.where.removeprefix(str(path)).lstrip(", ")
            click.echo(f"{'':>10}{place + ': ' if place else ''}{problem.what}")


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@_reading_options
@writes("target")
def convert(
    source: Path,
    target: Path,
    format_name: str | None,
    columns: tuple[str, ...],
    mapping: Path | None,
    skip_bad: bool,
) -> None:
    """Write the facts of the file SOURCE, and what else it holds, to TARGET as our JSONL.

    Example: scedit data convert mine.csv facts.jsonl --map old=answer --map new=edit
    """
    table_mapping = read_mapping(mapping, columns) if mapping or columns else None
    loaded = load(source, format_name, mapping=table_mapping)
    for problem in loaded.problems if skip_bad else [p for p in loaded.problems if not p.lost]:
        click.echo(f"{problem.where}: {problem.kind}: {problem.what}", err=True)
    edits = [*loaded.require(skip_bad=skip_bad), *loaded.events, *loaded.documents]
    count = write_records([*edits, *loaded.records], target)
    click.echo(f"{target}: {counted(count, 'record')} ({_count_edits(loaded)} read as {loaded.format})")
