"""Commands that build events, probes about documents, and edits of one hop: ``data construct-...``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from construction.cli.closing import construct_or_estimate
from construction.documents.defaults import FEWEST, MOST
from construction.events.defaults import CAP, EVENTS, EVENTS_PER_TOPIC, INSIDE, OUTSIDE, THRESHOLD, UNTOUCHED
from construction.llm.cli_options import writing_options
from curation.cli.options import json_option, limit_option, shared_option, store_option, writes
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


_PROBES = click.IntRange(1, 60)


@click.command("construct-documents")
@click.argument("source", type=click.Path(path_type=Path))
@store_option("store", also="Created if absent.")
@click.option(
    "--cut",
    type=click.IntRange(1, 20),
    help="Cut a plain text into documents of so many sentences, and longer documents of other files.",
)
@click.option(
    "--min-probes", "fewest", type=_PROBES, default=FEWEST, show_default=True, help="Probes per call, at least."
)
@click.option("--max-probes", "most", type=_PROBES, default=MOST, show_default=True, help="Probes per call, at most.")
@click.option(
    "--calls",
    "samples",
    type=click.IntRange(1, 10),
    default=1,
    show_default=True,
    help="Calls per document; their probes are put together.",
)
@click.option(
    "--reader",
    "reader_name",
    help="Model that answers every probe, from its document and without; named as for construct --author.",
)
@limit_option(also="documents.")
@writing_options(licence="Licence of documents that state none.")
def construct_documents(*, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Have a model write probes of three levels about the documents of SOURCE, and check them.

    SOURCE is JSONL or CSV with a field 'text' (beside it: key, entity, title, date, source, licence), a published file
    of documents, or a plain text with --cut. Checks and the reader describe each probe; what goes into a split is
    decided by its rule.

    Every reply is recorded before it is used: give the same command again to resume a stopped or killed run.

    \b
    Examples:
      scedit data construct-documents documents.jsonl --store documents.duckdb --model gpt-4o-mini --dry-run
      scedit data construct-documents news.txt --cut 2 --store documents.duckdb --model gpt-4o-mini --max-cost 5
      scedit data construct-documents documents.csv --store documents.duckdb --model gpt-4o --reader gpt-4o-mini
    """  # noqa: D301 - click needs the real backspace
    if options["most"] < options["fewest"]:
        raise click.UsageError(f"--max-probes {options['most']} is less than --min-probes {options['fewest']}")
    from construction.documents.pipeline import ProbeJob, prepare_probes

    prepared = prepare_probes(ProbeJob(**options))
    n = len(prepared.documents)
    said = {"documents": n}, counted(n, "document")
    construct_or_estimate(prepared, *said, dry_run=dry_run, as_json=as_json)


@click.command()
@click.argument("name")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File of the split.")
@writes("out")
@json_option
def construct_hops(name: str, source: Path, out: Path, as_json: bool) -> None:
    """Build the split NAME of a SOURCE (TOML): tables of what follows from an object, and edits with a script each.

    The step from the edited object stays with every probe as its premise. A script that names its answer, and an
    edit whose object no table knows, are refused. No model is asked.

    Example: scedit data construct-hops mine hops.toml --out mine.jsonl
    """
    from construction.documents.hops import read_hops
    from curation.splits.split_file import check_name, make_split, write_split
    from schemas.facts import Source

    origin = Source(name=check_name(name), licence="not stated")
    cases = read_hops(source, name, origin)
    split = make_split(name, cases)
    write_split(split, out)
    probes = sum(len(case.probes) for case in cases)
    if as_json:
        row = {"split": name, "digest": split.digest, "cases": len(cases), "probes": probes, "out": str(out)}
        click.echo(json.dumps(row))
        return
    click.echo(f"{counted(len(cases), 'edit')} with {counted(probes, 'probe')} in {out}.")
    click.echo(f'Next: split = {{ file = "{out}" }} in a configuration, with em_hop and s_es_hop among its metrics.')
