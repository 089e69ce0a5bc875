"""The commands ``run``, ``report`` and ``editors``."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import click

from curation.cli.options import editors_option, json_options, limit_option, shared_option, store_option, writes
from evaluation.cli.results import normalisation_option
from schemas.core.errors import UserError
from schemas.text.counting import counted

if TYPE_CHECKING:
    from evaluation.runs.config import RunConfig
    from evaluation.runs.dry_run import Size
    from evaluation.runs.progress import EditorProgress
    from evaluation.runs.results import Run
    from evaluation.runs.runner import EditorOutcome

RETRY = "the same command with --retry-failed does failed cases again"
_FILE = click.Path(path_type=Path)


@click.command(epilog="Example: scedit run configs/demo.toml --limit 4 --editors none,prompt --out runs/try")
@click.argument("config", required=False, type=_FILE)
@click.option("--model", help="Model to edit: embedded, a folder, a hub name, or endpoint:NAME.")
@shared_option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", also="Of CONFIG, such as editors.rome.params.layer=17."
)
@store_option("store", required=False, also="The split is read from it and the results are written to it.")
@click.option("--split", metavar="NAME", help="Shipped split (mini, open:test ...), a split file, or one in --store.")
@editors_option(also="Only these methods of CONFIG.")
@shared_option(
    "--metrics",
    metavar="A,B",
    also="Or a set: teacher-forced, free-text (default of chat models).",
)
@click.option("--validity", metavar="A,B", help="Add rows that test the metrics: masked, shuffled, random_object.")
@click.option("--chat", is_flag=True, help="Add rows in which every probe is asked in the model's chat template.")
@limit_option(also="cases.")
@click.option("--out", type=_FILE, help="Folder of the run.")
@click.option("--part", metavar="I/N", help="Only part I of N of the cases, for array jobs (see results merge).")
@click.option("--answers-from", type=_FILE, metavar="RUN", help="Take over a run on another version of the split.")
@click.option("--engine", type=click.Choice(["fast", "simple", "ray"]), help="How edits are made and scored.")
@click.option("--address", help="Ray: the cluster, such as ray://head:10001; without it, processes on this machine.")
@click.option("--workers", type=click.IntRange(min=1), help="Ray: number of processes.")
@click.option("--tracker", "trackers", multiple=True, metavar="NAME", help="Also log to wandb, mlflow or trackio.")
@shared_option("--retry-failed", is_flag=True, also="Cases that ended in an error.")
@shared_option("--dry-run", is_flag=True, also="Load no model.")
@json_options
def run(
    config: Path | None,
    model: str | None,
    settings: tuple[str, ...],
    store: Path | None,
    split: str | None,
    editors: tuple[str, ...],
    metrics: str | None,
    validity: str | None,
    chat: bool,
    limit: int | None,
    out: Path | None,
    part: str | None,
    answers_from: Path | None,
    engine: str | None,
    address: str | None,
    workers: int | None,
    trackers: tuple[str, ...],
    retry_failed: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Edit a model and score it on a split, as CONFIG (a TOML file) says.

    Without CONFIG, --model, --editors and --split say what to run. The run's folder holds what was run as run.toml.
    Finished cases are stored there, and an interrupted run resumes with the same command.
    """
    from evaluation.runs.config import select_editors, with_part, with_variants
    from evaluation.runs.dry_run import size

    base: dict[str, Any] = {"model": model, "limit": limit, "out": None if out is None else str(out)}
    base |= {"chat": "auto" if chat else None, "metrics": metrics}
    base |= {"answers_from": None if answers_from is None else str(answers_from)}
    named = {"name": engine, "address": address, "workers": workers}
    base["engine"] = {name: value for name, value in named.items() if value is not None} or None
    base |= _split_base(config, store=store, name=split)
    wanted = _wanted(config, settings, base, editors)
    wanted = with_part(select_editors(wanted, list(editors)), part)
    wanted = with_variants(wanted, [n.strip() for n in (validity or "").split(",") if n.strip()])
    if dry_run:
        _tell_size(size(wanted), wanted, as_json=as_json)
        return
    from evaluation.runs.runner import refuse_stopped

    outcomes = _execute(wanted, trackers, retry_failed=retry_failed)
    _tell_outcomes(outcomes, wanted, as_json=as_json)
    refuse_stopped(outcomes, fix=f"mend the cause, then {RETRY}")


def _wanted(
    config: Path | None, settings: tuple[str, ...], base: dict[str, Any], editors: tuple[str, ...]
) -> RunConfig:
    """The configuration of a file, or of options alone."""
    from evaluation.runs.config import config_of, load_config

    if config is not None:
        return load_config(config, settings, base=base)
    if missing := [f"--{name}" for name, value in (("model", base["model"]), ("editors", editors)) if not value]:
        raise UserError(f"name a configuration file, or give {' and '.join(missing)}", fix="see: scedit run --help")
    return config_of({"split": {"name": "mini"}, **base, "editors": list(editors)}, settings)


def _execute(config: RunConfig, trackers: tuple[str, ...], *, retry_failed: bool) -> list[EditorOutcome]:
    """The run itself; its progress goes to standard error, and to the trackers that are named."""
    from evaluation.runs.progress import Progress
    from evaluation.runs.runner import execute

    progress = Progress()
    if not trackers:
        return execute(config, on_event=progress, retry_failed=retry_failed)
    from evaluation.trackers.base import tracked

    with tracked(config, trackers) as tracking:

        def tell(event: EditorProgress) -> None:
            progress(event)
            tracking(event)

        return execute(config, on_event=tell, retry_failed=retry_failed)


def _split_base(config: Path | None, *, store: Path | None, name: str | None) -> dict[str, Any]:
    """What --store and --split put above the file's ``split``."""
    if store is not None and name is not None and Path(name).is_file():
        return {"split": {"file": name}, "feed": str(store)}
    if store is None and name is None:
        return {}
    from curation.shipped import read_config
    from evaluation.runs.config import expand_short_forms

    file_split = config is not None and (name is None or store is None)
    table = expand_short_forms(read_config(config)).get("split") if file_split and config is not None else {}
    base = {k: v for k, v in table.items() if k != "file"} if isinstance(table, dict) else {}
    base |= {"name": name} if name is not None else {}
    base |= {"store": str(store)} if store is not None else {}
    return {"split": base}


def _tell_size(size: Size, config: RunConfig, *, as_json: bool) -> None:
    from schemas.text.status_line import duration

    if as_json:
        calls = size.calls and size.calls._asdict()
        click.echo(json.dumps({**size._asdict(), "calls": calls, "out": str(config.out)}, ensure_ascii=False))
        return
    kinds = ", ".join(f"{n} {kind}" for kind, n in size.kinds.items())
    click.echo(f"Split {size.split}: {size.cases:,} of {counted(size.of, 'case')} ({kinds})")
    if size.support:
        left = f", {size.support_left_out} overlapping left out" if size.support_left_out else ""
        click.echo(f"Support {size.support}: {counted(size.support_cases, 'case')}{left}")
    click.echo(f"Model {config.model} in {config.dtype}; metrics {', '.join(size.metrics)} ({config.normalisation})")
    click.echo(
        f"For each method: {counted(size.edits, 'edit')}, {counted(size.probes, 'probe')} with "
        f"{counted(size.targets, 'target')}, "
        f"about {size.tokens:,} prompt tokens"
    )
    if size.texts:
        most = counted(size.text_tokens, "token")
        cheaper = "" if config.metrics or config.behind_endpoint else "; --metrics teacher-forced writes none"
        click.echo(f"  of them {counted(size.texts, 'text')} to be written, at most {most}{cheaper}")
    if size.calls is not None:
        from construction.llm.cli_options import calls_in_words

        click.echo(f"  in all at most {calls_in_words(*size.calls)}")
    for label in size.editors:
        done = f", {size.finished[label]:,} finished" if size.finished[label] else ""
        done += f", {size.failed[label]:,} failed ({RETRY})" if size.failed[label] else ""
        click.echo(f"  {label}: {counted(size.times_asked[label], 'case')}{done}")
    if not size.layers_checked:
        click.echo(
            f"  Layer numbers are not checked yet: the configuration of '{config.model}' is not on this machine. They "
            "are checked when the model is loaded."
        )
    left = "not known before some cases have run here" if size.seconds is None else duration(size.seconds)
    click.echo(f"Time left: {left}. Results go to {config.out}")


def _tell_outcomes(outcomes: list[EditorOutcome], config: RunConfig, *, as_json: bool) -> None:
    from evaluation.analysis.comparison import compare
    from evaluation.metrics.generation import metrics_of
    from evaluation.report.formatting import console_table
    from evaluation.runs.frame import score_run
    from evaluation.runs.results import load_run

    finished = load_run(config.out)
    metrics = metrics_of(finished.about)
    table = compare(finished, score_run(finished, metrics, config.normalisation), metrics)[0]
    rows = {r.label: r for r in table.rows}
    if as_json:
        for one in outcomes:
            row = rows.get(one.label)
            values = {} if row is None else {m: [s.mean, s.half, s.cases] for m, s in row.summaries.items()}
            data: dict[str, Any] = {"editor": one.label, "run": one.manifest.key, "folder": str(one.folder.path)}
            data |= {"computed": one.computed, "found": one.resumed, "failed": one.failed, "stopped": one.stopped}
            click.echo(json.dumps({**data, "metrics": values}, ensure_ascii=False))
        return
    for line in console_table(table, metrics):
        click.echo(line)
    over = ", ".join(m.title for m in metrics if m.pooled)
    pooled = f" {over}: over all questions, the interval by case." if over else ""
    for label, errors in _errors(finished).items():
        text, number = errors.most_common(1)[0]
        more = f" (and {counted(len(errors) - 1, 'other error')})" if len(errors) > 1 else ""
        click.echo(f"{label}: {counted(errors.total(), 'case')} failed; {number:,} with {text}{more}; {RETRY}")
    click.echo(f"Percent [95 % interval] over {counted(table.cases, 'case')}.{pooled} Next: scedit report {config.out}")


def _errors(run: Run) -> dict[str, Counter[str]]:
    """Errors of each method and how often each occurred, for methods with failed cases."""
    errors = {e.label: Counter(r.error for r in e.results.values() if r.error is not None) for e in run.editors}
    return {label: counts for label, counts in errors.items() if counts}


@click.command(epilog="Example: scedit report runs/demo --store demo/store.duckdb")
@click.argument("folders", nargs=-1, required=True, type=_FILE)
@click.option(
    "--out", type=_FILE, help="Folder for the report, or its name (*.html); the first run's folder otherwise."
)
@store_option("store", required=False, also="Its generated scripts, ratings and construction are shown too.")
@normalisation_option
@writes(folders=("out", "figures"))
@click.option(
    "--intervals",
    type=click.Choice(["default", "published"]),
    default="default",
    show_default=True,
    help="Kind of 95 % intervals: inside the scale, for few cases too; or as published, ± 1.96·sd/√n.",
)
@click.option("--against", metavar="LABEL", help="Compare all methods with this one, instead of all pairs.")
@click.option("--figures", type=_FILE, help="Folder for every picture as SVG, PNG and PDF.")
@json_options
def report(
    folders: tuple[Path, ...],
    out: Path | None,
    store: Path | None,
    normalisation: Any,
    intervals: Any,
    against: str | None,
    figures: Path | None,
    as_json: bool,
) -> None:
    """Write report.html from the run FOLDERS, finished or not, and its tables as CSV, Markdown, LaTeX and JSON.

    Runs with the same model, precision and split are compared where they have the same regime or the same cases (a
    column then says how many edits were active); others get sections of their own. A comparison is corrected for all
    others that answer the same question; --against asks about one method only.
    """
    from evaluation.report.write import write_report

    written = write_report(
        folders,
        out=out,
        store=store,
        normalisation=normalisation,
        intervals=intervals,
        against=against,
        figures=figures,
    )
    if as_json:
        for line in written.figures:
            click.echo(json.dumps(line, ensure_ascii=False))
        return
    for path in written.files:
        click.echo(str(path))
    if written.pictures:
        click.echo(f"{counted(len(written.pictures), 'file')} in {figures}")
    click.echo(f"Open {written.files[0]} in a browser; it needs no network.")


@click.command(epilog="Example: scedit model editors rome")
@click.argument("name", required=False)
@json_options
def editors(name: str | None, as_json: bool) -> None:
    """List the editing methods, or one (NAME) with its settings."""
    from evaluation.editors import EDITORS

    for known in [name] if name else EDITORS.names():
        kind = EDITORS.get(known)
        fields = kind.Params.model_fields
        settings = {k: {"type": _type(f.annotation), "default": _default(f)} for k, f in fields.items()}
        if as_json:
            data = {"name": known, "version": kind.version, "about": kind.about, "params": settings}
            data |= {"takes": list(kind.takes), "needs": kind.needs, "costs": kind.costs}
            click.echo(json.dumps(data, ensure_ascii=False))
            continue
        click.echo(f"{known}  {kind.about} (version {kind.version})")
        click.echo(f"    takes {_edits(kind.takes)}; needs {kind.needs}; costs {kind.costs}")
        for setting, description in settings.items():
            click.echo(f"    {setting} = {description['default']}  [{description['type']}]")
    if not name and not as_json:
        click.echo("Presets for known models stand above these defaults. Set one: --set editors.rome.params.layer=17")


@click.command(epilog="Example: scedit model metrics s_es")
@click.argument("name", required=False)
@json_options
def metrics(name: str | None, as_json: bool) -> None:
    """List the metrics, or one (NAME), with what each measures."""
    from evaluation.metrics import METRICS

    for known in [name] if name else METRICS.names():
        kind = METRICS.get(known)
        if as_json:
            data = {"name": known, "version": kind.version, "about": kind.about, "takes": list(kind.takes)}
            click.echo(json.dumps({**data, "better": kind.better, "unit": kind.unit}, ensure_ascii=False))
        else:
            click.echo(f"{known}  {kind.about} (version {kind.version}; {kind.better} is better; {_edits(kind.takes)})")


def _edits(kinds: tuple[str, ...]) -> str:
    """Kinds of edits in words."""
    return " and ".join(f"{kind}s" for kind in kinds)


def _type(annotation: Any) -> str:
    """An annotation in words: ``list of int``, ``str or none``, ``'mean' or 'sum'``."""
    kind, inside = get_origin(annotation), get_args(annotation)
    if kind is Annotated:
        return _type(inside[0])
    if kind is Literal:
        return " or ".join(map(repr, inside))
    if kind in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_type, inside)))
    if kind in (tuple, list) and (kind is list or inside[1:] == (...,)):
        return f"list of {_type(inside[0])}"
    if kind is tuple:
        return f"({', '.join(map(_type, inside))})"
    if kind is dict:
        return f"table of {_type(inside[1])}"
    return "none" if annotation is type(None) else getattr(annotation, "__name__", str(annotation))


def _default(field: Any) -> Any:
    if field.is_required():
        return "from the preset"
    value = field.get_default(call_default_factory=True)
    return value if value is None or isinstance(value, (bool, int, float, str)) else json.loads(json.dumps(value))
