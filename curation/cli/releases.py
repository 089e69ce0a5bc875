"""Commands of deciding: explain, diff, errata, sample, release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from schemas.core.clock import today

if TYPE_CHECKING:
    from curation.rules.rule import SplitRule
    from curation.splits.errata import Errata
    from curation.splits.split_file import Split

_PATH = click.Path(path_type=Path)
_STORE = click.option("--store", "-s", "store_path", type=_PATH, required=True, help="The store (a DuckDB file).")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of text.")


@click.command()
@click.argument("item")
@_STORE
@click.option("--split", "split_name", help="Explain by the rule and errata of this frozen split.")
@click.option("--rule", "rule_path", type=_PATH, help="TOML file with a [rule] table; the default rule when left out.")
@click.option("--set", "settings", multiple=True, help="One setting of the rule, such as unsure=keep.")
@click.option("--errata", "errata_path", type=_PATH, help="Errata file.")
@_JSON
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
    from curation.rules.explain import explain as ask
    from curation.rules.explain import rule_of
    from curation.splits.errata import carried, read_errata
    from curation.store.store import Store
    from schemas.core.errors import UserError

    if split_name and rule_path:
        raise UserError("give either a split or a rule", fix="--split NAME or --rule FILE")
    own = read_errata(errata_path).entries if errata_path else ()
    with Store.open(store_path) as store:
        header = store.open_split(split_name).header if split_name else {}
        rule = rule_of(header) if split_name else _rule(rule_path, settings)
        said = ask(store, rule, item, errata=carried(header, own))
    click.echo(json.dumps(said.payload(), ensure_ascii=False) if as_json else said.text())


def _rule(path: Path | None, settings: tuple[str, ...]) -> SplitRule:
    from curation.rules.rule import SplitRule
    from schemas.core.config import override, read_toml, validate

    table = read_toml(path).get("rule", {}) if path else {}
    return validate(SplitRule, override(table, settings), where=str(path or "--set"))


@click.command()
@click.argument("old")
@click.argument("new")
@click.option("--store", "-s", "store_path", type=_PATH, help="The store, for splits by name and for reasons.")
@click.option("--changelog", is_flag=True, help="Print a changelog entry in Markdown.")
@_JSON
def diff(old: str, new: str, store_path: Path | None, changelog: bool, as_json: bool) -> None:
    """Compare two splits: files, or names (NAME@VERSION) in a store. Added, dropped, changed cases and the reasons.

    Example: scedit diff mine@1.0.0 mine@2.0.0-candidate --store my.duckdb
    """
    from curation.rules.release import compare
    from curation.splits.versions import changelog as write
    from curation.splits.versions import diff as compare_files
    from curation.store.store import Store

    if store_path:
        with Store.open(store_path) as store:
            found = compare(store, _split(old, store), _split(new, store))
    else:
        found = compare_files(_split(old, None), _split(new, None))
    if changelog:
        click.echo(write(found, date=today()), nl=False)
        return
    for change in found.changes:
        if as_json:
            click.echo(json.dumps(change._asdict(), ensure_ascii=False))
        else:
            said = "; ".join([*change.details, *([change.reason] if change.reason else [])])
            click.echo(f"{change.what:<8} {change.key}" + (f": {said}" if said else ""))
    counts = ", ".join(f"{len(found.of(w))} {w}" for w in ("added", "dropped", "changed"))
    total = {"level": found.level, "suggested": found.suggested, "old": found.old.digest, "new": found.new.digest}
    line = f"{counts}: a {found.level} change, version {found.suggested} or later after {found.old.version}"
    same = f"the same {len(found.new.cases)} cases (digest {found.new.digest[:12]})"
    click.echo(json.dumps(total) if as_json else line if found.changes else same)


def _split(name: str, store: object) -> Split:
    from curation.shipped import mini_split
    from curation.splits.split_file import open_split
    from curation.store.store import Store

    if isinstance(store, Store) and not Path(name).is_file():
        return store.open_split(name)
    return mini_split() if name == "mini" else open_split(name)


@click.group()
def errata() -> None:
    """Keep known faults of items in a file that is applied when a split is frozen."""


@errata.command("add")
@click.argument("item")
@click.argument("what")
@click.option("--file", "path", type=_PATH, required=True, help="Errata file (JSONL); made if need be.")
@click.option("--action", type=click.Choice(["drop", "hold", "note"]), default="drop", show_default=True)
@click.option("--store", "-s", "store_path", type=_PATH, help="Check the item here, and hold for its content only.")
@click.option("--date", help="ISO date; today when left out.")
def errata_add(item: str, what: str, path: Path, action: str, store_path: Path | None, date: str | None) -> None:
    """Add an erratum: ITEM is a key, WHAT says the fault in a sentence.

    With a store the entry points at the item's present content, and no longer applies once that is corrected.

    Example: scedit errata add facts/cf/P36/france "wrong capital" --file errata.jsonl --store my.duckdb
    """
    from curation.splits.errata import Erratum, add_erratum
    from curation.store.store import Store
    from schemas.core.config import validate

    data: dict[str, object] = {"item": item, "what": what, "action": action, "date": date or today()}
    if store_path:
        with Store.open(store_path) as store:
            found = store.get(item.removeprefix("case/"))
        data |= {"item": item if item.startswith("case/") else found.key, "id": found.id}
    added = add_erratum(path, validate(Erratum, data, where=item))
    click.echo(f"{path}: {'added' if added else 'there already'}: {action} {data['item']}")


@errata.command("list")
@click.option("--file", "path", type=_PATH, help="Errata file.")
@click.option("--split", "split_name", help="Those in the header of this split.")
@click.option("--store", "-s", "store_path", type=_PATH, help="Say also whether each applies to the present content.")
@_JSON
def errata_list(path: Path | None, split_name: str | None, store_path: Path | None, as_json: bool) -> None:
    """List errata of a file or of a split, and whether they still apply.

    Example: scedit errata list --split mine --store my.duckdb
    """
    from curation.splits.errata import carried, read_errata
    from curation.store.store import Store
    from schemas.core.errors import UserError

    if path is None and (split_name is None or store_path is None):
        raise UserError("nothing to list", fix="give --file FILE, or --split NAME with --store FILE")
    entries: Errata | None = read_errata(path) if path else None
    status: dict[int, str] = {}
    if store_path:
        with Store.open(store_path) as store:
            header = store.open_split(split_name).header if split_name else {}
            entries = carried(header, entries.entries if entries else ())
            for n, entry in enumerate(entries.entries):
                try:
                    content = store.get(entry.item.removeprefix("case/")).id
                    status[n] = "applies" if entry.id in (None, content) else "corrected since"
                except UserError:
                    status[n] = "no such item"
    for n, entry in enumerate(entries.entries if entries else ()):
        if as_json:
            click.echo(json.dumps({**entry.model_dump(), "status": status.get(n)}, ensure_ascii=False))
        else:
            click.echo(f"{entry.date} {entry.action:<4} {entry.item}: {entry.what} {status.get(n, '')}".rstrip())


@click.group()
def sample() -> None:
    """Have people judge a sample of a split: draw it, read the answers, report."""


@sample.command()
@click.argument("name")
@_STORE
@click.option("--out", type=_PATH, required=True, help="Folder for one sheet a person.")
@click.option("--person", "people", multiple=True, required=True, help="Who judges; give it once a person.")
@click.option("--percent", type=float, default=10.0, show_default=True, help="How much of the split (the paper: 10).")
@click.option("--unit", type=click.Choice(["prompt", "case"]), default="prompt", show_default=True)
@click.option("--least", type=click.IntRange(min=0), default=0, show_default=True, help="Items a stratum at the least.")
@click.option("--number", type=click.IntRange(min=0), default=0, show_default=True, help="Another number, other items.")
@click.option("--form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@_JSON
def draw(
    name: str,
    store_path: Path,
    out: Path,
    people: tuple[str, ...],
    percent: float,
    unit: str,
    least: int,
    number: int,
    form: str,
    as_json: bool,
) -> None:
    """Draw a stratified sample of the split NAME and write a blind sheet for every person.

    The same command draws the same items. The sampling probabilities are kept in the store.

    Example: scedit sample draw mine --store my.duckdb --person ann --person bob --person eve --out sheets --form csv
    """
    from curation.quality.sample import draw as take
    from curation.quality.sample import keep_sample, sheet, strata_counts
    from curation.quality.sheets import check_people, sheet_path, write_sheet
    from curation.store.store import Store

    check_people(people)
    with Store.open(store_path, write=True) as store:
        split = store.open_split(name)
        drawn = take(
            split, unit="case" if unit == "case" else "prompt", percent=percent, least=least, number=number,
            people=people,
        )  # fmt: skip
        for person in people:
            write_sheet(sheet(drawn, split.cases, person), sheet_path(out, person, form))
        keep_sample(store, drawn)
    about = {"sample": drawn.name, "items": len(drawn.items), "population": drawn.population}
    if as_json:
        click.echo(json.dumps({**about, "strata": strata_counts(drawn)}, ensure_ascii=False))
        return
    click.echo(f"sample {drawn.name}: {len(drawn.items)} of {drawn.population} {unit}s, {len(people)} sheets in {out}")


@sample.command("import")
@click.argument("sheets", type=_PATH, nargs=-1, required=True)
@_STORE
@click.option("--partial", is_flag=True, help="Take a sheet that is not filled in to the end.")
@_JSON
def import_(sheets: tuple[Path, ...], store_path: Path, partial: bool, as_json: bool) -> None:
    """Read filled SHEETS back as verdicts; all or nothing, and every fault is named by line.

    Example: scedit sample import sheets/ann.csv sheets/bob.csv --store my.duckdb
    """
    from curation.quality.sheets import import_sheets
    from curation.store.store import Store

    with Store.open(store_path, write=True) as store:
        filled = import_sheets(store, sheets, partial=partial)
    for path, f in zip(sheets, filled, strict=True):
        counts = {
            "sheet": str(path),
            "person": f.person,
            "items": sum(v.label is not None for v in f.verdicts),
            "dropped": sum(v.label == "drop" for v in f.verdicts),
            "repeated": len(f.repeated),
            "missing": len(f.missing),
        }
        if as_json:
            click.echo(json.dumps({**counts, "repeated_items": f.repeated}, ensure_ascii=False))
        else:
            click.echo(
                f"{path}: {counts['items']} items by {f.person}, {counts['dropped']} not accepted, "
                f"{counts['repeated']} answered again (the last answer holds), {counts['missing']} missing"
            )


@sample.command()
@click.argument("name", default="")
@_STORE
@click.option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True, help="For the intervals.")
@_JSON
def report(name: str, store_path: Path, resamples: int, as_json: bool) -> None:
    """Report a sample: acceptance, and apart from it the agreement between people. NAME may be left out if it is one.

    Example: scedit sample report --store my.duckdb
    """
    from curation.quality.report import report as make
    from curation.quality.report import summary, text
    from curation.quality.sample import sample_named
    from curation.store.store import Store

    with Store.open(store_path) as store:
        found = make(store, sample_named(store, name), resamples=resamples)
    click.echo(json.dumps(summary(found), ensure_ascii=False) if as_json else text(found))


@click.command()
@click.argument("name")
@_STORE
@click.option("--version", help="The new version; what the changes ask for when left out.")
@click.option("--without-sample", help="Why this release does not wait for a quality sample; kept in its header.")
@click.option("--out", type=_PATH, help="Also write the released split file here.")
@_JSON
def release(
    name: str, store_path: Path, version: str | None, without_sample: str | None, out: Path | None, as_json: bool
) -> None:
    """Release the frozen split NAME: a version that hides no change, its changelog, what people said of it.

    Freeze a candidate first (scedit split freeze NAME --version 1.0.0-candidate), then release it.

    Example: scedit release mine --store my.duckdb --out mine-1.0.0.jsonl
    """
    from curation.rules.release import release as make
    from curation.splits.split_file import write_split
    from curation.store.store import Store

    with Store.open(store_path, write=True) as store:
        made = make(store, name, version=version, without_sample=without_sample)
        if out:
            write_split(made.split, out)
    click.echo(json.dumps(made.split.header, ensure_ascii=False) if as_json else made.changelog, nl=as_json)
