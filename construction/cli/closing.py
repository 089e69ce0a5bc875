"""What the commands that construct say before and after: an estimate, a stop in good order, the funnel."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from construction.llm.cli_options import calls_in_words, refuse_unanswered

if TYPE_CHECKING:
    from construction.documents.funnel import ProbeCounts
    from construction.events.funnel import EventCounts
    from construction.llm.cost.estimates import CallEstimate
    from construction.pipeline.runner import PreparedWork
    from construction.report.records import StoreYield


@contextmanager
def resumable() -> Iterator[None]:
    """Work that a person may stop: it ends with how to go on, and the signal's exit status."""
    from construction.llm.connection import StoppedEarly

    try:
        yield
    except StoppedEarly as stopped:
        click.echo(f"{str(stopped)[0].upper()}{str(stopped)[1:]}.", err=True)
        raise SystemExit(stopped.exit_status) from None


def construct_or_estimate(
    prepared: PreparedWork[Any],
    sources: dict[str, int],
    in_words: str,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run a construction and show its funnel; a dry run shows what it would ask.

    Args:
        prepared: The job.
        sources: How much is there to work on, for JSON.
        in_words: The same for people.
        dry_run: Ask nobody.
        as_json: Print JSON.
    """
    from construction.pipeline.runner import ProgressDisplay

    expected = prepared.estimate()
    if dry_run:
        show_estimate(sources, in_words, expected, as_json=as_json)
        return
    with resumable():
        counts = prepared.run(live=ProgressDisplay(expected.calls))
    show_counts(counts, prepared.job.store, as_json=as_json)


def show_estimate(sources: dict[str, int], in_words: str, expected: CallEstimate, *, as_json: bool) -> None:
    """What a construction would ask.

    Args:
        sources: How much is there to work on, for JSON.
        in_words: The same for people.
        expected: The calls.
        as_json: Print JSON.
    """
    if as_json:
        click.echo(json.dumps({**sources, **expected._asdict()}))
        return
    calls = calls_in_words(expected.calls, expected.tokens_in, expected.tokens_out, expected.cost)
    click.echo(f"{in_words}; {calls}. Nothing was asked or written.")


def show_counts(counts: EventCounts | ProbeCounts, store: Path, *, as_json: bool) -> None:
    """The funnel of a construction, and what comes next.

    Raises:
        UserError: some calls have no answer so far.
    """
    from construction.report.text import quality_sentence

    if as_json:
        click.echo(counts.model_dump_json())
    else:
        click.echo("\n".join(counts.lines()))
        if counts.quality:
            click.echo(quality_sentence(counts.quality))
        click.echo(f"Stored in {store}. Next: scedit split freeze NAME --store {store}")
    refuse_unanswered(counts.unfinished, "call")


def echo_yield(funnel: StoreYield) -> None:
    """The funnel of a store with facts, in the width of the terminal."""
    from construction.report.text import text

    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in text(funnel, columns=columns):
        click.echo(line)
