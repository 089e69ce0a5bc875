"""The command ``results reproduce``: published tables beside our own runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curation.cli.options import json_options, store_option
from schemas.core.errors import UserError
from schemas.text.table_lines import aligned

if TYPE_CHECKING:
    from evaluation.reproduction.comparison import FigureComparison, OurResults
    from evaluation.reproduction.published import PublishedData, PublishedTable
    from schemas.cases import Case

_FILE = click.Path(path_type=Path)
_VERDICTS = ("within", "undecided", "outside", "not comparable", "no figure")


@click.command(epilog="Example: scedit results reproduce scedit-table2 runs/mini")
@click.argument("name", required=False)
@click.argument("folders", nargs=-1, type=_FILE)
@store_option("store", required=False, also="Gives generated scripts and ratings (Tables 3, 5, 6, 8).")
@click.option("--data", type=_FILE, help="Folder with the published data files.")
@json_options
def reproduce(
    name: str | None,
    folders: tuple[Path, ...],
    store: Path | None,
    data: Path | None,
    as_json: bool,
) -> None:
    """Show a published table (NAME) beside our figures from the run FOLDERS.

    Lists what a full reproduction needs, what is missing on this machine and which settings differ, and shows ours
    with a tolerance for every printed figure. Without NAME it lists the tables. Figures are compared only where model,
    data (case by case with the files in --data), set-up and judge are the published ones. Texts of closed models
    (Table 8) need no run: --store is enough.
    """
    from evaluation.reproduction.comparison import compare_figures
    from evaluation.reproduction.published import published_data, published_table, published_tables, requirements

    if name is None:
        for known in map(published_table, published_tables()):
            line = {key: known[key] for key in ("name", "title", "where")}
            text = "{name}  {title} ({where})".format_map(line)
            click.echo(json.dumps(line, ensure_ascii=False) if as_json else text)
        return
    what = published_table(name)
    if not folders and store is not None and what["kind"] not in ("text", "agreement"):
        raise UserError(
            f"a store alone has no figures of {name}", where=str(store), fix="name the run too: RUN --store S"
        )
    published = {} if data is None else published_data((Path(f).stem for f in what["data"]), data)
    rows = compare_figures(what, _our_results(folders, store, published))
    wanted = requirements(what, data=data)
    if as_json:
        for line in (*wanted, *({**row._asdict(), "printed": row.printed._asdict()} for row in rows)):
            click.echo(json.dumps(line, ensure_ascii=False))
        return
    _print_comparison(what, wanted, rows, with_ours=bool(folders or store))
    for file in published.values():
        click.echo(
            f"Data: {file.path}, {file.contents.total():,} cases, SHA-256 {file.sha256} (the authors print none)."
        )


def _our_results(folders: tuple[Path, ...], store: Path | None, data: dict[str, PublishedData]) -> OurResults:
    from evaluation.analysis.events import read_answer_ratings, with_ratings
    from evaluation.analysis.text_ratings import join_texts, read_texts, stores_of
    from evaluation.report.sections import make_sections
    from evaluation.reproduction.comparison import OurResults
    from evaluation.runs.results import load_run

    places = stores_of(folders, store)
    texts = join_texts([read_texts(place) for place in places])
    ratings = read_answer_ratings(places)
    parts, others = make_sections([with_ratings(load_run(f), ratings) for f in folders], None, texts)
    keys = {s.case for text in others for s in text.texts.scripts}
    return OurResults(parts, others, data, {c.key: c for place in places for c in _stored_cases(place, keys)})


def _stored_cases(place: Path, keys: set[str]) -> list[Case]:
    """Cases of a store, for scripts that no run is of."""
    from curation.store.store import Store
    from schemas.cases import Case

    if not keys:
        return []
    with Store.open(place) as store:
        return list(store.by_keys(Case, keys))


def _print_comparison(
    what: PublishedTable, wanted: list[dict[str, Any]], rows: list[FigureComparison], *, with_ours: bool
) -> None:
    from evaluation.analysis.text_ratings import SHORT
    from evaluation.reproduction.published import unit

    click.secho(f"{what['title']}, in {unit(what)}", bold=True)
    click.echo(f"{what['source']}; {what['where']}")
    click.secho("\nNeeded for the published figures", bold=True)
    for need in wanted:
        click.echo(
            "  here     {need}".format_map(need) if need["here"] else "  MISSING  {need}: {fix}".format_map(need)
        )
    click.secho("\nWhat differs or is not known", bold=True)
    for knob in what["knobs"]:
        click.echo(f"  - {knob}")
    click.secho("\nPrinted and ours", bold=True)
    head = ("printed for", "figure", "printed", "ours", "tolerance", "verdict", "ours rests on")
    lines = [head]
    for row in rows:
        p = row.printed
        who = " ".join(t for t in (p.model, p.method, p.split) if t)
        reason = row.told + (f"; printed: {p.note}" if p.note else "")
        printed = _figure(p.value, p.half, places=1 if what["kind"] == "events" else 2)
        tolerance = " to ".join(dict.fromkeys(f"{b:.2f}" for b in (row.paired, row.tolerance) if b is not None))
        figures = (SHORT.get(p.metric, p.metric), printed, _figure(row.ours, row.half), tolerance)
        lines.append((who, *figures, row.verdict, reason))
    for line in aligned(lines, left=7):
        click.echo(f"  {line}")
    counts = {v: sum(r.verdict == v for r in rows) for v in _VERDICTS}
    click.echo("\n" + ", ".join(f"{n} {v}" for v, n in counts.items() if n) + ".")
    if counts["within"] + counts["undecided"] + counts["outside"]:
        click.echo("Tolerance: half width of the difference, 95 %; for the same cases from that of values that vary")
        click.echo("together as far as they can (within) to that of other cases (outside); between them: undecided.")
    if counts["not comparable"]:
        click.echo("Not comparable (another model, data or rater): such figures only show that the pipeline runs.")
    if not with_ours:
        click.echo(f"Ours: scedit results reproduce {what['name']} RUN [--store S].")


def _figure(value: float | None, half: float | None, *, places: int = 2) -> str:
    if value is None:
        return "–"
    return f"{value:.{places}f}" + ("" if half is None else f" ± {half:.2f}")
