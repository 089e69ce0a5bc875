"""The command data construct-events: events and their questions, from templates and topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from construction.cli.closing import construct_or_estimate
from construction.events.defaults import CAP, EVENTS, EVENTS_PER_TOPIC, INSIDE, OUTSIDE, THRESHOLD, UNTOUCHED
from construction.llm.cli_options import writing_options
from curation.cli.options import shared_option, store_option
from schemas.text.counting import counted


@click.command("construct-events")
@click.argument("templates", type=click.Path(path_type=Path), required=False)
@store_option("store", also="Created if absent.")
@click.option(
    "--facts-from",
    "facts",
    multiple=True,
    help="File of facts that answer paths and out-of-scope questions, or 'shipped'; repeatable.",
)
@click.option(
    "--events-per-template",
    "events",
    type=click.IntRange(1, 100_000),
    default=EVENTS,
    show_default=True,
    help="Events of each template.",
)
@click.option(
    "--max-frequency",
    "cap",
    type=click.FloatRange(min=1),
    default=CAP,
    show_default=True,
    help="Frequencies of entities count up to this.",
)
@shared_option("--seed", type=int, default=0, show_default=True, also="Another one draws other events.")
@click.option(
    "--untouched",
    type=click.IntRange(0, 50),
    default=UNTOUCHED,
    show_default=True,
    help="Out-of-scope factual questions per event, at most.",
)
@click.option("--paraphrase/--no-paraphrase", default=True, show_default=True, help="Have events worded as news.")
@click.option(
    "--topic", "topics", multiple=True, help="Also have events of this topic written, such as Energy; repeatable."
)
@click.option(
    "--events-per-topic",
    type=click.IntRange(1, 10_000),
    default=EVENTS_PER_TOPIC,
    show_default=True,
    help="Events of each topic, asked for ten at a time.",
)
@click.option(
    "--in-scope",
    "inside",
    type=click.IntRange(0, 20),
    default=INSIDE,
    show_default=True,
    help="Tendency questions per event that it changes.",
)
@click.option(
    "--out-of-scope",
    "outside",
    type=click.IntRange(0, 20),
    default=OUTSIDE,
    show_default=True,
    help="Tendency questions per event that it leaves alone.",
)
@click.option(
    "--max-similarity",
    "threshold",
    type=click.FloatRange(min=0.01, max=1.0),
    default=THRESHOLD,
    show_default=True,
    help="Of two events of topics with a ROUGE-1 above this one goes.",
)
@writing_options(licence="Licence of what the model writes about topics.")
def construct_events(*, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Draw events from TEMPLATES, have them paraphrased, and write questions about them and about topics' events.

    Factual questions follow from the templates and the facts; a model paraphrases the events and writes tendency
    questions. With --no-paraphrase --in-scope 0 --out-of-scope 0 and no topic, no model is asked.

    Every reply is recorded before it is used: give the same command again to resume a stopped or killed run.

    \b
    Examples:
      scedit data construct-events templates.toml --facts-from facts.jsonl --store events.duckdb --dry-run
      scedit data construct-events templates.toml --facts-from facts.jsonl --store events.duckdb --model gpt-4o-mini
      scedit data construct-events --topic Energy --topic Law --store events.duckdb --model gpt-4o-mini
    """  # noqa: D301 - click needs the real backspace
    from construction.events.pipeline import EventJob, prepare_events

    prepared = prepare_events(EventJob(**options))
    n = len(prepared.drawn)
    said = {"events": n}, f"{counted(n, 'event')} of templates"
    construct_or_estimate(prepared, *said, dry_run=dry_run, as_json=as_json)
