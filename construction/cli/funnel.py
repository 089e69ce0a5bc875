"""The command ``store funnel``: what construction came to, as text, JSON or a page."""

from __future__ import annotations

from pathlib import Path

import click

from curation.cli.options import json_option, store_option


@click.command()
@store_option()
@click.option("--page", type=click.Path(path_type=Path), help="Write an HTML page with pictures here.")
@click.option("--prices", type=click.Path(path_type=Path), help="Your own price table (TOML); it takes precedence.")
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
    from schemas.core.errors import UserError

    found = store_yield(store_path, prices=prices)
    if page is not None:
        from construction.report.page import page as html

        try:
            page.write_text(html(found), encoding="utf-8", errors="replace")
        except OSError as error:
            raise UserError(f"cannot be written: {error.strerror}", where=str(page)) from None
    if as_json:
        click.echo(found.model_dump_json())
        return
    from construction.report.text import text

    for line in text(found):
        click.echo(line)
    if page is not None:
        click.echo(f"\nWrote {page}")
