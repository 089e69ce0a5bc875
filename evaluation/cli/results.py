"""The commands ``results ...`` and ``model push``: what is done with finished runs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curation.cli.hub import hub_options, show_files
from curation.cli.options import json_options, shared_option, store_option, writes
from curation.stats.intervals import LEAST_CASES, Interval
from schemas.core.errors import UserError
from schemas.text.counting import counted

if TYPE_CHECKING:
    from curation.export.hub import HubUpload


metrics_option = shared_option(
    "--metrics",
    metavar="A,B",
    default="",
    callback=lambda context, option, value: tuple(n.strip() for n in value.split(",") if n.strip()),
)
"""``--metrics``: the parameter ``metrics``, a tuple of names; empty where none is given."""

normalisation_option = click.option(
    "--normalisation", type=click.Choice(["mean", "sum"]), help="Normalisation, if not that of the run."
)
"""``--normalisation``: the parameter ``normalisation``; None where it is that of the run."""

_PATH = click.Path(path_type=Path)


@click.command(epilog="Example: scedit results merge runs/mine/part-* --out runs/mine")
@click.argument("folders", nargs=-1, required=True, type=_PATH)
@click.option("--out", type=_PATH, required=True, help="Folder of the whole run.")
@writes(folders=("out",))
@json_options
def merge(folders: tuple[Path, ...], out: Path, as_json: bool) -> None:
    """Join the parts that `scedit run --part i/n` wrote; the result equals that of an undivided run.

    FOLDERS are those of all parts, each finished.
    """
    from evaluation.runs.merge_parts import merge_parts

    run = merge_parts(folders, out)
    if as_json:
        click.echo(json.dumps({"out": str(out), "parts": len(folders), "cases": len(run.cases)}))
    else:
        click.echo(f"{counted(len(run.cases), 'case')} of {counted(len(folders), 'part')}. Next: scedit report {out}")


@click.command(epilog="Example: scedit results table runs/mine runs/other --out tables")
@click.argument("folders", nargs=-1, required=True, type=_PATH)
@click.option("--out", type=_PATH, required=True, help="New or empty folder of the tables.")
@metrics_option
@normalisation_option
@writes(folders=("out",))
@json_options
def table(folders: tuple[Path, ...], out: Path, metrics: tuple[str, ...], normalisation: Any, as_json: bool) -> None:
    """Write every answer, score and figure of the runs in FOLDERS as Parquet tables.

    answers.parquet has one row an answer of a method (prompt, targets, log-probabilities, text), scores.parquet one row
    a metric and prompt, figures.parquet one row a metric and method with its interval and its gain over no edit. Read
    them with pandas, polars, DuckDB or R; in Python, scedit.load_run(FOLDER).frame() has all scores.
    """
    from curation.files.atomic import atomic_folder
    from evaluation.analysis.exports import write_run_tables
    from evaluation.runs.results import load_run

    runs = [load_run(folder) for folder in folders]
    with atomic_folder(out) as folder:
        counts = write_run_tables(runs, folder, metrics=metrics, normalisation=normalisation)
    if as_json:
        click.echo(json.dumps({"out": str(out), "rows": counts}, ensure_ascii=False))
        return
    for name, rows in counts.items():
        click.echo(f"{out / name}.parquet: {counted(rows, 'row')}")


@click.command(epilog="Example: scedit results view runs/mine --out answers.html")
@click.argument("folders", nargs=-1, required=True, type=_PATH)
@click.option("--out", type=_PATH, required=True, help="HTML file of the page.")
@store_option("store", required=False, also="Its ratings are shown beside the answers.")
@writes("out")
@json_options
def view(folders: tuple[Path, ...], out: Path, store: Path | None, as_json: bool) -> None:
    """Write a page with every text of the runs in FOLDERS, which must be on one split of facts.

    Filter by case, method, what was asked, the object named first, how far judge and person are apart, and words in the
    text; the text before the edit stands beside those after it. One file that loads nothing; it needs JavaScript.
    """
    from curation.files.atomic import write_text
    from evaluation.analysis.text_ratings import join_texts, read_texts, stores_of
    from evaluation.report.viewer.page import viewer_page
    from evaluation.runs.results import load_run

    runs = [load_run(folder) for folder in folders]
    stores = stores_of(folders, store)
    texts = join_texts([read_texts(path) for path in stores]) if stores else None
    page = viewer_page(runs, texts)
    write_text(out, page, "the page", fsync=False, fix="name another --out")
    size = len(page.encode())
    click.echo(json.dumps({"out": str(out), "bytes": size}) if as_json else f"{out}: {size / 1e6:.1f} MB")


@click.command("push", epilog="Example: scedit results push runs/mine runs/other me/my-results --dry-run")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.argument("repository")
@hub_options
def push_results(
    folders: tuple[Path, ...], repository: str, public: bool, message: str, dry_run: bool, as_json: bool
) -> None:
    """Send the results of the runs in FOLDERS to the dataset REPOSITORY (OWNER/NAME) of a hub.

    What is sent are the tables of results table (all answers, scores and figures) and a card with model, split, methods
    and every figure; journals, settings and paths of this machine stay here. The access is that of hf auth login, or
    HF_TOKEN.
    """
    from curation.export.hub import check_repository, push_files
    from evaluation.report.results_card import results_files
    from evaluation.runs.results import load_run

    check_repository(repository)
    runs = [load_run(folder) for folder in folders]
    with tempfile.TemporaryDirectory() as folder:
        files = results_files(runs, Path(folder))
        url = None if dry_run else push_files(files, repository, kind="dataset", public=public, message=message)
        show_files(files, repository, url, public=public, as_json=as_json)


@click.command("push", epilog="Example: scedit model push edited me/my-adapter --dry-run")
@click.argument("path", type=click.Path(path_type=Path))
@click.argument("repository")
@hub_options
def push_model(path: Path, repository: str, public: bool, message: str, dry_run: bool, as_json: bool) -> None:
    """Send what is at PATH to the model REPOSITORY (OWNER/NAME) of a hub.

    PATH is the folder of a saved edit (scedit edit: a model, an adapter or its changes) or a pack of second moments
    (NAME.safetensors, as scedit model covariance compute --out wrote it; its manifest goes with it). Both are verified
    first. The access is that of hf auth login, or HF_TOKEN.
    """
    from curation.export.hub import check_repository, push_files

    check_repository(repository)
    files = _files(path)
    url = None if dry_run else push_files(files, repository, kind="model", public=public, message=message)
    show_files(files, repository, url, public=public, as_json=as_json)


def _files(path: Path) -> list[HubUpload]:
    from evaluation.covariance.pack import pack_files
    from evaluation.saved_edits.hub_files import saved_edit_files

    if path.is_dir():
        return saved_edit_files(path)
    if path.suffix == ".safetensors" and path.is_file():
        return pack_files(path)
    raise UserError(
        "there is nothing here that can be sent" if path.exists() else "there is no such file or folder",
        where=str(path),
        allowed="the folder of a saved edit, or a pack (NAME.safetensors)",
    )


@click.command(epilog="Example: scedit results forgetting runs/sequence")
@click.argument("folder", type=click.Path(path_type=Path))
@metrics_option
@normalisation_option
@click.option("--states", is_flag=True, help="Show the model itself: perplexity, norms, seconds and memory an edit.")
@json_options
def forgetting(folder: Path, metrics: tuple[str, ...], normalisation: Any, states: bool, as_json: bool) -> None:
    """Show the forgetting curve of the run in FOLDER, which was in the regime 'sequential'.

    For every number of edits in the model: the mean over all cases edited so far, the same cases right after their own
    edits, and the difference, paired by case. With --states: perplexity of 24 plain texts, how far the weights are
    from what they were, seconds and memory an edit.

    Of a run in the regime 'batch' with several sizes: for every number of edits made together, the mean over the cases
    that every size has, the same cases with the fewest edits, and the difference.
    """
    from evaluation.analysis.sequences import curve_parts, edit_curve, is_in_batches, sequence_states, state_table
    from evaluation.analysis.tables import FigureTable
    from evaluation.metrics.generation import load_metrics
    from evaluation.report.formatting import table_lines
    from evaluation.runs.generated_scripts import generation_of
    from evaluation.runs.results import load_run

    run = load_run(folder)
    if states:
        rows = sequence_states(run)
        tables = [state_table(rows)]
        note = tables[0].caption
    else:
        together, chosen = is_in_batches(run), load_metrics(metrics or run.about["metrics"], generation_of(run))
        points = edit_curve(run, chosen, normalisation or run.about["normalisation"])
        rows = [point._asdict() for point in points]
        parts = curve_parts(points, chosen, together=together)
        tables = [part for part in parts if isinstance(part, FigureTable)]
        over = "the cases that every size has" if together else "the cases edited so far"
        note = f"Percent [95 % interval] over {over}; differences are paired by case."
    if as_json:
        for row in rows:
            click.echo(json.dumps({name: _plain(value) for name, value in row.items()}, ensure_ascii=False))
        return
    click.echo("\n".join([*(line for table in tables for line in table_lines(table)), note]))


def _plain(value: Any) -> Any:
    """An interval as JSON, what else it is as it is."""
    if not isinstance(value, Interval):
        return value
    data = {"mean": value.mean, "half_width_95": value.half, "cases": value.n}
    return data | {"low_95": value.low, "high_95": value.high}


@click.command(epilog="Example: scedit results cases runs/open --points 2 --points 5")
@click.argument("folder", type=_PATH)
@metrics_option
@normalisation_option
@click.option(
    "--points",
    multiple=True,
    type=click.FloatRange(0, 100, min_open=True),
    default=(2, 5, 10),
    show_default=True,
    help="True difference between two methods, in points of 100; repeatable.",
)
@click.option("--power", type=click.FloatRange(0.1, 0.99), default=0.8, show_default=True, help="Chance to find it.")
@click.option(
    "--comparisons", type=click.IntRange(1), default=1, show_default=True, help="Corrected for so many tests."
)
@json_options
def cases(
    folder: Path,
    metrics: tuple[str, ...],
    normalisation: Any,
    points: tuple[float, ...],
    power: float,
    comparisons: int,
    as_json: bool,
) -> None:
    """Say how many cases a difference between two methods needs, from the variance of the run in FOLDER.

    By the paired t test over cases (two-sided, 5 %), for shares such as ES or S-ES. The first number is for the median
    pair of the run's methods, the second for the pair whose differences vary most.
    """
    from evaluation.analysis.sample_size import sample_sizes
    from evaluation.report.formatting import count_range
    from evaluation.runs.frame import chosen_metrics, score_run
    from evaluation.runs.results import load_run
    from schemas.text.table_lines import aligned

    run = load_run(folder)
    chosen = chosen_metrics(run, metrics)
    wanted = [m for m in chosen if m.unit == "fraction" and not m.pooled]
    if not wanted:
        raise UserError(
            f"none of the metrics is a mean of shares over cases: {', '.join(m.name for m in chosen)}",
            where=str(folder),
            fix="give a run with such a metric (es, s_es ...)",
        )
    scores = score_run(run, wanted, normalisation or run.about["normalisation"])
    gaps = [p / 100 for p in points]
    found = sample_sizes(run, scores, wanted, differences=gaps, power=power, family=comparisons)
    if not found:
        raise UserError(
            f"no two methods of this run differ on {LEAST_CASES} common cases or more",
            where=str(folder),
            fix="give a run with two methods at least (control methods do not count) and more cases",
        )
    if as_json:
        for one in found:
            click.echo(json.dumps(one))
        return
    titles = {m.name: m.title for m in wanted}
    heads = ("metric", "cases here", "pairs", *(f"{p:g} points" for p in points))
    rows = [
        (
            titles[one["metric"]],
            f"{one['cases']:,}",
            str(one["pairs"]),
            *map(count_range, one["needed"].values()),
        )
        for one in found
    ]
    click.echo("\n".join(aligned([heads, *rows])))
    corrected = f", corrected for {comparisons} comparisons" if comparisons > 1 else ""
    click.echo(f"Cases for {100 * power:g} % power, paired t test over cases, 5 %{corrected}.")
    answered = {one["metric"] for one in found}
    if left := [m.title for m in chosen if m.name not in answered]:
        why = f"no mean of shares over cases, or no two methods that differ on {LEAST_CASES} common cases"
        click.echo(f"Left out: {', '.join(left)} ({why}).")


DEFAULT_METRICS = ("s_es", "s_ns")
MOST_RELATIONS = 8


@click.command(epilog="Example: scedit results item-analysis runs/open --metrics s_es")
@click.argument("folder", type=click.Path(path_type=Path))
@metrics_option
@normalisation_option
@click.option("--draws", type=click.IntRange(1), default=2000, show_default=True, help="Random halves of the cases.")
@shared_option("--seed", type=int, default=0, show_default=True)
@json_options
def item_analysis(
    folder: Path, metrics: tuple[str, ...], normalisation: Any, draws: int, seed: int, as_json: bool
) -> None:
    """Show which cases of the run in FOLDER discriminate between its methods.

    Split-half reliability of the methods' order, how many items all methods or none pass, how items correlate with the
    other cases, and which relations move the result most when they are left out. Control methods do not take part.
    Without --metrics: s_es and s_ns, or the run's first metric where it has neither.
    """
    from evaluation.analysis.method_order import analyse
    from evaluation.metrics.generation import load_metrics
    from evaluation.runs.frame import score_run
    from evaluation.runs.generated_scripts import generation_of
    from evaluation.runs.results import load_run

    run = load_run(folder)
    there = run.about["metrics"]
    names = metrics or [n for n in DEFAULT_METRICS if n in there]
    chosen = load_metrics(names or there[:1], generation_of(run))
    scores = score_run(run, chosen, normalisation or run.about["normalisation"])
    for metric in chosen:
        figures = analyse(run, scores, metric, draws=draws, seed=seed)
        if as_json:
            click.echo(json.dumps(figures, ensure_ascii=False))
        else:
            click.echo(analysis_text(figures, metric.title))


def analysis_text(figures: Mapping[str, Any], title: str) -> str:
    """The figures of one metric as lines of text."""
    halves, items = figures["halves"], figures["items"]
    means = ", ".join(f"{label} {_points(mean)}" for label, mean in figures["means"].items())
    lines = [
        f"{title}, {figures['cases']} cases in common, best first: {means}",
        f"  two halves of the cases: Kendall's tau-b {_coefficient(halves['tau'])} between the orders, the same best "
        f"method in {halves['same_first']:.0%} of {halves['draws']:,} divisions; reliability of the means "
        f"{_coefficient(halves['reliability'])}",
    ]
    if items is not None and items["items"]:
        none, whole = items["passed_by"][0], items["passed_by"][-1]
        lines.append(
            f"  {items['items']:,} items: no method passes {none:,}, all pass {whole:,}; "
            f"{1 - (none + whole) / items['items']:.0%} tell methods apart"
        )
    if items is not None and items["discrimination"]:
        ranked = sorted(items["discrimination"])
        against = sum(r < 0 for r in ranked)
        lines.append(
            f"  correlation of such an item with the other cases: median {_coefficient(ranked[len(ranked) // 2])}, "
            f"negative for {against:,} of {len(ranked):,}"
        )
    for one in figures["relations"][:MOST_RELATIONS]:
        lines.append(
            f"  without {one['relation']} ({counted(one['cases'], 'case')}): {one['method']} "
            f"{_points(one['shift'], signed=True)}, order {_coefficient(one['tau'])}"
        )
    return "\n".join(lines)


def _points(value: float, *, signed: bool = False) -> str:
    """A share in points."""
    return f"{100 * value:+.1f}" if signed else f"{100 * value:.1f}"


def _coefficient(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"
