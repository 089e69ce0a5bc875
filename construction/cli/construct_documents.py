"""The command data construct-documents: probes of three levels for documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from construction.cli.closing import construct_or_estimate
from construction.documents.defaults import FEWEST, MOST
from construction.llm.cli_options import writing_options
from curation.cli.options import limit_option, store_option
from schemas.text.counting import counted

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
