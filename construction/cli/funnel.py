"""The command ``store funnel``: what construction came to, as text, JSON or a page."""

from __future__ import annotations

from pathlib import Path

import click

from curation.cli.options import json_option, store_option, writes


@click.command()
@store_option()
@click.option("--page", type=click.Path(path_type=Path), help="Write an HTML page with pictures here.")
@click.option("--prices", type=click.Path(path_type=Path), help="Your own price table (TOML); it takes precedence.")
@writes("page")
@json_option
def funnel(store_path: Path, page: Path | None, prices: Path | None, as_json: bool) -> None:
    """Count what became of the facts: the funnel to prompts, reasons with examples, Table 1, cost by stage and model.

    \b
    Examples:
      scedit store funnel --store my.duckdb
      scedit store funnel --store my.duckdb --page yield.html
      scedit store funnel --store my.duckdb --json
    """  # noqa: D301 - click needs the real backspace
    from construction.report.store_funnel import store_yield

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
    if page is not None:
        click.echo(f"\nWrote {page}")
