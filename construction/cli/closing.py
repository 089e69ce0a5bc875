"""What the commands that construct say before and after: an estimate, a stop in good order, the funnel."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from construction.llm.cli_options import calls_in_words, refuse_unanswered

if TYPE_CHECKING:
    from construction.pipeline.runner import CountedWork
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
    prepared: CountedWork,
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

    Raises:
        UserError: some calls have no answer so far.
    """
    from construction.pipeline.runner import ProgressDisplay
    from construction.report.text import quality_sentence

    expected, store = prepared.estimate(), prepared.job.store
    if dry_run and as_json:
        click.echo(json.dumps({**sources, **expected._asdict()}))
    elif dry_run:
        click.echo(f"{in_words}; {calls_in_words(*expected)}. Nothing was asked or written.")
    if dry_run:
        return
    with resumable():
        funnel = prepared.run(live=ProgressDisplay(expected.calls))
    if as_json:
        click.echo(funnel.as_json())
    else:
        click.echo("\n".join(funnel.lines()))
        if funnel.quality:
            click.echo(quality_sentence(funnel.quality))
        click.echo(f"Stored in {store}. Next: scedit split freeze NAME --store {store}")
    refuse_unanswered(funnel.n["unfinished"], "call")


def echo_yield(funnel: StoreYield) -> None:
    """The funnel of a store with facts, in the width of the terminal."""
    from construction.report.text import text

    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in text(funnel, columns=columns):
        click.echo(line)
