"""The command ``store funnel``: what construction came to, as text, JSON or a page."""

from __future__ import annotations

from pathlib import Path

import click

from curation.cli.options import json_option, store_option, writes
from schemas.core.errors import UserError


@click.command()
@store_option()
@click.option("--page", type=click.Path(path_type=Path), help="Write an HTML page with pictures here.")
@click.option("--prices", type=click.Path(path_type=Path), help="Your own price table (TOML); it takes precedence.")
@writes("page")
@json_option
def funnel(store_path: Path, page: Path | None, prices: Path | None, as_json: bool) -> None:
    """Count what became of the facts: the funnel to prompts, reasons with examples, Table 1, cost by stage and model.

    Of constructed events: events, questions by scope, what checks and people keep, and why the rest is out.

    \b
    Examples:
      scedit store funnel --store my.duckdb
      scedit store funnel --store my.duckdb --page yield.html
      scedit store funnel --store my.duckdb --json
    """  # noqa: D301 - click needs the real backspace
    from construction.events.store_funnel import stored_event_counts
    from construction.report.store_funnel import store_yield

    if (events := stored_event_counts(store_path)) is not None and not _asked_of_facts(store_path):
        if page is not None:
            raise UserError("there is no page of events", where=str(store_path), fix="leave out --page")
        click.echo(events.model_dump_json() if as_json else "\n".join(events.lines(stored=True)))
        return
    yields = store_yield(store_path, prices=prices)
    if page is not None:
        from construction.report.page import page as html
        from curation.files.atomic import write_text

        write_text(page, html(yields), "the page", errors="replace", fix="name another --page")
    if as_json:
        click.echo(yields.model_dump_json())
        return
    from construction.report.text import text

    for line in text(yields):
        click.echo(line)
    if events is not None:
        click.echo("\n".join(["", "Events", *events.lines(stored=True)]))
    if page is not None:
        click.echo(f"\nWrote {page}")


def _asked_of_facts(store: Path) -> bool:
    """Whether a store holds script questions."""
    from curation.store.store import Store

    with Store.open(store) as opened:
        return opened.has("question")
