"""The command ``run-api``: editing in context of models behind a chat endpoint (ScEdit Table 8)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from construction.llm.cli_options import (
    calls_in_words,
    journal_of,
    journal_option,
    model_options,
    refuse_unanswered,
)
from curation.cli.options import editors_option, json_option, limit_option, options_record, shared_option, store_option
from schemas.core.errors import UserError
from schemas.text.counting import counted
from schemas.text.status_line import StatusLine

if TYPE_CHECKING:
    from construction.llm.connection import Access

_FILE = click.Path(path_type=Path)
_SUPPORT = "Cases to demonstrate with: shipped, demonstrations, open:dev, or a split file; never evaluated ones."


@dataclass(frozen=True)
class ApiCommandOptions:
    """What the command line said, but for the model and the form of the output."""

    store: Path
    name: str
    split_file: Path | None
    editors: tuple[str, ...]
    settings: tuple[str, ...]
    support: str
    limit: int
    goes_on: bool
    temperature: float
    journal_path: Path | None
    dry_run: bool


@click.command(epilog="Example: scedit run-api --store closed.duckdb --model gpt-4.1-mini --limit 100 --dry-run")
@store_option("store", also="Created if absent. It receives cases and scripts.")
@click.option(
    "--split",
    "name",
    default="mini",
    show_default=True,
    help="Split: mini, open, open:dev, open:test, or one in --store.",
)
@shared_option("--split-file", type=_FILE)
@editors_option(default="none,prompt,ike,script_ike")
@shared_option("--set", "settings", multiple=True, metavar="NAME=VALUE", also="Of a method, such as ike.k=8.")
@click.option("--support", default="shipped", show_default=True, help=_SUPPORT)
@limit_option(default=100, also="cases (Table 8: 100).")
@click.option(
    "--continue/--no-continue",
    "goes_on",
    default=True,
    show_default=True,
    help="Also ask for continuations of the script prompts.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(0, 2),
    default=0.0,
    show_default=True,
    help="Sampling temperature of the texts.",
)
@journal_option
@shared_option("--dry-run", is_flag=True, also="Calls, rough tokens and cost.")
@model_options
@json_option
@options_record(ApiCommandOptions)
def run_api(options: ApiCommandOptions, *, access: Access, as_json: bool) -> None:
    """Edit a model behind a chat endpoint by its prompt, have it answer script questions, keep the scripts for judging.

    Any method whose edit is a text before the prompt can be used. Counterfactual cases, as in Table 8 of the paper; the
    figures are not to be compared with those of edited open models. Replies are journaled before they are used.
    """
    from evaluation.api_models.editing import NOT_COMPARABLE, ApiScriptStep, api_requests
    from evaluation.api_models.session import as_data, as_text, estimate, run_requests, summarise_answers

    cases, methods = _prepare(options, access)
    step = ApiScriptStep(access.label, temperature=options.temperature)
    wanted = api_requests(cases, methods, goes_on=options.goes_on)
    if options.dry_run:
        price = estimate(wanted, step, access)
        text = (
            f"{counted(len(cases), 'case')}, {counted(len(methods), 'method')}: {calls_in_words(*price)} "
            "(replies of full length)."
        )
        click.echo(json.dumps(price._asdict()) if as_json else text)
        return
    store = options.store
    journal = options.journal_path or journal_of(store)
    line = StatusLine()
    answers = run_requests(store, journal, cases, wanted, step, access, on_progress=partial(_print_progress, line))
    rows = summarise_answers(answers)
    line.end()
    if as_json:
        told_all = {"model": access.label, "cases": len(cases), "note": NOT_COMPARABLE, "rows": as_data(rows)}
        click.echo(json.dumps(told_all, ensure_ascii=False))
    else:
        click.echo(f"{access.label}, {len(cases)} counterfactual cases\n\n{as_text(rows)}\n\n{NOT_COMPARABLE}.")
        click.echo(f"Scripts are in {store}. Next: scedit judge {store} --model ANOTHER-FAMILY")
    refuse_unanswered(sum(row.waiting for row in rows), "text")


def _prepare(options: ApiCommandOptions, access: Access) -> tuple[Any, dict[str, Any]]:
    """The cases, and the methods set up for a model without weights."""
    from curation.files.artifact_cache import Cache
    from curation.files.model_packages import cache_dir
    from curation.shipped import SPLITS
    from evaluation.api_models.editing import make_editor
    from evaluation.runs.config import SplitChoice
    from evaluation.runs.plan import choose
    from evaluation.runs.session import open_split
    from evaluation.runs.support import SHIPPED, SupportChoice, open_support
    from schemas.cases import Case
    from schemas.core.config import override

    labels, name = list(options.editors), options.name
    if options.split_file:
        wanted = SplitChoice(file=options.split_file)
    else:
        wanted = SplitChoice(name=name, store=None if name in SPLITS else options.store)
    split = open_split(wanted)
    cases = choose(split, kinds=("counterfactual",), limit=options.limit)
    settings = override({}, options.settings)
    if unknown := [n for n in settings if n not in labels]:
        raise UserError(f"--set speaks of '{unknown[0]}', which is not among --editors", allowed=", ".join(labels))
    known = options.support in SHIPPED
    choice = SupportChoice(name=options.support) if known else SupportChoice(file=Path(options.support))
    shown = [case for case in open_support(choice, split).cases if isinstance(case, Case)]
    cache = Cache(cache_dir())
    return cases, {n: make_editor(n, access.label, cache, settings.get(n), support=shown) for n in labels}


def _print_progress(line: StatusLine, done: int, total: int, spent: str) -> None:
    line.show(f"{done:,} of {counted(total, 'text')}; {spent}", last=done == total)
