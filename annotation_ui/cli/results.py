"""What comes of the answers: ``annotate import``, ``agreement``, ``disagreements``, ``gold``, ``add-scripts``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from annotation_ui.cli.campaigns import DB
from annotation_ui.ratings.database import RatingsDB
from curation.cli.options import json_option, json_options, limit_option, shared_option, show, store_option, writes
from curation.files.atomic import write_text
from schemas.text.counting import counted

if TYPE_CHECKING:
    from annotation_ui.agreement.method_means import MethodMeans
    from annotation_ui.agreement.report import TaskReport
    from annotation_ui.campaigns.answer_import import ImportResult
    from curation.stats.bradley_terry import Strengths


@click.command("import")
@click.argument("name")
@click.argument("sheets", type=click.Path(path_type=Path), nargs=-1)
@DB
@store_option()
@click.option("--partial", is_flag=True, help="Take sheets that are not filled in to the end.")
@click.option("--report", "report_path", type=click.Path(path_type=Path), help="Write what was rejected (JSON lines).")
@writes("report_path")
@json_option
def import_(
    name: str,
    sheets: tuple[Path, ...],
    db_path: Path,
    store_path: Path,
    partial: bool,
    report_path: Path | None,
    as_json: bool,
) -> None:
    """Import the answers of campaign NAME into the store, each checked against its form; repeating adds what is new.

    Filled SHEETS are read into the ratings file first: all or none, and the first fault is named by line.

    Example: scedit annotate import pilot --ratings r.sqlite --store my.duckdb
    """
    from annotation_ui.campaigns.answer_import import import_campaign
    from annotation_ui.campaigns.sheets import fill_in
    from curation.store.store import Store

    with RatingsDB(db_path) as db, Store.open(store_path, write=True) as store:
        filled = fill_in(db, name, sheets, partial=partial)
        got = import_campaign(db, store, name)
    of_sheets = [
        {
            "sheet": str(path),
            "person": sheet.person,
            "answers": len(sheet.answers),
            "new": len(sheet.changed),
            "repeated": len(sheet.repeated),
            "missing": len(sheet.missing),
        }
        for path, sheet in zip(sheets, filled, strict=True)
    ]
    refused = [r._asdict() for r in got.rejected]
    if report_path:
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in refused)
        write_text(report_path, "".join(lines), "the list", fix="name another --report")
    counts = {"answers": got.answers, "new": got.new, "superseded": got.superseded, "outdated": got.outdated}
    extra = {"sheets": of_sheets} if of_sheets else {}
    show({**counts, **extra, "refused": refused}, "\n".join(_import_lines(got, of_sheets)), as_json=as_json)
    if got.rejected:
        raise SystemExit(1)


def _import_lines(got: ImportResult, of_sheets: list[dict[str, Any]]) -> Iterator[str]:
    for row in of_sheets:
        yield (
            "{sheet}: {answers} answers by {person}, {new} of them new, {repeated} answered again (the last answer "
            "counts), {missing} missing".format(**row)
        )
    records = f"{counted(got.new, 'record')} new in the store"
    yield f"{counted(got.answers, 'answer')}, {records}, {len(got.rejected)} rejected."
    if got.superseded:
        yield f"  {counted(got.superseded, 'earlier or withdrawn answer')} left out."
    if got.outdated:
        about = counted(got.outdated, "answer to an earlier text", "answers to earlier texts")
        yield f"  {about}: not counted for the text as it is now."
    yield from (f"  rejected: {r.person}, item {r.item}: {r.why}" for r in got.rejected[:20])


@click.command()
@click.argument("name")
@DB
@shared_option("--resamples", type=click.IntRange(0, 100000), default=1000, show_default=True)
@store_option(required=False, also="Ratings by judges are taken from it.")
@click.option("--page", type=click.Path(path_type=Path), help="Also write a page with plots (HTML).")
@writes("page")
@json_option
def agreement(
    name: str, db_path: Path, resamples: int, store_path: Path | None, page: Path | None, as_json: bool
) -> None:
    """Show how far the raters of campaign NAME agree, by aspect, with intervals over cases, and judges with them.

    Below it: means of methods corrected for how severe each rater is, with intervals, and what the stop rule says.

    Example: scedit annotate agreement pilot --ratings r.sqlite --page agreement.html
    """
    from annotation_ui.agreement.blocks import agreement_blocks, blocks_as_text
    from annotation_ui.agreement.method_means import method_means, methods_of
    from annotation_ui.agreement.report import agreement_report, live_judgements, unreadable_answers
    from annotation_ui.campaigns.campaign import task_of
    from curation.stats.bootstrap import Resampling

    with RatingsDB(db_path) as db:
        task = task_of(db, name)
        marks, methods = live_judgements(db, name), methods_of(db, name)
        width = db.campaign(name).settings.get("stop_width")
        if left := unreadable_answers(db, name):
            click.echo(f"{left} stored answers cannot be read under the form and are left out.", err=True)
    if store_path:
        from annotation_ui.agreement.report import judgements_by_judges
        from curation.store.store import Store

        with Store.open(store_path) as store:
            marks += judgements_by_judges(store, task, marks)
    report = agreement_report(marks, task, resampling=Resampling(resamples))
    means = method_means(marks, methods, task, width=width)
    if page:
        from annotation_ui.agreement.page import write_page

        write_page(report, marks, task, page, title=name, means=means)
    text = "\n".join(blocks_as_text(agreement_blocks(report, means)))
    show(plain(report) | {"means": plain(means)}, text, as_json=as_json)


@click.command()
@click.argument("name")
@DB
@limit_option(default=20, also="items.")
@json_options
def disagreements(name: str, db_path: Path, limit: int, as_json: bool) -> None:
    """List the items of campaign NAME that raters disagree on, the widest disagreement first.

    Example: scedit annotate disagreements pilot --ratings r.sqlite
    """
    from annotation_ui.agreement.report import disagreements as apart
    from annotation_ui.agreement.report import live_judgements
    from annotation_ui.campaigns.campaign import task_of

    with RatingsDB(db_path) as db:
        items = apart(live_judgements(db, name), task_of(db, name))
    for d in items[:limit]:
        answers_text = "; ".join(
            f"{p}: {', '.join(f'{k} {v}' for k, v in a.items())}" for p, a in sorted(d.said.items())
        )
        show(d._asdict(), f"{d.spread:5.2f}  {d.item}  {answers_text}", as_json=as_json)
    if not as_json:
        click.echo(f"{counted(len(items), 'item')} with a disagreement.")


@click.command()
@click.argument("name")
@DB
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file (JSON lines) to write.")
@writes("out")
def gold(name: str, db_path: Path, out: Path) -> None:
    """Write the settled items of campaign NAME (decided by a lead, or unanimous) as training items.

    Example: scedit annotate gold pilot --ratings r.sqlite --out gold.jsonl
    """
    from annotation_ui.campaigns.answer_import import write_gold_set

    with RatingsDB(db_path) as db:
        click.echo(f"{write_gold_set(db, name, out)} settled items written to {out}.")


@click.command("add-scripts")
@click.argument("scripts", type=click.Path(path_type=Path))
@store_option()
def add_scripts(scripts: Path, store_path: Path) -> None:
    """Add generated SCRIPTS (a file of generated-script records, JSON lines) to a store, so that they can be rated.

    Example: scedit annotate add-scripts generated.jsonl --store my.duckdb
    """
    from annotation_ui.tasks.generated_scripts import import_scripts

    seen, fresh = import_scripts(scripts, store_path)
    click.echo(f"{counted(seen, 'script')} read, {fresh} new in the store.")


@click.command()
@click.argument("name")
@DB
@store_option(also="It says which method wrote each script.")
@click.option("--rater", "raters", multiple=True, help="Only the answers of these raters; all unless given.")
@json_option
def strengths(name: str, db_path: Path, store_path: Path, raters: tuple[str, ...], as_json: bool) -> None:
    """Show how strong each method is in campaign NAME, whose raters compared scripts: Bradley-Terry with ties.

    Log-strengths sum to zero; a difference of 0.69 means that one is preferred twice as often where there is no tie.
    Intervals take all comparisons of one case as dependent.

    Example: scedit annotate strengths pairs --ratings r.sqlite --store my.duckdb
    """
    from annotation_ui.agreement.method_means import method_strengths
    from curation.store.store import Store

    with RatingsDB(db_path) as db, Store.open(store_path) as store:
        by_aspect = method_strengths(db, store, name, raters=raters)
    rows, lines = dict[str, Any](), list[str]()
    for aspect, one in by_aspect.items():
        if isinstance(one, str):
            rows[aspect] = one
            lines.append(f"{aspect}: {one}")
            continue
        rows[aspect] = plain(one)
        counts = f"{counted(one.comparisons, 'comparison')} in {counted(one.cases, 'case')}, {counted(one.ties, 'tie')}"
        lines.append(f"{aspect} ({counts})")
        lines += [f"  {m:32} {e.text()}   ({counted(e.n, 'comparison')})" for m, e in one.methods.items()]
    show(rows, "\n".join(lines), as_json=as_json)


def plain(report: TaskReport | MethodMeans | Strengths) -> dict[str, Any]:
    """A report as JSON values."""

    def value(x: Any) -> Any:
        if hasattr(x, "_asdict"):
            return {k: value(v) for k, v in x._asdict().items()}
        if isinstance(x, dict):
            return {"/".join(map(str, k)) if isinstance(k, tuple) else str(k): value(v) for k, v in x.items()}
        if isinstance(x, list | tuple):
            return [value(v) for v in x]
        return x

    out: dict[str, Any] = value(report)
    return out
