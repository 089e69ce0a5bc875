"""The command ``store funnel``: what construction came to, as text, JSON or a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from construction.cli.closing import echo_yield
from curation.cli.options import json_option, store_option, writes
from schemas.core.errors import UserError

if TYPE_CHECKING:
    from construction.report.funnel import Counts


@click.command()
@store_option()
@click.option("--page", type=click.Path(path_type=Path), help="Write an HTML page with pictures here.")
@click.option("--prices", type=click.Path(path_type=Path), help="Your own price table (TOML); it takes precedence.")
@writes("page")
@json_option
def funnel(store_path: Path, page: Path | None, prices: Path | None, as_json: bool) -> None:
    """Count what became of the facts: the funnel to prompts, reasons with examples, Table 1, cost by stage and model.

    Of constructed events: events, questions by scope, what checks and people keep, and why the rest is out.
    Of probes written about documents: probes by level, what is dropped, waits for people or is kept, and why.
    Of probes that people curated: dropped, levels corrected, levels approved, beside the published shares.

    \b
    Examples:
      scedit store funnel --store my.duckdb
      scedit store funnel --store my.duckdb --page yield.html
      scedit store funnel --store my.duckdb --json
    """  # noqa: D301 - click needs the real backspace
    from construction.documents.funnel import stored_probes
    from construction.events.funnel import stored_events
    from construction.report.store_funnel import store_yield
    from curation.store.store import Store

    with Store.open(store_path) as opened:
        of_facts = opened.has("question")
        found = {"events": stored_events(opened), "documents": stored_probes(opened)}
    others = {what: counts for what, counts in found.items() if counts is not None}
    if others and not of_facts:
        if page is not None:
            raise UserError(f"there is no page of {min(others)}", where=str(store_path), fix="leave out --page")
        _show_others(others, as_json=as_json)
        return
    yields = store_yield(store_path, prices=prices)
    if page is not None:
        from construction.report.page import page as html
        from curation.files.atomic import write_text

        write_text(page, html(yields), "the page", errors="replace", fix="name another --page")
    if as_json:
        click.echo(yields.model_dump_json())
        return
    echo_yield(yields)
    for what, counts in others.items():
        click.echo("\n".join(["", what.capitalize(), *counts.lines(stored=True)]))
    if page is not None:
        click.echo(f"\nWrote {page}")


def _show_others(others: Mapping[str, Counts], *, as_json: bool) -> None:
    """The funnels of a store without facts: alone as they are, together with their names."""
    for what, counts in others.items():
        if as_json:
            click.echo(counts.as_json())
        else:
            heading = [] if len(others) == 1 else [what.capitalize()]
            click.echo("\n".join([*heading, *counts.lines(stored=True)]))
