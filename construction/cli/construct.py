"""Commands of construction: construct, data import-scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from construction.cli.closing import echo_yield, resumable
from construction.llm.cli_options import journal_option, model_options, refuse_unanswered
from curation.cli.options import (
    UPDATED,
    echo_keys,
    error_with_lines,
    identity_options,
    json_option,
    limit_option,
    shared_option,
    store_option,
    update_text,
)
from schemas.text.counting import counted

if TYPE_CHECKING:
    from construction.pipeline.adopt import Adoption
    from construction.pipeline.job import PreparedJob
    from curation.loaders.importer import Identity
    from curation.store.import_sources import SourceUpdate


@click.command()
@click.argument("facts")
@store_option("store", also="Created if absent.")
@shared_option("--format", "format_name", also="One of scedit data formats; detected when left out.")
@click.option("--skip-bad", is_flag=True, help="Leave bad records out instead of stopping.")
@click.option(
    "--profile",
    help="Prompts to use: 'paper', or 'embedded', 'local' for the models of these names.",
)
@click.option("--prompts", "prompts_path", type=click.Path(path_type=Path), help="Folder with your own prompts.")
@click.option(
    "--questions",
    type=click.IntRange(1, 20),
    help="Script questions per fact to edit (default: 5 with the profile 'paper', 4 with those for small models).",
)
@click.option(
    "--candidates",
    type=click.IntRange(1, 60),
    help="Questions to ask for, of which the most diverse are kept (with 'paper' twice --questions).",
)
@click.option(
    "--scripts",
    type=click.IntRange(0, 20),
    default=1,
    show_default=True,
    help="Scripts per question and author; 0 stops before scripts, so that people can screen the questions.",
)
@click.option(
    "--author",
    "named",
    multiple=True,
    help="Model that writes the scripts instead of --model; repeatable. NAME[@ADDRESS[@KEY_VARIABLE]].",
)
@click.option(
    "--verify",
    "reader_name",
    help="Who reads every prompt: leak, cut, continuation (an endpoint: --model itself); named as for --author.",
)
@click.option(
    "--no-verify", "unverified", is_flag=True, help="Have no model read the prompts, and take them as they are."
)
@click.option(
    "--neighbours", type=click.IntRange(0, 50), default=2, show_default=True, help="Neighbour facts per fact to edit."
)
@click.option(
    "--neighbour-questions",
    type=click.IntRange(1, 20),
    default=1,
    show_default=True,
    help="Script questions per neighbour fact.",
)
@click.option(
    "--neighbours-by",
    default="tfidf",
    show_default=True,
    help="How to find nearest subjects of temporal edits: tfidf, embeddings or a model; source: as the file says.",
)
@click.option(
    "--neighbours-from",
    "table_paths",
    multiple=True,
    help="File of further facts that may serve as neighbours; repeatable.",
)
@limit_option(also="facts to edit; neighbours may be any facts of the file.")
@click.option(
    "--add",
    is_flag=True,
    help="If another model, prompt or number wrote for the same facts before: keep both generations.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="Like --add, but only the new generation counts; the earlier one stays in the store.",
)
@journal_option
@click.option("--fsync", is_flag=True, help="Flush every reply to disk, so that it survives a power cut.")
@shared_option("--dry-run", is_flag=True, also="Shows calls, rough tokens and cost.")
@model_options
@json_option
def construct(*, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Write script questions, scripts and prompts for FACTS (a file, or 'shipped') with a language model.

    Every reply is recorded before it is used: give the same command again to resume a stopped or killed run, and no
    reply is paid for twice. The API key is read from the environment and written nowhere.

    \b
    Examples:
      scedit construct shipped --store my.duckdb --limit 6
      scedit construct facts.csv --store my.duckdb --model gpt-4o-mini --dry-run
      scedit construct facts.csv --store my.duckdb --model gpt-4o-mini --batch --max-cost 20
      scedit construct facts.csv --store my.duckdb --model qwen --base-url http://127.0.0.1:8000/v1
      scedit construct facts.csv --store my.duckdb --model gpt-4o --candidates 8 --questions 4
      scedit construct facts.csv --store my.duckdb --model gpt-4o --author gpt-4o --author gpt-4.1-mini --scripts 2
    """  # noqa: D301 - click needs the real backspace
    from construction.pipeline.job import ConstructionJob, prepare
    from construction.pipeline.runner import ProgressDisplay
    from construction.report.store_funnel import store_yield

    candidates, questions = options["candidates"], options["questions"]
    if questions is not None and candidates is not None and candidates < questions:
        raise click.UsageError(f"--candidates {candidates} are fewer than --questions {questions}")
    if options["unverified"] and options["reader_name"]:
        raise click.UsageError("--verify and --no-verify exclude each other")
    add, replace = options.pop("add"), options.pop("replace")
    if add and replace:
        raise click.UsageError("--add and --replace exclude each other")
    job = ConstructionJob(**options, generation="add" if add else "replace" if replace else None)
    prepared = prepare(job, on_progress=lambda line: click.echo(line, err=True))
    if prepared is None:
        raise click.UsageError("none of the facts has a new object: there is nothing to edit")
    if dry_run:
        for key in prepared.changed_facts():
            click.echo(f"other content than in the store: {key}", err=True)
        expected = prepared.estimate()
        click.echo(expected.model_dump_json() if as_json else expected.sentence())
        return
    update = _import_facts(prepared)
    click.echo(f"{counted(update.put.seen, 'fact')}, {update_text(update)}; source '{update.source}'", err=True)
    echo_keys(update)
    if alone := prepared.work.alone():
        click.echo(f"Warning: {alone}", err=True)
    live = ProgressDisplay(prepared.estimate().answers)
    with resumable():
        result = prepared.run(live=live)
    funnel = store_yield(job.store)
    if as_json:
        click.echo(json.dumps(result._asdict() | funnel.model_dump(mode="json")))
    else:
        click.echo(f"{counted(result.done, 'fact')}, {counted(result.calls, 'call')} made.\n")
        echo_yield(funnel)
        click.echo(f"\nStored in {job.store}. Next: scedit store funnel --store {job.store}")
    refuse_unanswered(result.unfinished, "fact")


def _import_facts(prepared: PreparedJob) -> SourceUpdate:
    """Put the facts into the store; conflicts are printed, and are for ``data import`` to resolve."""
    from curation.store.import_sources import ConflictError
    from schemas.core.errors import StoreError

    try:
        with error_with_lines():
            return prepared.import_facts()
    except ConflictError as error:
        first = f"import the corrected file first: scedit data import {error.file} --store {prepared.job.store}"
        raise StoreError(error.what, where=error.where, fix=f"{first}; there {error.fix}") from error


@click.command()
@click.argument("cases", type=click.Path(path_type=Path))
@store_option(also="Created if absent.")
@click.option(
    "--source", default="written by hand", show_default=True, help="Name of the source, stored with each fact."
)
@click.option("--licence", default="not stated", show_default=True, help="Licence, stored with each fact.")
@partial(identity_options, name="--known-as")
@json_option
def import_scripts(cases: Path, store_path: Path, source: str, licence: str, identity: Identity, as_json: bool) -> None:
    """Take CASES (JSONL of facts, questions and scripts written by hand or elsewhere) through the same cut and checks.

    One case a line, in the shape of the shipped demonstrations/source.jsonl: key, kind, relation, subject, prompt,
    paraphrases, old, new, changed_on, questions ({question, steps}) and neighbours ({subject, prompt, object, question,
    steps}).

    A key that another file uses for other content is a conflict, as in data import: nothing is imported. A corrected
    file under the same --known-as replaces all that it brought; --replace takes keys over, --as NAME keeps both.

    Example: scedit data import-scripts mine.jsonl --store my.duckdb --source "our lab" --licence CC-BY-4.0
    """
    from construction.pipeline.adopt import adopt as take
    from construction.pipeline.adopt import keep
    from schemas.facts import Source

    adopted = take(cases, source=Source(name=source, licence=licence), prefix=identity.prefix)
    with error_with_lines():
        update = keep(adopted, store_path, origin=str(cases), identity=identity)
    if as_json:
        reasons = [
            {"case": o.case, "kind": o.kind, "text": o.text, "check": o.verdict.by, "label": o.verdict.label,
             "reason": o.verdict.reason, "item": o.verdict.item_id}
            for o in adopted.objections
        ]  # fmt: skip
        click.echo(
            json.dumps(
                {"cases": adopted.cases, "records": len(adopted.records), "not_kept": reasons}
                | {name: getattr(update, name) for name in ("new", *UPDATED)}
            )
        )
        return
    click.echo("\n".join(_objection_lines(adopted)))
    click.echo(f"{counted(update.put.seen, 'record')}, {update_text(update)}; source '{update.source}'")
    echo_keys(update)
    click.echo(f"Next: scedit split freeze NAME --store {store_path}")


def _objection_lines(adopted: Adoption) -> Iterator[str]:
    """Every case with something that is not kept as it stands: the verdict, its reason, the text."""
    from construction.report.text import in_one_line

    named = list(dict.fromkeys(o.case for o in adopted.objections))
    count = f"{len(adopted.objections):,} of {counted(len(adopted.verdicts), 'verdict')} are not 'keep'"
    where = f", in {counted(len(named), 'case')}" if named else ""
    yield f"{counted(adopted.cases, 'case')}, {counted(len(adopted.records), 'record')}; {count}{where}."
    for case, group in groupby(sorted(adopted.objections, key=lambda o: named.index(o.case)), key=lambda o: o.case):
        yield f"  {case}"
        for o in group:
            yield f"    {o.verdict.label:6s}  {o.kind}, {o.verdict.check}: {o.verdict.reason}"
            if o.text:
                yield f"            {in_one_line(o.text)}"
